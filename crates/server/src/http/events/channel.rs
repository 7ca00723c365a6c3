//! Channels: the events of one job, of one queue, or all that the caller may see.

use rota_model::Seq;

use super::super::error::{ApiError, excerpt};
use super::super::params::PathName;
use super::super::{Access, queues};
use super::notice::{self, End};

/// A channel, as a client names it.
pub(super) enum Channel {
    All,
    Queue(PathName),
    Job(PathName),
}

/// What there is behind a channel.
pub(super) struct Scope {
    /// The channel's name in messages.
    pub name: String,
    pub queue: Option<String>,
    pub job: Option<Seq>,
    /// How the job ended, if it has.
    pub end: Option<End>,
}

impl Channel {
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        match text.split_once(':') {
            None if text == "all" => Ok(Self::All),
            Some(("queue", name)) => Ok(Self::Queue(PathName::given(name))),
            Some(("job", id)) => Ok(Self::Job(PathName::given(id))),
            _ => {
                let text = format!("'{}' is not a channel.", excerpt(text));
                Err(ApiError::invalid_request(text)
                    .detail("field", "channel")
                    .hint("Channels are job:ID, queue:NAME and all."))
            }
        }
    }

    /// Looks up what the channel names, on behalf of the caller. To be done after the place in the ring
    /// was taken: an end that a job's record does not show yet is behind that place.
    pub async fn scope(&self, app: &Access) -> Result<Scope, ApiError> {
        match self {
            Self::All => Ok(Scope { name: "all".to_owned(), queue: None, job: None, end: None }),
            Self::Queue(name) => {
                let queue = queues::find(app, name).await?.name.local().to_owned();
                let name = format!("queue:{queue}");
                Ok(Scope { name, queue: Some(queue), job: None, end: None })
            }
            Self::Job(name) => {
                let id = name.job()?;
                let record = app.record(id).await?;
                let record = record.ok_or_else(|| ApiError::not_found("job", name.as_str()))?;
                let end = notice::end_of(&record);
                Ok(Scope { name: format!("job:{id}"), queue: None, job: Some(record.seq), end })
            }
        }
    }
}
