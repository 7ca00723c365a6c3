//! The suite that every store must pass, on a real file.

rota_store::store_tests!(crate::directory::Directory::new());
