//! Checks that enqueued jobs fit their tenant's quotas and their queue's bounds.

use std::collections::BTreeSet;

use rota_engine::{Backpressure, Command, Refusal, Reply};
use rota_model::envelope::NewJob;
use rota_model::{Ending, QueueName, Quota, Seq, State, TenantId};
use rota_store::{Finish, Mutation};

use super::step_context::StepContext;
use super::stored_bytes::written_by;
use super::stored_time::Moment;
use super::violation::{Check, Rule, ensure};
use super::world::World;

/// What waits in one place.
#[derive(Default, Clone, Copy)]
pub(super) struct Load {
    pub depth: u64,
    pub scheduled: u64,
    pub bytes: u64,
}

impl World {
    pub(super) fn load(&self, of: impl Fn(&QueueName, &TenantId) -> bool) -> Load {
        let mut load = Load::default();
        for job in self.jobs.values().filter(|job| of(&job.class.queue, &job.class.tenant)) {
            let Some(live) = job.live().filter(|live| live.state != State::Active) else {
                continue;
            };
            load.depth += 1;
            load.scheduled += u64::from(live.state == State::Scheduled);
            load.bytes += u64::from(live.bytes);
        }
        load
    }

    /// A job came in, from whomever.
    pub(super) fn arrived(&mut self, tenant: &TenantId) {
        let (at, wall) = (self.at as i64, self.wall);
        let tenant = self.tenants.entry(tenant.clone()).or_default();
        let mut arrival = Moment::new(at, wall);
        if tenant.config.max_enqueue_rate.is_none() {
            arrival.need_not_count();
        }
        tenant.arrivals.push(arrival);
    }

    /// After a step: what it let in was allowed, and what it refused was not.
    pub(super) fn check_admission(&self, context: &StepContext<'_>) -> Check {
        if let (Command::Enqueue(enqueue), Reply::Refused(refusal)) =
            (&context.step.command, &context.step.reply)
        {
            let inserted = context.step.mutations.iter().any(|m| matches!(m, Mutation::Insert(..)));
            let dropped = context.step.mutations.iter().any(|m| matches!(m, Mutation::Finish(_)));
            ensure(!inserted, Rule::Quota, || "a part of what was refused came in".into())?;
            ensure(!dropped, Rule::Quota, || "jobs made room for what was refused".into())?;
            return self.check_refusal(refusal, &enqueue.jobs);
        }
        if let (Command::Enqueue(enqueue), Reply::Enqueued(_)) =
            (&context.step.command, &context.step.reply)
        {
            let proven = enqueue.jobs.iter().find(|job| job.proven);
            ensure(proven.is_none_or(|job| self.key_is_allowed(&job.class)), Rule::Quota, || {
                format!("a key that is not its own came in: {proven:?}")
            })?;
        }
        let tenants: BTreeSet<&TenantId> =
            context.brought.iter().map(|job| &job.class.tenant).collect();
        tenants.into_iter().try_for_each(|tenant| self.check_quota(tenant, context))?;
        let queues: BTreeSet<&QueueName> =
            context.brought.iter().map(|job| &job.class.queue).collect();
        queues.into_iter().try_for_each(|queue| self.check_bound(queue, context))
    }

    fn check_quota(&self, id: &TenantId, context: &StepContext<'_>) -> Check {
        let config = self.tenant(id);
        if config.quota == Some(Quota::Soft) || context.came_in(|_, tenant| tenant == id) == 0 {
            return Ok(());
        }
        let scheduled = context.came_in(|job, tenant| tenant == id && job == State::Scheduled) > 0;
        // What left or was started in the same step did so after it came in.
        let since = context.went_out();
        let load = self.load(|_, tenant| tenant == id);
        let depth = config.max_queue_depth.is_none_or(|most| load.depth <= most + since);
        ensure(depth, Rule::Quota, || format!("{id} has {} waiting: {config:?}", load.depth))?;
        let most = config.max_scheduled.filter(|_| scheduled);
        ensure(most.is_none_or(|most| load.scheduled <= most + since), Rule::Quota, || {
            format!("{id} has {} scheduled: {config:?}", load.scheduled)
        })?;
        // What the step wrote besides the jobs is never refused.
        let besides = context.step.mutations.iter().filter(|m| !matches!(m, Mutation::Insert(..)));
        let besides: u64 = besides.map(written_by).sum();
        let stored = self.stored.of(id);
        ensure(config.max_bytes.is_none_or(|most| stored <= most + besides), Rule::Quota, || {
            format!("{id} has {stored} bytes stored: {config:?}")
        })?;
        let Some(rate) = config.max_enqueue_rate else { return Ok(()) };
        let arrivals = self.tenants.get(id).map_or(&[][..], |tenant| &tenant.arrivals);
        let from = self.at as i64 - rate.period_ms as i64;
        let lately = arrivals.iter().filter(|arrival| arrival.earliest > from).count() as u64;
        ensure(lately <= u64::from(rate.limit), Rule::Quota, || {
            format!("{lately} jobs of {id} came in within {rate:?}")
        })
    }

