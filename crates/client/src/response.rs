//! Reading HTTP responses.

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::error::{ErrorBody, Refusal};

/// An HTTP response whose body has not been parsed yet.
pub(crate) struct Response {
    pub url: String,
    pub status: u16,
    pub content_type: Option<String>,
    pub retry_after: Option<u64>,
    /// The time of the response by the server's clock.
    pub date: Option<String>,
    pub body: Bytes,
}

impl Response {
    /// Parses the body of a successful response. Any other status is an error.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        match self.status {
            200..=299 => self.parse(),
            _ => Err(self.refusal()),
        }
    }

    /// Parses the body regardless of the status, for endpoints whose body has the same shape in any case.
    pub fn read_any<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.parse().map_err(|unreadable| match self.refusal() {
            refused @ Error::Refused(_) => refused,
            _ => unreadable,
        })
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|cause| {
            let json = serde_json::from_slice::<serde::de::IgnoredAny>(&self.body).is_ok();
            match json {
                true => self.not_ojs(format!("its answer has an unknown shape ({cause})")),
                false => self.not_ojs(format!("it sent {}", self.describe_body())),
            }
        })
    }

    pub fn refusal(&self) -> Error {
        match serde_json::from_slice::<ErrorBody>(&self.body) {
            Ok(body) => Error::Refused(Box::new(Refusal {
                status: self.status,
                retry_after: self.retry_after,
                ..body.error
            })),
            Err(_) => self.not_ojs(format!("status {} with {}", self.status, self.describe_body())),
        }
    }

    fn describe_body(&self) -> String {
        match &self.content_type {
            _ if self.body.is_empty() => "an empty body".to_owned(),
            Some(kind) => format!("{kind} instead of JSON of the Open Job Spec"),
            None => "something else than JSON of the Open Job Spec".to_owned(),
        }
    }

    fn not_ojs(&self, reason: String) -> Error {
        Error::NotOjs { url: self.url.clone(), status: Some(self.status), reason }
    }
}
