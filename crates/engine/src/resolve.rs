//! Resolving the job ids in a command into the jobs' current rows.

use rota_model::{JobId, Seq};

use crate::{Ack, Beat, Command, Nack, Prune, Settle, Target};

/// A command for the jobs that were found.
#[derive(Debug)]
pub struct Resolved {
    pub command: Command,
    /// Positions of jobs that were not found, ascending. For commands that change each job once, a
    /// repeated job counts as not found.
    pub missing: Vec<usize>,
}

impl<J> Settle<J> {
    #[must_use]
    pub fn job(&self) -> &J {
        match self {
            Settle::Ack(ack) => &ack.job,
            Settle::Nack(nack) => &nack.job,
        }
    }

    fn with_job<K>(self, job: K) -> Settle<K> {
        match self {
            Settle::Ack(Ack { holder, result, .. }) => Settle::Ack(Ack { job, holder, result }),
            Settle::Nack(Nack { holder, failure, requeue, proven, .. }) => {
                Settle::Nack(Nack { job, holder, failure, requeue, proven })
            }
        }
    }
}

impl Command<JobId> {
    /// Collects the ids that must be looked up before the command can be resolved.
    pub fn collect_ids(&self, ids: &mut Vec<JobId>) {
        match self {
            Command::Enqueue(enqueue) => {
                ids.extend(enqueue.jobs.iter().filter(|job| job.id_given).map(|job| job.id));
            }
            Command::Settle(all) => ids.extend(all.iter().map(|settle| *settle.job())),
            Command::Beat(beat) => ids.extend(&beat.jobs),
            Command::Cancel(jobs)
            | Command::RequestCancel(jobs)
            | Command::Activate(jobs)
            | Command::SetPriority(jobs, _)
            | Command::Retry(jobs)
            | Command::RetryOnly(jobs, _)
            | Command::RetryAs(jobs, _)
            | Command::Delete(jobs)
            | Command::DeleteOnly(jobs, _) => ids.extend(jobs),
            Command::Prune(prune) => ids.extend(&prune.jobs),
            _ => {}
        }
    }

    /// Replaces each id by the target that `find` returns.
    #[must_use]
    pub fn resolve(self, mut find: impl FnMut(JobId) -> Option<Target>) -> Resolved {
        let mut missing = Vec::new();
        let mut distinct = |ids: Vec<JobId>| {
            let mut seen: Vec<Seq> = Vec::with_capacity(ids.len());
            let mut targets = Vec::with_capacity(ids.len());
            for (position, id) in ids.into_iter().enumerate() {
                match find(id).filter(|target| !seen.contains(&target.seq)) {
                    Some(target) => {
                        seen.push(target.seq);
                        targets.push(target);
                    }
                    None => missing.push(position),
                }
            }
            targets
        };
        let command = match self {
            Command::Cancel(jobs) => Command::Cancel(distinct(jobs)),
            Command::RequestCancel(jobs) => Command::RequestCancel(distinct(jobs)),
            Command::Activate(jobs) => Command::Activate(distinct(jobs)),
            Command::SetPriority(jobs, new) => Command::SetPriority(distinct(jobs), new),
            Command::Retry(jobs) => Command::Retry(distinct(jobs)),
            Command::RetryOnly(jobs, only) => Command::RetryOnly(distinct(jobs), only),
            Command::RetryAs(jobs, change) => Command::RetryAs(distinct(jobs), change),
            Command::Delete(jobs) => Command::Delete(distinct(jobs)),
            Command::DeleteOnly(jobs, only) => Command::DeleteOnly(distinct(jobs), only),
            Command::Prune(prune) => {
                let Prune { shard, jobs, through, oldest } = *prune;
                let jobs = distinct(jobs);
                Command::Prune(Box::new(Prune { shard, jobs, through, oldest }))
            }
            Command::Replay(due) => Command::Replay(due),
            Command::Beat(Beat { worker, state, jobs, visibility_ms, about }) => {
                let jobs = distinct(jobs);
                Command::Beat(Beat { worker, state, jobs, visibility_ms, about })
            }
            Command::Settle(all) => {
                let mut found = Vec::with_capacity(all.len());
                for (position, settle) in all.into_iter().enumerate() {
                    match find(*settle.job()) {
                        Some(target) => found.push(settle.with_job(target)),
                        None => missing.push(position),
                    }
                }
                Command::Settle(found)
            }
            Command::Enqueue(enqueue) => Command::Enqueue(enqueue),
            Command::Fetch(fetch) => Command::Fetch(fetch),
            Command::StopWaiting(id) => Command::StopWaiting(id),
            Command::EndWaiting => Command::EndWaiting,
            Command::Undelivered(undelivered) => Command::Undelivered(undelivered),
            Command::Register(about) => Command::Register(about),
            Command::Deregister(worker, tenant) => Command::Deregister(worker, tenant),
            Command::DropStaleWorker(worker) => Command::DropStaleWorker(worker),
            Command::Direct(worker, directive) => Command::Direct(worker, directive),
            Command::Forget(overdue) => Command::Forget(overdue),
            Command::CreateQueue(queue, settings) => Command::CreateQueue(queue, settings),
            Command::PauseQueue(queue) => Command::PauseQueue(queue),
            Command::ResumeQueue(queue) => Command::ResumeQueue(queue),
            Command::ConfigureQueue(queue, settings) => Command::ConfigureQueue(queue, settings),
            Command::DeleteQueue(queue) => Command::DeleteQueue(queue),
            Command::PauseShard(tenant, queue) => Command::PauseShard(tenant, queue),
            Command::ResumeShard(tenant, queue) => Command::ResumeShard(tenant, queue),
            Command::PutTenant(tenant, change) => Command::PutTenant(tenant, change),
            Command::DeleteTenant(tenant, reason) => Command::DeleteTenant(tenant, reason),
            Command::ReleaseTenant(tenant, reason) => Command::ReleaseTenant(tenant, reason),
            Command::PutPool(pool, config) => Command::PutPool(pool, config),
            Command::RemovePool(pool) => Command::RemovePool(pool),
            Command::PutLimit(put) => Command::PutLimit(put),
            Command::ClearLimit(key, tenant) => Command::ClearLimit(key, tenant),
            Command::PutCron(spec) => Command::PutCron(spec),
            Command::RemoveCron(name) => Command::RemoveCron(name),
            Command::EnableCron(name, enabled) => Command::EnableCron(name, enabled),
            Command::TriggerCron { name, bytes } => Command::TriggerCron { name, bytes },
            Command::Maintain { enabled, reason, expected_ms } => {
                Command::Maintain { enabled, reason, expected_ms }
            }
            Command::Audit(notes) => Command::Audit(notes),
            Command::TrimAudit(oldest) => Command::TrimAudit(oldest),
            Command::CreateKey(key) => Command::CreateKey(key),
            Command::RotateKey(rotate) => Command::RotateKey(rotate),
            Command::RevokeKey(id) => Command::RevokeKey(id),
            Command::RemoveKey(id) => Command::RemoveKey(id),
            Command::TouchKeys(uses) => Command::TouchKeys(uses),
            Command::Tick(now) => Command::Tick(now),
            Command::Resume(now) => Command::Resume(now),
        };
        Resolved { command, missing }
    }
}