    fn check_bound(&self, name: &QueueName, context: &StepContext<'_>) -> Check {
        let Some(bounds) = self.queues.get(name).and_then(|queue| queue.bounds) else {
            return Ok(());
        };
        let load = self.load(|queue, _| queue == name);
        let over = |is: u64, most: u64| most > 0 && is > most;
        let full = over(load.depth, bounds.max_depth) || over(load.bytes, bounds.max_bytes);
        let returned = context
            .moves
            .iter()
            .any(|(seq, state)| *state != State::Active && !context.is_new(*seq));
        ensure(!full || returned, Rule::Quota, || {
            format!("{name} has {} jobs of {} bytes: {bounds:?}", load.depth, load.bytes)
        })?;
        let ours = context.brought.iter().filter(|job| job.class.queue == *name);
        let parts: BTreeSet<&TenantId> = ours.map(|job| &job.class.tenant).collect();
        for id in parts {
            let load = self.load(|queue, tenant| queue == name && tenant == id);
            let full = over(load.depth, bounds.tenant_max_depth)
                || over(load.bytes, bounds.tenant_max_bytes);
            ensure(!full || returned, Rule::Quota, || {
                format!("{name} has {} jobs of {id}: {bounds:?}", load.depth)
            })?;
        }
        Ok(())
    }

    /// A refusal says what is.
    fn check_refusal(&self, refusal: &Refusal, jobs: &[NewJob]) -> Check {
        let right = match refusal {
            Refusal::TenantLimit { tenant, limit, current, maximum, retry_ms, job_too_large } => {
                let config = self.tenant(tenant);
                let hard = config.quota != Some(Quota::Soft);
                let brought = jobs.iter().filter(|job| job.class.tenant == *tenant);
                let load = self.load(|_, of| of == tenant);
                let later =
                    |job: &&NewJob| !job.pending && job.start_at.is_some_and(|at| at > self.wall);
                hard && match *limit {
                    "max_queue_depth" => {
                        *current == load.depth
                            && config.max_queue_depth == Some(*maximum)
                            && current + brought.count() as u64 > *maximum
                    }
                    "max_scheduled" => {
                        *current == load.scheduled
                            && config.max_scheduled == Some(*maximum)
                            && current + brought.filter(later).count() as u64 > *maximum
                    }
                    "max_bytes" => {
                        let sizes = brought.map(|job| job.body.len() as u64);
                        let (more, largest) =
                            sizes.fold((0, 0), |(sum, max), size| (sum + size, size.max(max)));
                        *current == self.stored.of(tenant)
                            && config.max_bytes == Some(*maximum)
                            && current + more > *maximum
                            && retry_ms.is_some() == (more <= *maximum)
                            && *job_too_large == (largest > *maximum)
                    }
                    _ => config.max_enqueue_rate.is_some_and(|rate| {
                        let arrivals = self.tenants.get(tenant).map_or(&[][..], |t| &t.arrivals);
                        let from = self.at as i64 - rate.period_ms as i64;
                        let lately = arrivals.iter().filter(|one| one.latest > from).count();
                        lately + brought.count() > rate.limit as usize
                    }),
                }
            }
            Refusal::QueueFull { queue, tenant, depth, bound, in_bytes, strategy, retry_ms } => {
                let load = self.load(|name, of| {
                    name == queue && tenant.as_ref().is_none_or(|tenant| tenant == of)
                });
                let mine = jobs.iter().filter(|job| {
                    let class = &job.class;
                    class.queue == *queue && tenant.as_ref().is_none_or(|t| *t == class.tenant)
                });
                let (is, more) = match in_bytes {
                    true => (load.bytes, mine.map(|job| job.body.len() as u64).sum()),
                    false => (load.depth, mine.count() as u64),
                };
                let drops = *strategy == Backpressure::DropOldest && retry_ms.is_some();
                let bounds = self.queues.get(queue).and_then(|queue| queue.bounds);
                let by_jobs = bounds.is_some_and(|b| b.max_bytes + b.tenant_max_bytes == 0);
                let enough =
                    drops && by_jobs && self.ready_of(queue, tenant.as_ref()) + bound >= is + more;
                is == *depth && is + more > *bound && !enough
            }
            Refusal::UndeclaredKey { key } => jobs.iter().any(|job| {
                let limit = job.class.policy.limit.as_ref();
                job.proven
                    && limit.is_some_and(|limit| limit.key == *key)
                    && !self.key_is_allowed(&job.class)
            }),
            _ => true,
        };
        ensure(right, Rule::Quota, || format!("refused without a reason: {refusal:?}"))
    }

