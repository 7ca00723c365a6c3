//! The end of an execution, as a worker or the server reports it.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::{Millis, WorkerId};

use crate::Target;

/// Who reports the end of an execution, to be compared with who holds the job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    pub worker: Option<WorkerId>,
    pub attempt: Option<u32>,
}

#[derive(Debug, Clone)]
pub enum Settle<J = Target> {
    Ack(Ack<J>),
    Nack(Nack<J>),
}

#[derive(Debug, Clone)]
pub struct Ack<J = Target> {
    pub job: J,
    pub holder: Holder,
    pub result: Option<Bytes>,
}

#[derive(Debug, Clone)]
pub struct Nack<J = Target> {
    pub job: J,
    pub holder: Holder,
    pub failure: Failure,
    /// Return it to the queue at once, because the worker could not run it.
    pub requeue: bool,
    /// Whether it is reported with the credentials of the job's tenant. An external limit then pauses
    /// the tenant's own part of a shared key.
    pub proven: bool,
}

/// A failed execution.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: Arc<str>,
    pub code: Option<HandlerCode>,
    pub retryable: bool,
    /// The handler hit an external limit that lasts until then.
    pub limited_until: Option<Millis>,
    /// JSON members (type, message, ...) without braces, as they are stored.
    pub json: Bytes,
}

/// What the handler asks to be done with the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerCode {
    Retry,
    Discard,
    DeadLetter,
}

impl Failure {
    /// A failure detected by the server. `message` must not need escaping in JSON.
    pub(crate) fn by_server(kind: &'static str, message: &str) -> Self {
        let json =
            format!(r#""type":"{kind}","code":"{kind}","message":"{message}","retryable":true"#);
        Self {
            kind: kind.into(),
            code: None,
            retryable: true,
            limited_until: None,
            json: json.into(),
        }
    }
}
