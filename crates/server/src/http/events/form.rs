//! The two forms in which events are pushed: whole envelopes, and the flat objects of channels.

use rota_engine::Event;
use rota_model::JobId;
use serde_json::{Value, json};

use super::json::{self, envelope};
use super::notice::Notice;
use crate::runtime::{About, EventIds, Names, TypeFilter};

pub(super) const STATE_CHANGED: &str = "job.state_changed";

/// How a subscriber gets its events.
pub(super) enum Form {
    /// As lists show them (ojs-events).
    Envelope,
    /// A change of state is `job.state_changed`, and an event's data has no envelope (ojs-realtime).
    Flat(TypeFilter),
}

/// The ways in which one event is pushed. Each is rendered once for all subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    /// In its envelope.
    Envelope,
    /// Flat, as `job.state_changed`.
    Change,
    /// The same where the event follows under its own name. The id says that it is only a part.
    ChangeAndMore,
    /// Flat, under its own name.
    Own,
}

impl Variant {
    pub const COUNT: usize = 4;

    fn filter(self, wanted: bool) -> Option<Self> {
        wanted.then_some(self)
    }

    /// The event as this variant has it.
    pub fn piece(self, ids: EventIds, event: &Event, names: &Names) -> Piece {
        let about = About::of(&event.kind);
        let id = match self {
            Self::ChangeAndMore => ids.part,
            _ => ids.whole,
        };
        let name = match self {
            Self::Envelope | Self::Own => about.name,
            Self::Change | Self::ChangeAndMore => STATE_CHANGED,
        };
        let data = match self {
            Self::Envelope => json::show(id, event, names),
            _ => flat(&about, event, names),
        };
        Piece { id, name, data }
    }
}

/// One thing to be pushed.
pub(super) struct Piece {
    pub id: JobId,
    pub name: &'static str,
    pub data: Value,
}

impl Form {
    /// Whether anything is pushed for an event that the filter admits.
    pub fn wants(&self, event: &Event) -> bool {
        match self {
            Self::Envelope => true,
            Self::Flat(types) => {
                let (change, own) = names_of(&About::of(&event.kind), types);
                change || own
            }
        }
    }

    /// What is pushed for an event that the filter admits.
    pub fn variants(&self, event: &Event) -> impl Iterator<Item = Variant> + use<> {
        let (envelope, change, own) = match self {
            Self::Envelope => (true, false, false),
            Self::Flat(types) => {
                let (change, own) = names_of(&About::of(&event.kind), types);
                (false, change, own)
            }
        };
        let change = if own { Variant::ChangeAndMore } else { Variant::Change }.filter(change);
        let own = Variant::Own.filter(own);
        Variant::Envelope.filter(envelope).into_iter().chain(change).chain(own)
    }

    /// An event about the stream itself.
    pub fn notice(&self, notice: Notice) -> Piece {
        let Notice { id, name, at, data } = notice;
        let data = match self {
            Self::Envelope => envelope(id, name, "api", at, &Value::Null, &data),
            Self::Flat(_) => data,
        };
        Piece { id, name, data }
    }
}

/// Whether an event is pushed on a channel as `job.state_changed`, and whether under its own name. What
/// `job.state_changed` says already is repeated under its own name, such as `job.completed`, only for those
/// who ask for that.
fn names_of(about: &About<'_>, types: &TypeFilter) -> (bool, bool) {
    let is_change = about.change.is_some_and(|change| change.from != Some(change.to));
    let repeats = about.change.is_some()
        || matches!(
            about.name,
            "job.failed" | "dead_letter.added" | "dead_letter.retried" | "dead_letter.replayed"
        );
    let own = if repeats { types.names(about.name) } else { types.admits(about.name) };
    (is_change && types.admits(STATE_CHANGED), own)
}

fn flat(about: &About<'_>, event: &Event, names: &Names) -> Value {
    let mut data = json::members(about, event, names);
    if let Some(job_type) = about.job_type {
        data.insert("type".to_owned(), json!(job_type));
    }
    if let Some(change) = about.change {
        // A job that was not there before was in no state.
        let from = change.from.map_or("", |state| state.as_str());
        data.insert("from".to_owned(), json!(from));
        data.insert("to".to_owned(), json!(change.to.as_str()));
    }
    data.insert("timestamp".to_owned(), json!(event.at.to_string()));
    Value::Object(data)
}
