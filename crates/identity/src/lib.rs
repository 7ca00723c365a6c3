//! Who sends a request and what it may do: permissions, and the credentials that prove them.

mod api_key;
mod certificate;
mod identity;
mod key_text;
mod permissions;
mod request_limiter;
pub mod token;

pub use api_key::{ApiKey, KeyName, KeyNameError, KeyState};
pub use certificate::{CertificateName, CertificateRule, ClientCertificate, identify_certificate};
pub use identity::{Identity, Method};
pub use key_text::{KEY_PREFIX, KeyHash, KeyId, KeyText, KeyTextError, RANDOM_BYTES};
pub use permissions::{Permission, Permissions, Role, UnknownPermission};
pub use request_limiter::{Exceeded, Granted, RequestLimiter, RequestSource};
