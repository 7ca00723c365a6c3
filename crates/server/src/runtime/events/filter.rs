//! Filters that select events.

use std::sync::Arc;

use rota_engine::Event;
use rota_model::{Millis, QueueName, Seq};

use super::About;

/// An empty list means all.
#[derive(Debug, Default, Clone)]
pub struct EventFilter {
    pub types: TypeFilter,
    /// The queue of a channel, besides which `queues` may name others.
    pub queue: Option<String>,
    pub queues: Vec<String>,
    pub job_types: Vec<String>,
    pub tenants: Vec<String>,
    /// The only queues that the reader may see events of; `None` for all.
    pub visible_queues: Option<Arc<[QueueName]>>,
    pub job: Option<Seq>,
    /// Events from this moment on.
    pub since: Option<Millis>,
}

impl EventFilter {
    #[must_use]
    pub fn admits(&self, event: &Event) -> bool {
        let about = About::of(&event.kind);
        let one_of = |list: &[String], name: Option<&str>| {
            list.is_empty() || name.is_some_and(|name| list.iter().any(|wanted| wanted == name))
        };
        self.job.is_none_or(|seq| about.job.is_some_and(|job| job.seq == seq))
            && self.since.is_none_or(|since| event.at >= since)
            && self.types.admits(about.name)
            && self.queue.as_deref().is_none_or(|queue| about.queue == Some(queue))
            && one_of(&self.queues, about.queue)
            && self.may_see(about.queue)
            && one_of(&self.job_types, about.job_type)
            && one_of(&self.tenants, about.tenant)
    }
}

impl EventFilter {
    fn may_see(&self, queue: Option<&str>) -> bool {
        let Some(visible) = &self.visible_queues else { return true };
        queue.is_some_and(|queue| visible.iter().any(|name| **name == *queue))
    }
}

/// Names of events, of which one may end in `.*`; an empty list means all.
#[derive(Debug, Default, Clone)]
pub struct TypeFilter(pub Vec<String>);

impl TypeFilter {
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        self.0.is_empty() || self.names(name)
    }

    /// Whether the list names it, itself or by a wildcard.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.0.iter().any(|wanted| covers(wanted, name))
    }
}

fn covers(wanted: &str, name: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(prefix) if prefix.is_empty() || prefix.ends_with('.') => name.starts_with(prefix),
        _ => wanted == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_stands_for_whole_words_at_the_end() {
        for wanted in ["job.started", "job.*", "*"] {
            assert!(covers(wanted, "job.started"), "{wanted}");
        }
        for wanted in ["job", "jo*", "job.star*", "*.started", "worker.*", "job.started.*"] {
            assert!(!covers(wanted, "job.started"), "{wanted}");
        }
    }
}
