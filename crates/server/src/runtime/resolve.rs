//! Resolves job ids to jobs and their current state.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use rota_engine::{Engine, InFlight, Target};
use rota_model::audit::AuditStub;
use rota_model::row::JobRow;
use rota_model::{DueReplay, JobId, Millis, Overdue, Seq};
use rota_store::{Found, Reader, StoreError};
use tokio::runtime::Handle as Tokio;

use super::ask::{Ask, CallerScope};
use super::lookups::Lookups;
use super::prepare::Caller;

/// Resolves ids, first from memory and then from the store.
pub(super) struct Resolver<R> {
    reader: R,
    tokio: Tokio,
    /// Ids of active jobs that this process has handed out. A cache: other ids are read from the store.
    active: HashMap<JobId, Seq, RandomState>,
    /// What the store returned for the ids in the current requests.
    found: HashMap<JobId, Found, RandomState>,
    lookups: Arc<Lookups>,
}

impl<R: Reader> Resolver<R> {
    pub fn new(reader: R, tokio: Tokio, lookups: Arc<Lookups>) -> Self {
        let (active, found) = (HashMap::default(), HashMap::default());
        Self { reader, tokio, active, found, lookups }
    }

    pub fn note_active(&mut self, id: JobId, seq: Seq) {
        self.active.insert(id, seq);
    }

    /// Reads all ids that the requests name from the store, in one read. Active jobs of the caller are known;
    /// those of others are looked up like any other id, so that they take as long as one that does not
    /// exist.
    pub fn prepare<'a>(
        &mut self,
        asks: impl Iterator<Item = (&'a Ask, Caller<'a>)>,
        engine: &Engine,
    ) -> Result<(), StoreError> {
        self.found.clear();
        let mut ids = Vec::new();
        for (ask, caller) in asks {
            let before = ids.len();
            collect_ids(ask, &mut ids);
            let mut index = before;
            while index < ids.len() {
                self.forget_ended(ids[index], engine);
                match self.is_active(ids[index], engine, caller) {
                    true => drop(ids.swap_remove(index)),
                    false => index += 1,
                }
            }
        }
        self.look_up(&ids)
    }

    /// The job with this id in its current state, including changes that are not committed yet.
    pub fn target(
        &mut self,
        id: JobId,
        engine: &Engine,
        in_flight: &InFlight,
    ) -> Result<Option<Target>, StoreError> {
        if let Some(&seq) = self.active.get(&id) {
            if let Some(live) = engine.active_job(seq) {
                return Ok(Some(Target { seq, id, now: JobRow::Live(live) }));
            }
            self.active.remove(&id);
            self.look_up(&[id])?;
        }
        let found = self.found.get(&id);
        // If an id was freed and reused by a batch in flight, it means the newer job.
        let newest = in_flight.seq_of(id, engine.sealed_seq(id)).or(found.map(|found| found.seq));
        let Some(seq) = newest else { return Ok(None) };
        let stored = found.filter(|found| found.seq == seq).map(|found| found.row.clone());
        let current = in_flight.current_row(seq, stored);
        Ok(current.map(|now| Target { seq, id, now }))
    }

    /// Up to `limit` finished jobs whose retention has passed. Jobs with changes in flight are left for
    /// a later call.
    pub fn overdue(
        &mut self,
        now: Millis,
        limit: usize,
        in_flight: &InFlight,
    ) -> Result<Overdue, StoreError> {
        let mut overdue = self.tokio.block_on(self.reader.overdue(now, limit))?;
        let count = overdue.jobs.len();
        overdue.jobs.retain(|done| !in_flight.touches(done.seq));
        if overdue.jobs.len() < count {
            // The jobs left out are still overdue, so their entries must stay listed.
            overdue.through = None;
        }
        Ok(overdue)
    }

    /// Up to `limit` jobs of the dead letter whose replay is due. Jobs with changes in flight are left
    /// for a later call.
    pub fn due_replays(
        &mut self,
        now: Millis,
        limit: usize,
        in_flight: &InFlight,
    ) -> Result<Vec<DueReplay>, StoreError> {
        let mut due = self.tokio.block_on(self.reader.due_replays(now, limit))?;
        due.retain(|due| !in_flight.touches(due.seq));
        Ok(due)
    }

    /// The oldest entries of the audit log, up to `limit`.
    pub fn oldest_audit(&mut self, limit: usize) -> Result<Vec<AuditStub>, StoreError> {
        self.tokio.block_on(self.reader.oldest_audit(limit))
    }

    /// Forgets everything, when the engine is rebuilt from the store.
    pub fn reset(&mut self) {
        self.active.clear();
        self.found.clear();
    }

    /// Drops ids of jobs that are no longer active, once there are many of them.
    pub fn tidy(&mut self, engine: &Engine) {
        if self.active.len() > 1024 + 2 * engine.active_count() {
            self.active.retain(|_, seq| engine.active_job(*seq).is_some());
        }
    }

    /// Forgets the id of a job that is no longer active, which would be looked up once more otherwise.
    fn forget_ended(&mut self, id: JobId, engine: &Engine) {
        if self.active.get(&id).is_some_and(|seq| engine.active_job(*seq).is_none()) {
            self.active.remove(&id);
        }
    }

    /// Whether the id is known to be that of an active job of the caller.
    fn is_active(&self, id: JobId, engine: &Engine, caller: Caller<'_>) -> bool {
        let live = self.active.get(&id).and_then(|seq| engine.active_job(*seq));
        live.is_some_and(|live| {
            let covers = |caller: &CallerScope| {
                engine.class(live.class).is_some_and(|class| caller.covers(class))
            };
            caller.is_none_or(covers)
        })
    }

    fn look_up(&mut self, ids: &[JobId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        self.lookups.count_ids(ids.len());
        let found = self.tokio.block_on(self.reader.resolve(ids))?;
        self.found.extend(found.into_iter().flatten().map(|found| (found.id, found)));
        Ok(())
    }
}

fn collect_ids(ask: &Ask, ids: &mut Vec<JobId>) {
    match ask {
        Ask::Command(command) | Ask::Act(command, _) => command.collect_ids(ids),
        Ask::Explain(job) => ids.push(*job),
        Ask::Purge(_) | Ask::Replay(_) | Ask::TrimAudit(_) => {}
    }
}
