//! Resolves job ids to jobs and their current state.

use std::collections::HashMap;

use ahash::RandomState;
use rota_engine::{Engine, InFlight, Target};
use rota_model::row::JobRow;
use rota_model::{JobId, Seq};

use super::facts::Facts;
use super::prepare::{Caller, exists_for};

/// Resolves ids: of active jobs from memory, of others from the facts that were read for a request.
#[derive(Default)]
pub(super) struct Resolver {
    /// Ids of active jobs that this process has handed out. A cache: other ids are read from the view.
    active: HashMap<JobId, Seq, RandomState>,
}

impl Resolver {
    pub fn note_active(&mut self, id: JobId, seq: Seq) {
        self.active.insert(id, seq);
    }

    /// Whether the id can be resolved without facts. Jobs of the caller that are active or in flight are known;
    /// those of others are looked up like any other id, so that they take as long as one that does not
    /// exist.
    pub fn is_known(
        &self,
        id: JobId,
        engine: &Engine,
        in_flight: &InFlight,
        caller: Caller<'_>,
    ) -> bool {
        let target = match self.active_target(id, engine) {
            Some(target) => Some(target),
            None => Facts::Nothing.target(id, engine.sealed_seq(id), in_flight),
        };
        target.is_some_and(|target| exists_for(&target, engine, caller))
    }

    /// The job with this id in its current state, including changes that are not committed yet. Without facts,
    /// the id must be [known](Self::is_known).
    pub fn target(
        &self,
        id: JobId,
        engine: &Engine,
        in_flight: &InFlight,
        facts: &Facts,
    ) -> Option<Target> {
        let active = self.active_target(id, engine);
        active.or_else(|| facts.target(id, engine.sealed_seq(id), in_flight))
    }

    /// Forgets everything, when the engine is rebuilt from the store.
    pub fn reset(&mut self) {
        self.active.clear();
    }

    /// Drops ids of jobs that are no longer active, once there are many of them.
    pub fn tidy(&mut self, engine: &Engine) {
        if self.active.len() > 1024 + 2 * engine.active_count() {
            self.active.retain(|_, seq| engine.active_job(*seq).is_some());
        }
    }

    fn active_target(&self, id: JobId, engine: &Engine) -> Option<Target> {
        let seq = *self.active.get(&id)?;
        let live = engine.active_job(seq)?;
        Some(Target { seq, id, now: JobRow::Live(live) })
    }
}
