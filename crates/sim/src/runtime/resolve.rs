//! Resolves job ids to jobs from the view and from what is on its way there.

use std::collections::BTreeSet;

use rota_engine::{
    Ack, Beat, Command, Enqueue, Nack, NewPriority, Now, Prune, PruneWork, Registration, SeenJob,
    Settle, Target, TenantChange,
};
use rota_model::audit::AuditOutcome;
use rota_model::envelope::NewJob;
use rota_model::row::JobRow;
use rota_model::{JobId, Live, Millis, Overdue, Seq};

use super::Runtime;
use super::note::note;
use crate::request::{Request, Ticket, Turned, Verdict, Word};

impl Runtime {
    pub(super) fn command_of(&mut self, request: Request, now: Now) -> Result<Command, Turned> {
        Ok(match request {
            Request::Enqueue { jobs, wait } => {
                Command::Enqueue(Enqueue { jobs: self.without_duplicates(jobs)?, wait })
            }
            Request::Fetch(fetch) => Command::Fetch(fetch),
            Request::StopWaiting(waiter) => Command::StopWaiting(waiter),
            Request::Undelivered(undelivered) => Command::Undelivered(undelivered),
            Request::Settle(words) => {
                let words = words.into_iter().map(|word| self.settle_of(word));
                Command::Settle(words.collect::<Result<_, _>>()?)
            }
            Request::Beat { worker, state, jobs, visibility_ms, concurrency } => {
                Command::Beat(Beat {
                    about: Box::new(Registration {
                        concurrency,
                        ..Registration::named(worker.clone())
                    }),
                    worker,
                    state,
                    jobs: self.targets(&jobs),
                    visibility_ms,
                })
            }
            Request::Register(registration) => Command::Register(registration.into()),
            Request::Deregister(worker) => Command::Deregister(worker, None),
            Request::DropStaleWorker(worker) => Command::DropStaleWorker(worker),
            Request::Direct(worker, directive) => Command::Direct(worker, directive),
            Request::Cancel(ids) => Command::Cancel(self.targets(&ids)),
            Request::CancelCooperatively(ids) => Command::RequestCancel(self.targets(&ids)),
            Request::Activate(id) => {
                Command::Activate(vec![self.find(id).ok_or(Turned::NotFound)?])
            }
            Request::SetPriority { job, priority, body, stale } => {
                let target = self.find(job).ok_or(Turned::NotFound)?;
                let JobRow::Live(live) = &target.now else { return Err(Turned::NotFound) };
                let seen = match stale {
                    true => SeenJob::of(&Live { bytes: live.bytes + 1, ..live.clone() }),
                    false => SeenJob::of(live),
                };
                Command::SetPriority(vec![target], Box::new(NewPriority { priority, body, seen }))
            }
            Request::Retry(ids) => Command::Retry(self.targets(&ids)),
            Request::RetryOnly(ids, only) => Command::RetryOnly(self.targets(&ids), only),
            Request::RetryAs(id, change) => Command::RetryAs(self.targets(&[id]), change),
            Request::Prune(limit) => match self.prune(limit) {
                Some(prune) => Command::Prune(Box::new(prune)),
                None => Command::Tick(now),
            },
            Request::Replay(limit) => {
                let mut due = self.view.store().due_replays(self.engine.now().wall, limit);
                due.retain(|due| !self.in_flight.touches(due.seq));
                Command::Replay(due)
            }
            Request::Delete(ids) => Command::Delete(self.targets(&ids)),
            Request::DeleteOnly(ids, only) => Command::DeleteOnly(self.targets(&ids), only),
            Request::Retain(limit) => Command::Forget(self.overdue(now.wall, limit)),
            Request::CreateQueue(queue, settings) => Command::CreateQueue(queue, settings),
            Request::PauseQueue(queue) => Command::PauseQueue(queue),
            Request::ResumeQueue(queue) => Command::ResumeQueue(queue),
            Request::DeleteQueue(queue) => Command::DeleteQueue(queue),
            Request::ConfigureQueue(queue, settings) => Command::ConfigureQueue(queue, settings),
            Request::PauseShard(tenant, queue) => Command::PauseShard(tenant, queue),
            Request::ResumeShard(tenant, queue) => Command::ResumeShard(tenant, queue),
            Request::PutTenant(tenant, config) => {
                Command::PutTenant(tenant, TenantChange { config, what: "put", reason: None })
            }
            Request::DeleteTenant(tenant) => Command::DeleteTenant(tenant, None),
            Request::ReleaseTenant(tenant) => Command::ReleaseTenant(tenant, None),
            Request::PutPool(name, pool) => Command::PutPool(name, pool),
            Request::RemovePool(name) => Command::RemovePool(name),
            Request::PutLimit(put) => Command::PutLimit(put),
            Request::ClearLimit(key, tenant) => Command::ClearLimit(key, tenant),
            Request::PutCron(spec) => Command::PutCron(spec),
            Request::RemoveCron(name) => Command::RemoveCron(name),
            Request::EnableCron(name, enabled) => Command::EnableCron(name, enabled),
            Request::TriggerCron(name) => Command::TriggerCron { name, bytes: 0 },
            Request::Maintain(enabled) => {
                Command::Maintain { enabled, reason: None, expected_ms: None }
            }
            Request::Audit(count) => {
                Command::Audit((0..count).map(|n| note(Ticket(n), AuditOutcome::Failure)).collect())
            }
            Request::TrimAudit(limit) => Command::TrimAudit(self.view.store().oldest_audit(limit)),
            Request::Tick => Command::Tick(now),
        })
    }

