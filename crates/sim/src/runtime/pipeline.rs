//! Seals batches, commits them to the store, and reports them to the engine.

use std::rc::Rc;

use rota_model::{Millis, Seq};
use rota_store::{Applied, Batch, Mutation};

use super::{Runtime, Step};
use crate::sabotage::Sabotage;

/// The most batches that wait for the store while the engine goes on.
const MOST_SEALED: usize = 2;

/// Steps that are committed together.
#[derive(Debug, Default)]
pub struct Sealed {
    pub number: u64,
    pub steps: Vec<Rc<Step>>,
    now: Millis,
    next_seq: Seq,
    /// What the batch holds besides the changes of its steps.
    besides: Vec<Mutation>,
    /// What the store said of the commit.
    committed: Applied,
}

impl Sealed {
    pub(super) fn numbered(number: u64) -> Self {
        Self { number, ..Self::default() }
    }
}

impl Runtime {
    /// Hands the open batch to the store, if there is one and the store has room.
    pub fn seal(&mut self) -> bool {
        if self.open.steps.is_empty() || self.sealed.len() >= MOST_SEALED {
            return false;
        }
        let next = Sealed::numbered(self.open.number + 1);
        let mut full = std::mem::replace(&mut self.open, next);
        full.now = self.engine.now().wall;
        full.next_seq = self.engine.next_seq();
        self.engine.seal(full.number, &mut full.besides);
        self.sealed.push_back(full);
        true
    }

    /// The store commits the oldest batch that it has been given.
    pub fn commit(&mut self) -> Result<(), String> {
        let Some(mut sealed) = self.sealed.pop_front() else {
            return Ok(());
        };
        let mutations = sealed.steps.iter().flat_map(|step| &step.mutations);
        let mutations = mutations.chain(&sealed.besides);
        let committed = self.store.commit(&Batch {
            number: sealed.number,
            now: sealed.now,
            next_seq: sealed.next_seq,
            event_count: 0,
            mutations: mutations.cloned().collect(),
        })?;
        sealed.committed = committed;
        if self.falsify == Some(Sabotage::LostBytes) {
            sealed.committed.freed.clear();
        }
        self.unreported.push_back(sealed);
        Ok(())
    }

    /// The last batch that was committed and not reported.
    #[must_use]
    pub fn newest_commit(&self) -> Option<&Sealed> {
        self.unreported.back()
    }

    /// The runtime hears of the oldest commit: its answers may go out.
    pub fn report(&mut self) -> Option<Sealed> {
        let sealed = self.unreported.pop_front()?;
        self.in_flight.applied(sealed.number);
        self.reported = sealed.number;
        self.engine.note_freed(&sealed.committed.freed);
        Some(sealed)
    }

    /// The batch that still takes steps.
    #[must_use]
    pub fn open(&self) -> &Sealed {
        &self.open
    }

    #[must_use]
    pub fn has_sealed(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// Everything decided is durable and told.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.open.steps.is_empty() && self.sealed.is_empty() && self.unreported.is_empty()
    }
}
