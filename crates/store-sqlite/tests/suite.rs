//! The suite that every store must pass, on a real file.

mod directory;

rota_store::store_tests!(directory::Directory::new());
