//! The identity that a credential proves.

use std::sync::Arc;

use rota_model::{JobType, Millis, QueueName, TenantId};

use crate::Permissions;

/// Who a credential belongs to, and what it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// How it was proven.
    pub method: Method,
    /// The id of the key, the subject of the token or the name in the certificate. It is safe to log.
    pub subject: Arc<str>,
    /// `None` for operators.
    pub tenant: Option<TenantId>,
    pub permissions: Permissions,
    /// The only queues that jobs may be added to, fetched from or seen in; `None` for all.
    pub queues: Option<Arc<[QueueName]>>,
    /// The only types of jobs that may be added; `None` for all.
    pub job_types: Option<Arc<[JobType]>>,
    /// When the credential ends.
    pub expires: Option<Millis>,
}

/// A way to prove an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Nothing was proven: the server asks for no credentials.
    None,
    ApiKey,
    Token,
    Certificate,
}

impl Method {
    /// The name in the audit log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ApiKey => "api_key",
            Self::Token => "token",
            Self::Certificate => "certificate",
        }
    }
}
