//! Crashes, and the start after one: the view applies what it lacks of the log, and a new engine is made from it.

use rota_engine::{Engine, InFlight, Now};

use super::{Restoring, Runtime, Sealed};
use crate::sabotage::Sabotage;

/// How a process ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// What was written stays.
    Killed,
    /// What was not synced is gone.
    PowerCut,
}

impl Runtime {
    /// The process ends, or a start is cut off. A record that is not synced is there afterwards (`survives`) or is not.
    pub fn crash(&mut self, crash: Crash, survives: bool) {
        if !survives {
            self.log.lose_unsynced();
        }
        match crash {
            Crash::Killed => self.view.crash(),
            Crash::PowerCut => self.view.lose_power(),
        }
        self.sealed.clear();
        self.releases.clear();
        self.reports.clear();
        self.bodies.clear();
        self.pruning = None;
    }

    /// A start opens the log. What is there is synced before anything is done with it. Returns the batch that was
    /// written and not synced, if its record is there: it is committed now, although nobody was told.
    pub fn open_log(&mut self) -> Option<Sealed> {
        self.log.sync(self.log.tip());
        self.written.take().filter(|written| written.number <= self.log.tip())
    }

    /// A start applies up to so many records to the view.
    pub fn replay(&mut self, most: u64) -> Result<(), String> {
        let (from, tip) = (self.view.applied() + 1, self.log.tip());
        for number in from..=tip.min(self.view.applied().saturating_add(most)) {
            let mut batch = self.log.read(number)?;
            match self.falsify {
                Some(Sabotage::SkipReplayed) if number == tip => batch.mutations.clear(),
                Some(Sabotage::RepeatReplayed) if number == tip => {
                    batch.mutations.extend(batch.mutations.clone());
                }
                _ => {}
            }
            self.view.replay(batch)?;
        }
        Ok(())
    }

    /// A new engine is made from the view, which has everything that is committed.
    pub fn restart(&mut self, now: Now) -> Result<(), String> {
        let seed = self.entropy.next();
        self.engine = self.rebuilt(now, seed)?;
        let number = self.view.applied();
        self.in_flight = InFlight::new(seed, number);
        self.event_count = self.view.store().loaded().event_count;
        (self.reported, self.committed) = (number, number);
        self.open = Sealed::numbered(number + 1);
        self.sealed.clear();
        self.bodies.clear();
        self.pruning = None;
        Ok(())
    }

    /// A second engine from what the view has, as a restart at this moment would make it.
    pub fn rebuilt(&self, now: Now, seed: u64) -> Result<Engine, String> {
        let restore = rota_engine::Restore::new(self.config.clone(), seed, now);
        let mut sink = Restoring(restore);
        let loaded = self.view.store().load(&mut sink)?;
        sink.0.finish(loaded.next_seq, loaded.now, loaded.id_key, loaded.number)
    }
}
