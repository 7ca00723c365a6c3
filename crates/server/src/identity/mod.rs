//! Checks credentials: the table of API keys, and who sends a request.

mod authenticator;
mod bootstrap;
mod key_table;
mod key_uses;

pub use authenticator::{Authenticator, Denied};
pub use bootstrap::{BootstrapError, FirstKey, new_key};
pub use key_table::{KeyProblem, KeyTable};
pub(crate) use key_uses::{FLUSH_INTERVAL, flush};
