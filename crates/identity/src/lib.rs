//! Who sends a request and what it may do: permissions, and the credentials that prove them.

mod identity;
mod permissions;

pub use identity::{Identity, Method};
pub use permissions::{Permission, Permissions, Role, UnknownPermission};
