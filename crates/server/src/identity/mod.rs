//! Checks credentials: API keys against a table, tokens against their keys.

mod authenticator;
mod bootstrap;
mod credential;
mod key_source;
mod key_table;
mod key_uses;
mod token_keys;
mod tokens;
mod verified_tokens;

pub use authenticator::{Authenticator, Denied};
pub use bootstrap::{BootstrapError, FirstKey, new_key};
pub use credential::Credential;
pub use key_source::KeySourceError;
pub use key_table::{KeyProblem, KeyTable};
pub(crate) use key_uses::{FLUSH_INTERVAL, flush};
pub use token_keys::{TokenKeys, TokenKeysError};
pub use tokens::{TokenSetupError, TokenVerifier};
