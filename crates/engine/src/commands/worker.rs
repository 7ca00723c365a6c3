//! Workers: registration, directives, silence and removal.

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{Directive, QueueName, Seq, TenantId, WorkerId};

use crate::worker::{Worker, WorkerRow};
use crate::{Engine, EventKind, Failure, Refusal, Registration, Reply};

impl Engine {
    pub(crate) fn register(&mut self, about: Registration) -> Reply {
        let id = about.worker.clone();
        let asker = self.asker(about.tenant.as_ref());
        if let Err(reached) = self.workers.check_byte_cap(asker, &id, about.bytes()) {
            return Reply::Refused(reached.into());
        }
        let met = self.ensure_worker(&id, about.tenant.as_ref(), &about.queues, about.concurrency);
        let joins = |()| {
            let named = about.pool.as_ref();
            named.map(|pool| self.pool_to_join(&id, about.tenant.as_ref(), pool)).transpose()
        };
        match met.and_then(joins) {
            Ok(pool) => pool.iter().for_each(|pool| self.join_pool(&id, pool)),
            Err(refusal) => return Reply::Refused(refusal),
        }
        let worker = self.workers.get_mut(&id).expect("the worker was just added");
        let (pool, tenant) = (worker.row.about.pool.take(), worker.row.about.tenant.take());
        worker.row.about = Registration { pool, tenant, ..about };
        worker.share_queues();
        (worker.row.directive, worker.reported) = (None, None);
        self.write_worker(&id);
        self.reindex_fetches_of(&id);
        Reply::Done
    }

    /// Other tenants' workers are unknown to a tenant.
    pub(crate) fn deregister(&mut self, id: &WorkerId, tenant: Option<&TenantId>) -> Reply {
        match self.workers.get(id).filter(|worker| worker.may_be_changed_by(tenant)) {
            None => Reply::Refused(Refusal::UnknownWorker),
            Some(_) => {
                self.remove_worker(id, "deregistered");
                Reply::Done
            }
        }
    }

    pub(crate) fn remove_stale_worker(&mut self, id: &WorkerId) -> Reply {
        match self.workers.get(id) {
            None => Reply::Refused(Refusal::UnknownWorker),
            Some(worker) if !worker.stale && !self.is_silent(worker) => {
                Reply::Refused(Refusal::WorkerNotStale)
            }
            Some(_) => {
                self.release_jobs_of(id);
                self.remove_worker(id, "stale");
                Reply::Done
            }
        }
    }

    pub(crate) fn direct(&mut self, id: &WorkerId, directive: Directive) -> Reply {
        let Some(worker) = self.workers.get_mut(id) else {
            return Reply::Refused(Refusal::UnknownWorker);
        };
        worker.row.directive = (directive != Directive::Running).then_some(directive);
        self.write_worker(id);
        if directive == Directive::Quiet {
            self.report_quiet(id);
        }
        Reply::Done
    }

    pub(crate) fn report_quiet(&mut self, id: &WorkerId) {
        let active = self.active.count_held_by(id);
        self.emit(EventKind::WorkerQuieted { worker: id.clone(), active });
    }

    /// Records that a worker was seen, and adds it if it is new. A new worker belongs to the tenant
    /// of the request. A shared worker replaces a tenant's worker of the same name. `queues` and
    /// `concurrency` are what the request says of a new worker, for its event.
    pub(crate) fn ensure_worker(
        &mut self,
        id: &WorkerId,
        tenant: Option<&TenantId>,
        queues: &[QueueName],
        concurrency: Option<u32>,
    ) -> Result<(), Refusal> {
        let (wall, mono) = (self.now.wall, self.now.mono);
        let taken_by_tenant = |worker: &Worker| tenant.is_none() && worker.owner().is_some();
        if self.workers.get(id).is_some_and(taken_by_tenant) {
            // A tenant used the name of a shared worker first. It must not direct or limit that worker.
            self.remove_worker(id, "replaced");
        }
        if let Some(worker) = self.workers.get_mut(id) {
            if !worker.may_be_changed_by(tenant) {
                return Err(Refusal::OthersWorker);
            }
            (worker.last_seen, worker.last_seen_mono) = (wall, mono);
            if std::mem::replace(&mut worker.stale, false) {
                let silent_at = mono.saturating_add(self.config.heartbeat_timeout_ms);
                self.workers.check_later(id.clone(), silent_at);
                self.worker_changed(id);
            }
            return Ok(());
        }
        self.workers.check_cap(self.asker(tenant))?;
        let about = Registration { tenant: tenant.cloned(), ..Registration::named(id.clone()) };
        let row = WorkerRow { about, since: wall, directive: None, beats: false };
        let worker = Worker::new(row, wall, mono);
        let check_at = mono.saturating_add(self.config.heartbeat_timeout_ms);
        self.workers.insert(id.clone(), worker, check_at);
        self.write_worker(id);
        let (worker, queues) = (id.clone(), queues.into());
        self.emit(EventKind::WorkerStarted { worker, queues, concurrency });
        Ok(())
    }

    pub(crate) fn write_worker(&mut self, id: &WorkerId) {
        self.worker_changed(id);
        let Some(worker) = self.workers.get(id) else { return };
        let json = serde_json::to_vec(&worker.row).expect("rows are plain data");
        self.workers.count_bytes(id, json.len());
        self.out.mutations.push(Mutation::Put(RowKind::Worker, (**id).into(), json.into()));
    }

    /// Checks whether a worker has gone silent, and schedules the next check.
    pub(crate) fn check_worker(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let seen = worker.last_seen_mono;
        let stale_at = seen.saturating_add(self.config.heartbeat_timeout_ms);
        let forget_at = seen.saturating_add(self.config.forget_worker_after_ms);
        let mono = self.now.mono;
        if forget_at <= mono && self.active.count_held_by(&id) == 0 {
            self.remove_worker(&id, "silent");
            return;
        }
        let newly_silent = worker.row.beats && !worker.stale && stale_at <= mono;
        if newly_silent {
            self.release_jobs_of(&id);
            if let Some(worker) = self.workers.get_mut(&id) {
                worker.stale = true;
            }
            self.worker_changed(&id);
        }
        let beats = self.workers.get(&id).is_some_and(|w| w.row.beats && !w.stale);
        let next = if beats && stale_at > mono { stale_at } else { forget_at };
        let soonest = mono.saturating_add(1_000);
        self.workers.check_later(id, next.max(soonest));
    }

    fn is_silent(&self, worker: &Worker) -> bool {
        let quiet_for = self.now.mono.saturating_sub(worker.last_seen_mono);
        quiet_for >= self.config.heartbeat_timeout_ms
    }

    fn release_jobs_of(&mut self, id: &WorkerId) {
        let jobs: Vec<Seq> = self.active.held_by(id).collect();
        let failure = Failure::by_server("worker_lost", "the worker stopped sending heartbeats");
        for seq in jobs {
            if let Some(active) = self.active.remove(seq) {
                self.release(&active);
                self.worker_lost(seq, &active, &failure);
            }
        }
    }

    fn remove_worker(&mut self, id: &WorkerId, reason: &'static str) {
        let since = self.workers.remove(id).map_or(self.now.wall, |worker| worker.row.since);
        self.out.mutations.push(Mutation::Remove(RowKind::Worker, (**id).into()));
        self.emit(EventKind::WorkerStopped { worker: id.clone(), reason, since });
        // Its fetches are no longer limited by its concurrency or directive.
        self.reindex_fetches_of(id);
    }
}
