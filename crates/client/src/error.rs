//! The errors of requests.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Job, WithJson};

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be used.
    #[error("'{url}' cannot be used as the address of a server: {reason}")]
    BadUrl {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The tenant cannot be named in a request.
    #[error("'{id}' cannot be used as a tenant: {reason}")]
    BadTenant {
        /// As it was given.
        id: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The credentials cannot be used.
    #[error("the credentials cannot be used: {reason}")]
    BadCredentials {
        /// What is wrong with them. It does not contain them.
        reason: String,
    },

    /// The job cannot be sent.
    #[error("the job cannot be sent: {reason}")]
    BadJob {
        /// What is wrong with it.
        reason: String,
    },

    /// The server's certificate is not trusted, or the two do not agree on TLS. The request was not
    /// processed.
    #[error("there is no secure connection to {url}: {reason}")]
    Tls {
        /// The address that was tried.
        url: String,
        /// What is wrong with the certificates.
        reason: String,
    },

    /// The server cannot be reached. The request was not sent.
    #[error("no server answers at {url}: {cause}")]
    Unreachable {
        /// The address that was tried.
        url: String,
        /// The system's error message.
        cause: String,
    },

    /// The connection broke after the request was sent. It is unknown whether the request was processed.
    #[error("the connection to {url} broke before the answer was complete: {cause}")]
    Interrupted {
        /// The address of the server.
        url: String,
        /// The system's error message.
        cause: String,
    },

    /// No response in time. It is unknown whether the request was processed.
    #[error("{url} did not answer within {seconds} s")]
    Timeout {
        /// The address of the server.
        url: String,
        /// How long the client waited.
        seconds: u64,
    },

    /// The response is not that of an OJS server.
    #[error("{url} does not answer as an OJS server: {reason}")]
    NotOjs {
        /// The address of the server.
        url: String,
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// What is wrong with the response.
        reason: String,
    },

    /// The server rejected the request.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
}

/// The error response of a server.
#[derive(Debug, Clone, Deserialize)]
pub struct Refusal {
    /// The HTTP status.
    #[serde(skip)]
    pub status: u16,
    /// A code for programs, such as `not_found`, `conflict` or `invalid_request`.
    pub code: String,
    /// A message for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the same request may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// Details such as `field` or `job_id`.
    #[serde(default)]
    pub details: Map<String, Value>,
    /// Seconds to wait before a retry, if the server gave them.
    #[serde(skip)]
    pub retry_after: Option<u64>,
    pub(crate) limit: Option<Value>,
    pub(crate) current: Option<u64>,
    pub(crate) maximum: Option<u64>,
}

/// The limit that a request would have crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitReached<'a> {
    /// Its name, such as `max_queue_depth`.
    pub limit: &'a str,
    /// What is used of it now.
    pub current: u64,
    /// What may be used of it.
    pub maximum: u64,
}

impl Refusal {
    /// The limit that the request would have crossed, if the server named it.
    pub fn limit_reached(&self) -> Option<LimitReached<'_>> {
        let limit = self.limit.as_ref()?.as_str()?;
        Some(LimitReached { limit, current: self.current?, maximum: self.maximum? })
    }
}

impl Error {
    /// The server's error response, if there was one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether the server answered that the job, queue, worker or schedule does not exist.
    pub fn is_not_found(&self) -> bool {
        self.refusal().is_some_and(|refusal| refusal.status == 404)
    }

    /// Whether the same request may succeed later, because the server is unreachable, slow or busy.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Interrupted { .. } | Self::Timeout { .. } => true,
            Self::Refused(refusal) => refusal.retryable || refusal.status == 503,
            Self::BadUrl { .. }
            | Self::BadTenant { .. }
            | Self::BadJob { .. }
            | Self::BadCredentials { .. }
            | Self::Tls { .. }
            | Self::NotOjs { .. } => false,
        }
    }

    /// How to fix the problem, in one sentence.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::BadUrl { .. } => "It looks like http://127.0.0.1:8080.",
            Self::BadCredentials { .. } => {
                "Check the token, and the files with certificates and keys."
            }
            Self::Tls { .. } => {
                "Check the address, the authorities that are trusted, and the client's own certificate."
            }
            Self::BadJob { .. } => "A job is an object with 'type' and 'args'.",
            Self::BadTenant { .. } => "It looks like acme-corp.",
            Self::Unreachable { .. } => "Start a server with `rota serve`, or correct the address.",
            Self::Interrupted { .. } | Self::Timeout { .. } => {
                "Look whether it was carried out before you repeat it."
            }
            Self::NotOjs { .. } => {
                "Check host, port and path: the address must be that of a job server."
            }
            Self::Refused(refusal) => return refusal.hint.clone(),
        };
        Some(hint.to_owned())
    }
}

/// The body of an error response.
#[derive(Deserialize)]
pub(crate) struct ErrorBody {
    pub error: Refusal,
}

/// The body of an error response that shows a job.
#[derive(Deserialize)]
pub(crate) struct RefusedJob {
    pub job: Option<WithJson<Job>>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}
