use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Why a request did not give what was asked for.
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

    /// Nobody is there. The request was not sent.
    #[error("no server answers at {url}: {cause}")]
    Unreachable {
        /// The address that was tried.
        url: String,
        /// What the system says.
        cause: String,
    },

    /// The connection ended after the request was sent. Whether it was carried out is not known.
    #[error("the connection to {url} broke before the answer was complete: {cause}")]
    Interrupted {
        /// The address that was asked.
        url: String,
        /// What the system says.
        cause: String,
    },

    /// No answer in time. Whether the request was carried out is not known.
    #[error("{url} did not answer within {seconds} s")]
    Timeout {
        /// The address that was asked.
        url: String,
        /// How long the client waited.
        seconds: u64,
    },

    /// Somebody answered, but not as an OJS server does.
    #[error("{url} does not answer as an OJS server: {reason}")]
    NotOjs {
        /// The address that was asked.
        url: String,
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// What is wrong with the answer.
        reason: String,
    },

    /// The server understood and said no.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
}

/// A server's "no", in its own words.
#[derive(Debug, Clone, Deserialize)]
pub struct Refusal {
    /// The HTTP status.
    #[serde(skip)]
    pub status: u16,
    /// What went wrong, for programs: `not_found`, `conflict`, `invalid_request` and so on.
    pub code: String,
    /// What went wrong, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the same request may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// What the message is about, such as `field` or `job_id`.
    #[serde(default)]
    pub details: Map<String, Value>,
    /// Seconds to wait before another try, if the server said so.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

impl Error {
    /// The server's refusal, if it was one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// There is no such job, queue, worker or schedule.
    pub fn is_not_found(&self) -> bool {
        self.refusal().is_some_and(|refusal| refusal.status == 404)
    }

    /// Whether the same request may succeed a little later: the server is away, slow or busy.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Interrupted { .. } | Self::Timeout { .. } => true,
            Self::Refused(refusal) => refusal.retryable || refusal.status == 503,
            Self::BadUrl { .. } | Self::BadTenant { .. } | Self::NotOjs { .. } => false,
        }
    }

    /// What to do about it, in a sentence.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::BadUrl { .. } => "It looks like http://127.0.0.1:8080.",
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

/// The body of a refusal.
#[derive(Deserialize)]
pub(crate) struct ErrorBody {
    pub error: Refusal,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}