    /// Jobs that could make room: those that wait to be fetched.
    pub(super) fn ready_of(&self, name: &QueueName, tenant: Option<&TenantId>) -> u64 {
        let ready = self.queues.get(name).into_iter().flat_map(|queue| queue.ready.values());
        let ours = |seq: &&Seq| {
            let job = self.jobs.get(*seq);
            job.is_some_and(|job| tenant.is_none_or(|tenant| job.class.tenant == *tenant))
        };
        ready.flatten().filter(ours).count() as u64
    }

    /// A job was dropped so that newer ones fit: it was the oldest of its queue, or of its tenant's
    /// part where that is bounded.
    pub(super) fn is_oldest_of_full(&self, finish: &Finish, context: &StepContext<'_>) -> bool {
        let Some(job) = self.jobs.get(&finish.seq) else { return false };
        let Some(queue) = self.queues.get(&job.class.queue) else { return false };
        let bounds = queue.bounds.filter(|b| b.strategy == Backpressure::DropOldest);
        let Some(bounds) = bounds else { return false };
        let owed = !context.was_frozen && self.owes_run_of(&job.class.queue)
            || self.triggers_run_of(&job.class.queue, context);
        let newcomer = |of: &TenantId| {
            let mut ours = context.brought.iter().filter(|new| new.class.queue == job.class.queue);
            owed || ours.any(|new| new.class.tenant == *of)
        };
        // What goes is chosen before the first goes; that may set a run of a schedule free.
        let kept = |seq: &&Seq| **seq == finish.seq || !context.freed.contains(seq);
        let heads = queue.ready.values().filter_map(|seqs| seqs.iter().find(kept));
        let own =
            |seq: &&Seq| self.jobs.get(*seq).map(|j| &j.class.tenant) == Some(&job.class.tenant);
        let is_oldest = heads.clone().min() == Some(&finish.seq)
            && (owed || context.brought.iter().any(|new| new.class.queue == job.class.queue));
        let part_bounded = bounds.tenant_max_depth > 0 || bounds.tenant_max_bytes > 0;
        let is_own_oldest = part_bounded
            && newcomer(&job.class.tenant)
            && heads.filter(own).min() == Some(&finish.seq);
        finish.ending == Ending::Discarded && (is_oldest || is_own_oldest)
    }
}

impl StepContext<'_> {
    /// How many of the jobs that this step brought are of this kind.
    fn came_in(&self, of: impl Fn(State, &TenantId) -> bool) -> usize {
        let mut all = self.step.mutations.iter();
        let states = all.by_ref().filter_map(|mutation| match mutation {
            Mutation::Insert(row, live) => Some((row, live.state)),
            _ => None,
        });
        states
            .filter(|(row, state)| {
                let brought = self.brought.iter();
                let mut job = brought.filter(|job| super::apply::is_named(job, row.seq, row.id));
                job.any(|job| of(*state, &job.class.tenant))
            })
            .count()
    }

    /// Jobs that came back in the same step, which nobody refuses.
    fn went_out(&self) -> u64 {
        let back = |(seq, state): &&(Seq, State)| {
            !matches!(state, State::Active) && !state.is_terminal() && !self.is_new(*seq)
        };
        self.moves.iter().filter(back).count() as u64
    }

    pub(super) fn is_new(&self, seq: Seq) -> bool {
        self.step
            .mutations
            .iter()
            .any(|mutation| matches!(mutation, Mutation::Insert(row, _) if row.seq == seq))
    }
}
