//! The way of a batch: sealed, written to the log, synced and with that committed, applied by the view, and reported
//! to the engine as applied. Answers go out at any time after the commit.

use std::rc::Rc;

use rota_model::{Millis, Seq};
use rota_store::{Batch, Mutation};

use super::release::Release;
use super::view::Portion;
use super::{Runtime, Step};
use crate::sabotage::Sabotage;

/// The most batches that wait for the log while the engine goes on.
const MOST_SEALED: usize = 2;

/// Steps that are committed together.
#[derive(Debug, Default)]
pub struct Sealed {
    pub number: u64,
    pub steps: Vec<Rc<Step>>,
    now: Millis,
    next_seq: Seq,
    /// How many events there have been, with those of this batch.
    pub event_count: u64,
    /// What the batch holds besides the changes of its steps.
    besides: Vec<Mutation>,
}

impl Sealed {
    pub(super) fn numbered(number: u64) -> Self {
        Self { number, ..Self::default() }
    }

    fn batch(&self) -> Batch {
        let mutations = self.steps.iter().flat_map(|step| &step.mutations);
        Batch {
            number: self.number,
            now: self.now,
            next_seq: self.next_seq,
            event_count: self.event_count,
            mutations: mutations.chain(&self.besides).cloned().collect(),
        }
    }
}

impl Runtime {
    /// Hands the open batch to the log, if there is one and the log has room.
    pub fn seal(&mut self) -> bool {
        if self.open.steps.is_empty() || self.sealed.len() >= MOST_SEALED {
            return false;
        }
        let next = Sealed::numbered(self.open.number + 1);
        let mut full = std::mem::replace(&mut self.open, next);
        full.now = self.engine.now().wall;
        full.next_seq = self.engine.next_seq();
        self.event_count += full.steps.iter().map(|step| step.events.len() as u64).sum::<u64>();
        full.event_count = self.event_count;
        self.engine.seal(full.number, &mut full.besides);
        self.sealed.push_back(full);
        true
    }

    /// Writes the record of the oldest sealed batch, if the one before is synced and the view keeps up.
    pub fn write(&mut self) -> Option<u64> {
        if self.written.is_some() || self.view.lag() >= self.most_lag {
            return None;
        }
        let sealed = self.sealed.pop_front()?;
        self.log.append(&sealed.batch());
        self.written.insert(sealed).number.into()
    }

    /// The record is synced, so its batch is committed. Its answers may go out, and the view gets it.
    pub fn commit(&mut self) -> Option<Sealed> {
        let sealed = self.written.take()?;
        let number = sealed.number;
        self.log.sync(match self.falsify {
            Some(Sabotage::AnswerBeforeSync) => number - 1,
            _ => number,
        });
        self.committed = number;
        let (early, late) = Release::of(number, &sealed.steps);
        self.releases.push_back(early);
        self.view.push(sealed.batch(), late);
        if self.falsify == Some(Sabotage::ForgetInFlight) {
            self.in_flight.applied(number);
        }
        self.truncate();
        Some(sealed)
    }

    /// The log gives up what the view cannot lose any more.
    pub fn truncate(&mut self) {
        let needed_from = match self.falsify {
            Some(Sabotage::TruncateTooFar) => self.view.applied() + 1,
            _ => self.view.durable() + 1,
        };
        self.log.truncate(needed_from);
    }

    /// The oldest answers that may go out and have not.
    pub fn release(&mut self) -> Option<Release> {
        self.releases.pop_front()
    }

    /// The view begins a transaction of up to so many batches.
    pub fn begin_portion(&mut self, most: usize) {
        self.view.begin_portion(most);
    }

    /// The view ends the transaction that is under way.
    pub fn finish_portion(&mut self) -> Result<(), String> {
        let Portion { applied, late } = self.view.finish_portion(&self.log)?;
        for (number, mut applied) in applied {
            if self.falsify == Some(Sabotage::LostBytes) {
                applied.freed.clear();
            }
            self.reports.push_back((number, applied));
        }
        self.releases.extend(late.into_iter().filter(|late| !late.answers.is_empty()));
        Ok(())
    }

    /// The engine hears that the view has applied a portion.
    pub fn report(&mut self) -> Option<u64> {
        let (number, applied) = self.reports.pop_front()?;
        self.engine.note_freed(&applied.freed);
        self.in_flight.applied(number);
        self.reported = number;
        Some(number)
    }

    /// The view makes up to so many of the batches that it has applied durable.
    pub fn checkpoint(&mut self, most: usize) -> Result<(), String> {
        self.view.checkpoint(most)
    }

    /// The batch that still takes steps.
    #[must_use]
    pub fn open(&self) -> &Sealed {
        &self.open
    }

    #[must_use]
    pub fn has_answers(&self) -> bool {
        !self.releases.is_empty()
    }

    /// What the view has reported to an engine that is no more is not for its successor.
    pub fn discard_reports(&mut self) {
        self.reports.clear();
    }

    /// Whether a batch waits for the log and could be written.
    #[must_use]
    pub fn may_write(&self) -> bool {
        !self.sealed.is_empty() && self.written.is_none() && self.view.lag() < self.most_lag
    }

    /// Everything decided is durable, applied and told.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.open.steps.is_empty()
            && self.sealed.is_empty()
            && self.written.is_none()
            && self.view.lag() == 0
            && self.releases.is_empty()
            && self.reports.is_empty()
    }
}
