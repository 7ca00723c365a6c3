//! The recent events, as a caller may see them. The ring has those of all tenants, and is reached through this
//! only.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rota_engine::Event;
use rota_model::{JobId, Millis, Seq};
use tokio::sync::{Mutex, watch};

use super::{Access, NamedJobs};
use crate::runtime::{CallerScope, Chunk, EventFilter, EventIds, EventPage, Events, Names};

/// The name of no tenant.
const NOBODY: &str = "";

/// The events of the caller.
pub(in crate::http) struct EventView<'a> {
    ring: &'a Events,
    access: &'a Access,
}

/// What there is to read at some place.
pub(in crate::http) struct SeenLook {
    /// The place itself, or the oldest event if that is later: what is between was missed.
    pub from: u64,
    /// `None` when everything was read.
    pub chunk: Option<SeenChunk>,
}

/// Some events in a row, of which only the caller's are given out.
pub(in crate::http) struct SeenChunk {
    chunk: Arc<Chunk>,
    scope: CallerScope,
}

impl Access {
    pub(in crate::http) fn events(&self) -> EventView<'_> {
        EventView { ring: self.app.handle.events(), access: self }
    }

    /// The jobs that events are about, as far as the caller may see the events.
    pub(in crate::http) fn jobs_of_events<'a, J: Iterator<Item = Seq>>(
        &self,
        events: impl Iterator<Item = &'a Event>,
        jobs_of: impl Fn(&'a Event) -> J,
    ) -> NamedJobs {
        let scope = self.scope();
        let seen = events.filter(|event| scope.sees_event(event));
        NamedJobs::new(seen.flat_map(jobs_of).collect())
    }
}

impl EventView<'_> {
    /// Whether any are kept at all.
    pub fn are_kept(&self) -> bool {
        self.ring.are_kept()
    }

    /// Tells when streams are to end.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ring.ending()
    }

    /// The number that the next event will have, whosever it is. Not to be shown to a tenant.
    pub fn next_number(&self) -> u64 {
        self.ring.next_number()
    }

    pub fn number_of(&self, id: JobId) -> Option<u64> {
        self.ring.number_of(id)
    }

    pub fn id_of(&self, number: u64, at: Millis) -> JobId {
        self.ring.id_of(number, at)
    }

    pub fn ids(&self, number: u64, at: Millis) -> EventIds {
        self.ring.ids(number, at)
    }

    /// A number that counts things of all tenants, hidden from a tenant.
    pub fn hidden_number(&self, number: u64) -> String {
        self.ring.hidden_number(number)
    }

    pub fn revealed_number(&self, text: &str) -> Option<u64> {
        self.ring.revealed_number(text)
    }

    /// Events behind the given one, oldest first.
    pub fn after(
        &self,
        cursor: Option<JobId>,
        filter: EventFilter,
        limit: usize,
        now: Millis,
    ) -> EventPage {
        self.ring.after(cursor, &self.scoped(filter), limit, now)
    }

    /// The newest events first, from the `skip`th on; and how many there are in all.
    pub fn newest(
        &self,
        filter: EventFilter,
        skip: usize,
        limit: usize,
    ) -> (Vec<(JobId, Event)>, usize) {
        self.ring.newest(&self.scoped(filter), skip, limit)
    }

    pub fn look(&self, from: u64) -> SeenLook {
        let look = self.ring.look(from);
        let chunk = look.chunk.map(|chunk| SeenChunk { chunk, scope: self.access.scope() });
        SeenLook { from: look.from, chunk }
    }

    /// The ids of jobs, as far as any event tells them.
    pub fn ids_of(&self, jobs: &NamedJobs) -> HashMap<Seq, JobId> {
        self.ring.ids_of(jobs.seqs())
    }

    /// The caller's jobs that end with an event from this number on.
    pub fn jobs_that_end(&self, from: u64) -> HashSet<Seq> {
        let scope = self.access.scope();
        self.ring.jobs_that_end(from, |event| scope.sees_event(event))
    }

    /// A filter that admits nothing but the caller's events, and none where it asks for another's.
    fn scoped(&self, filter: EventFilter) -> EventFilter {
        let CallerScope { tenant, queues } = self.access.scope();
        let tenants = match tenant {
            None => filter.tenants,
            Some(own)
                if filter.tenants.iter().all(|id| **id != *own) && !filter.tenants.is_empty() =>
            {
                vec![NOBODY.to_owned()]
            }
            Some(own) => vec![own.to_string()],
        };
        EventFilter { tenants, visible_queues: queues, ..filter }
    }
}

impl SeenChunk {
    /// The caller's events from this number on, with their numbers.
    pub fn from(&self, number: u64) -> impl Iterator<Item = (u64, &Event)> {
        self.chunk.from(number).filter(|(_, event)| self.scope.sees_event(event))
    }

    /// The number of its first event, whosever it is.
    pub fn first(&self) -> u64 {
        self.chunk.first()
    }

    /// The number behind its last event.
    pub fn end(&self) -> u64 {
        self.chunk.end()
    }

    /// What is known about the jobs in its events. Shared by all who read it.
    pub fn names(&self) -> &Mutex<Names> {
        &self.chunk.names
    }
}
