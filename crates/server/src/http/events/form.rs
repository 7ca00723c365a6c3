//! The two forms in which events are pushed: whole envelopes, and the flat objects of channels.

use rota_engine::Event;
use rota_model::JobId;
use serde_json::{Value, json};

use super::json::{self, envelope};
use super::notice::Notice;
use crate::runtime::{About, Events, Names, TypeFilter};

pub(super) const STATE_CHANGED: &str = "job.state_changed";

/// How a subscriber gets its events.
pub(super) enum Form {
    /// As lists show them (ojs-events).
    Envelope,
    /// A change of state is `job.state_changed`, and an event's data has no envelope (ojs-realtime).
    Flat(TypeFilter),
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
            Self::Flat(types) => names_of(&About::of(&event.kind), types).next().is_some(),
        }
    }

    /// What is pushed for an event.
    pub fn pieces(
        &self,
        events: &Events,
        (number, event): (u64, &Event),
        names: &Names,
    ) -> Vec<Piece> {
        let id = events.id_of(number, event.at);
        let about = About::of(&event.kind);
        match self {
            Self::Envelope => {
                vec![Piece { id, name: about.name, data: json::show(id, event, names) }]
            }
            Self::Flat(types) => {
                let mut wanted: Vec<_> = names_of(&about, types).collect();
                let last = wanted.pop();
                let part = events.id_of_part(number, event.at);
                let first = wanted.into_iter().map(|name| (part, name));
                let all = first.chain(last.map(|name| (id, name)));
                let data = flat(&about, event, names);
                all.map(|(id, name)| Piece { id, name, data: data.clone() }).collect()
            }
        }
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

/// The names under which an event is pushed on a channel. What `job.state_changed` says already is
/// repeated under its own name, such as `job.completed`, only for those who ask for that.
fn names_of<'a>(
    about: &About<'a>,
    types: &TypeFilter,
) -> impl Iterator<Item = &'static str> + use<> {
    let is_change = about.change.is_some_and(|change| change.from != Some(change.to));
    let change = (is_change && types.admits(STATE_CHANGED)).then_some(STATE_CHANGED);
    let repeats = about.change.is_some()
        || matches!(
            about.name,
            "job.failed" | "dead_letter.added" | "dead_letter.retried" | "dead_letter.replayed"
        );
    let own = if repeats { types.names(about.name) } else { types.admits(about.name) };
    change.into_iter().chain(own.then_some(about.name))
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
