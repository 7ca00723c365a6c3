//! Recent events, and a stream of those that follow.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::base_url::Endpoint;
use crate::{Client, Error, WithJson};

/// A stream that sends nothing for this long, not even a heartbeat, is considered broken.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);
/// Maximum length of one line of a stream.
const LONGEST_LINE: usize = 16 << 20;

/// Selects events. Empty lists select all.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Event types such as `job.failed`; `job.*` matches a prefix.
    pub types: Vec<String>,
    /// Events of these queues and of their jobs.
    pub queues: Vec<String>,
    /// Events of jobs of these types.
    pub job_types: Vec<String>,
}

/// Something that happened.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// Identifies the event; a stream can be resumed after it.
    pub id: Option<String>,
    /// Such as `job.completed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happened, RFC 3339.
    pub time: Option<String>,
    /// What it happened to: the id of a job, or the name of a queue, worker, tenant or schedule.
    pub subject: Option<String>,
    /// The members depend on the type.
    #[serde(default)]
    pub data: Map<String, Value>,
}

/// Some of the recent events, oldest first.
#[derive(Debug, Clone, Deserialize)]
pub struct EventPage {
    /// The events.
    pub events: Vec<WithJson<Event>>,
    /// Where the next page begins.
    pub cursor: Option<String>,
    /// Whether there are more events after these.
    #[serde(default)]
    pub has_more: bool,
    /// Whether events after the given cursor are no longer known.
    #[serde(default)]
    pub gap: bool,
}

/// Events as they happen.
pub struct EventStream {
    url: String,
    body: Incoming,
    buffer: Vec<u8>,
    data: String,
    last_id: Option<String>,
}

impl Client {
    /// Reads a page of the recent events after a cursor, or from the oldest one that is known.
    pub async fn events(
        &self,
        filter: &EventFilter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<EventPage, Error> {
        let endpoint = filter.applied(self.endpoint(&["events"])).query("limit", Some(limit));
        self.get(endpoint.query("after", after)).await?.read()
    }

    /// Opens a stream of the events after a cursor, or from now on.
    pub async fn follow_events(
        &self,
        filter: &EventFilter,
        after: Option<&str>,
    ) -> Result<EventStream, Error> {
        let endpoint = filter.applied(self.endpoint(&["events", "stream"]));
        let body = self.open(endpoint.query("after", after)).await?;
        let last_id = after.map(str::to_owned);
        Ok(EventStream { url: self.url(), body, buffer: Vec::new(), data: String::new(), last_id })
    }
}

impl EventFilter {
    fn applied(&self, endpoint: Endpoint) -> Endpoint {
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
        endpoint
            .query("types", list(&self.types))
            .query("queues", list(&self.queues))
            .query("job_types", list(&self.job_types))
    }
}

impl EventStream {
    /// Waits for the next event; `None` if the server has closed the stream.
    pub async fn next(&mut self) -> Result<Option<WithJson<Event>>, Error> {
        loop {
            while let Some(line) = self.line() {
                if let Some(event) = self.take(&line)? {
                    return Ok(Some(event));
                }
            }
            match self.read().await? {
                Some(bytes) => self.buffer.extend_from_slice(bytes.chunk()),
                None => return Ok(None),
            }
            if self.buffer.len() > LONGEST_LINE {
                return Err(self.interrupted("an event is far too long"));
            }
        }
    }

    /// The cursor after which to resume the stream.
    pub fn cursor(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = tokio::time::timeout(LONGEST_SILENCE, self.body.frame()).await;
            let Ok(frame) = frame else {
                return Err(self.interrupted("nothing was heard for two minutes"));
            };
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|cause| self.interrupted(&cause.to_string()))?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }

    fn interrupted(&self, cause: &str) -> Error {
        Error::Interrupted { url: self.url.clone(), cause: cause.to_owned() }
    }

    /// Takes a complete line out of the buffer.
    fn line(&mut self) -> Option<String> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        let text = String::from_utf8_lossy(&line);
        Some(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// Processes a line of the stream; an empty one completes an event.
    fn take(&mut self, line: &str) -> Result<Option<WithJson<Event>>, Error> {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.last_id = Some(value.to_owned()),
            "data" => self.data.push_str(value),
            "" if line.is_empty() && !self.data.is_empty() => {
                let data = std::mem::take(&mut self.data);
                let event = serde_json::from_str(&data).map_err(|cause| Error::NotOjs {
                    url: self.url.clone(),
                    status: None,
                    reason: format!("an event has an unknown shape ({cause})"),
                })?;
                return Ok(Some(event));
            }
            // Comments keep the connection alive; the type is in the data, too.
            _ => {}
        }
        Ok(None)
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EventStream")
            .field("url", &self.url)
            .field("last_id", &self.last_id)
            .finish()
    }
}
