//! JSON Web Tokens without their signatures: form, claims, and when keys are read again.

mod claims;
mod form;
mod refresh;

pub use claims::TokenRules;
pub use form::{MAX_TOKEN_BYTES, TokenAlgorithm, TokenParts};
pub use refresh::{MIN_GAP_MS, Refresh, RefreshDecision};

/// Why a token is refused. Nothing in it repeats the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    #[error("is larger than {MAX_TOKEN_BYTES} bytes")]
    TooLarge,
    #[error("is malformed")]
    Malformed,
    #[error("has a header that is not supported")]
    Header,
    #[error("is signed with an algorithm that is not accepted for its key")]
    Algorithm,
    #[error("is signed with an unknown key")]
    UnknownKey,
    #[error("has a wrong signature")]
    Signature,
    /// A claim that is missing or has a wrong type.
    #[error("has no valid claim '{0}'")]
    Claim(&'static str),
    #[error("has expired")]
    Expired,
    #[error("is not valid yet")]
    NotYetValid,
    #[error("lives longer than tokens may here")]
    TooLong,
    #[error("comes from another issuer")]
    Issuer,
    #[error("is meant for another audience")]
    Audience,
    #[error("names no tenant and does not have the scope 'server'")]
    NoTenant,
    #[error("has a claim with the tenant that is not a valid tenant")]
    Tenant,
}