    /// A job that a client may name.
    #[must_use]
    pub fn find(&self, id: JobId) -> Option<Target> {
        let on_its_way = self.in_flight.seq_of(id, self.engine.sealed_seq(id));
        let seq = on_its_way.or_else(|| self.view.store().resolve(id).map(|found| found.seq))?;
        let now = self.in_flight.current_row(seq, self.view.store().place(seq))?;
        Some(Target { seq, id, now })
    }

    /// Each once, the unknown ones left out.
    fn targets(&self, ids: &[JobId]) -> Vec<Target> {
        let mut seen = BTreeSet::new();
        let fresh = ids.iter().filter(|id| seen.insert(**id));
        fresh.filter_map(|id| self.find(*id)).collect()
    }

    fn settle_of(&self, word: Word) -> Result<Settle, Turned> {
        let job = self.find(word.job).ok_or(Turned::NotFound)?;
        let holder = word.holder;
        Ok(match word.verdict {
            Verdict::Ack(result) => Settle::Ack(Ack { job, holder, result }),
            Verdict::Nack { failure, requeue, proven } => {
                Settle::Nack(Nack { job, holder, failure, requeue, proven })
            }
        })
    }

    fn without_duplicates(&self, jobs: Vec<NewJob>) -> Result<Vec<NewJob>, Turned> {
        let mut seen = BTreeSet::new();
        for job in jobs.iter().filter(|job| job.id_given) {
            if !seen.insert(job.id) || self.find(job.id).is_some() {
                return Err(Turned::Duplicate);
            }
        }
        Ok(jobs)
    }

    /// The server looks for a dead letter to prune, reads its oldest jobs when the view has what was committed by
    /// then, and prunes them: three steps, and anything may happen between two of them.
    fn prune(&mut self, limit: usize) -> Option<Prune> {
        let Some(pruning) = self.pruning.take() else {
            let work = self.engine.prune_work()?;
            self.pruning = Some(Pruning { work, after: self.committed });
            return if self.caches.percent(50) { self.prune(limit) } else { None };
        };
        if self.view.applied() < pruning.after {
            self.pruning = Some(pruning);
            return None;
        }
        Some(self.oldest_dead(&pruning.work, limit))
    }

    /// The oldest jobs of a dead letter, no more than must go.
    fn oldest_dead(&self, work: &PruneWork, limit: usize) -> Prune {
        let oldest = self.view.store().oldest_dead(work.shard, limit + 1);
        let due = oldest.iter().enumerate().take(limit);
        let due = due
            .take_while(|(i, (_, at))| *i < work.excess as usize || *at <= work.expired_at)
            .count();
        let ids: Vec<_> = oldest[..due].iter().map(|(id, _)| *id).collect();
        let left = oldest.get(due).or(oldest.last()).map(|(_, at)| *at);
        let through = oldest[..due].last().map_or(Millis::ZERO, |(_, at)| *at);
        Prune { shard: work.shard, jobs: self.targets(&ids), through, oldest: left }
    }

    /// Jobs with changes on their way to the view are left for a later call.
    fn overdue(&self, wall: Millis, limit: usize) -> Overdue {
        let now = self.engine.now().wall.max(wall);
        let mut jobs = self.view.store().overdue(now, limit);
        jobs.retain(|done| !self.in_flight.touches(done.seq));
        Overdue { jobs, through: None }
    }

    /// A job as it is now, whatever the view has of it.
    #[must_use]
    pub fn current_row(&self, seq: Seq) -> Option<JobRow> {
        self.in_flight.current_row(seq, self.view.store().place(seq))
    }
}

/// A dead letter that is being pruned.
pub(super) struct Pruning {
    work: PruneWork,
    /// Its jobs are read when the view has this batch.
    after: u64,
}
