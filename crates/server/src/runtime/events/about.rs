//! The type of each event and what it is about; a new kind of event is added here.

use rota_engine::{EventKind, JobRef};
use rota_model::{Class, CronName, LimitKey, PoolName, QueueName, State, WorkerId};

/// Everything but an event's data, read off its kind.
pub struct About<'a> {
    /// Its name in the catalogue.
    pub name: &'static str,
    /// The part of the server that it comes from.
    pub component: &'static str,
    pub subject: Subject<'a>,
    pub job: Option<&'a JobRef>,
    pub job_type: Option<&'a str>,
    pub queue: Option<&'a str>,
    pub tenant: Option<&'a str>,
    /// How the state of the job changed.
    pub change: Option<Change>,
}

/// A job's change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// `None` for a new job.
    pub from: Option<State>,
    pub to: State,
}

#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// The job itself; its id may have to be looked up.
    Job,
    Named(&'a str),
    /// A rate limit.
    Key(&'a LimitKey),
}

impl<'a> About<'a> {
    #[must_use]
    pub fn of(kind: &'a EventKind) -> Self {
        match kind {
            EventKind::Enqueued { job, from } => {
                Self::job("job.enqueued", job).changed(*from, State::Available)
            }
            EventKind::Scheduled { job, from, .. } => {
                Self::job("job.scheduled", job).changed(*from, State::Scheduled)
            }
            EventKind::Started { job, .. } => {
                Self::job("job.started", job).changed(State::Available, State::Active)
            }
            EventKind::Completed { job, .. } => {
                Self::job("job.completed", job).changed(State::Active, State::Completed)
            }
            EventKind::Failed { job, .. } => Self::job("job.failed", job),
            EventKind::Retrying { job, .. } => {
                Self::job("job.retrying", job).changed(State::Active, State::Retryable)
            }
            EventKind::Discarded { job, from, .. } => {
                Self::job("job.discarded", job).changed(*from, State::Discarded)
            }
            EventKind::DeadLetterAdded { job, .. } => Self::job("dead_letter.added", job),
            EventKind::DeadLetterRetried { job } => Self::job("dead_letter.retried", job),
            EventKind::DeadLetterReplayed { job, .. } => Self::job("dead_letter.replayed", job),
            EventKind::DeadLetterDeleted { job } => Self::job("dead_letter.deleted", job),
            EventKind::DeadLetterPruned { queue, tenant, .. } => {
                Self { tenant: Some(tenant), ..Self::queue("dead_letter.pruned", queue) }
            }
            EventKind::Cancelled { job, before, .. } => {
                Self::job("job.cancelled", job).changed(*before, State::Cancelled)
            }
            EventKind::Deleted { job, .. } => Self::job("job.deleted", job),
            EventKind::Expired { job, from, .. } => {
                Self::job("job.expired", job).changed(*from, State::Discarded)
            }
            EventKind::PriorityChanged { job, .. } => Self::job("priority.changed", job),
            EventKind::Extended { job, .. } => Self::job("job.heartbeat", job),
            EventKind::WorkerStarted { worker, .. } => Self::worker("worker.started", worker),
            EventKind::WorkerQuieted { worker, .. } => Self::worker("worker.quiet", worker),
            EventKind::WorkerBeat { worker, .. } => Self::worker("worker.heartbeat", worker),
            EventKind::WorkerStopped { worker, .. } => Self::worker("worker.stopped", worker),
            EventKind::QueuePaused { queue, tenant } => {
                let about = Self::queue("queue.paused", queue);
                Self { tenant: tenant.as_deref().or(about.tenant), ..about }
            }
            EventKind::QueueResumed { queue, tenant } => {
                let about = Self::queue("queue.resumed", queue);
                Self { tenant: tenant.as_deref().or(about.tenant), ..about }
            }
            EventKind::TenantCreated { tenant } => Self::tenant("tenant.created", tenant),
            EventKind::TenantLimitExceeded { tenant, .. } => {
                Self::tenant("tenant.limit_exceeded", tenant)
            }
            EventKind::TenantThrottled { tenant, .. } => Self::tenant("tenant.throttled", tenant),
            EventKind::TenantNoisy { tenant, .. } => Self::tenant("tenant.noisy", tenant),
            EventKind::TenantThrottleReleased { tenant, .. } => {
                Self::tenant("tenant.throttle_released", tenant)
            }
            EventKind::LimitExceeded { key, tenant, class, .. } => {
                let owner = tenant.as_deref().unwrap_or(&class.tenant);
                let about = Self::class("rate_limit.exceeded", "limits", Subject::Key(key), class);
                Self { tenant: Some(owner), ..about }
            }
            EventKind::LimitReleased { key, job, .. } => {
                let about =
                    Self::class("rate_limit.released", "limits", Subject::Key(key), &job.class);
                Self { job: Some(job), ..about }
            }
            EventKind::LimitDropped { key, job, .. } => {
                let about =
                    Self::class("rate_limit.dropped", "limits", Subject::Key(key), &job.class);
                Self { job: Some(job), ..about }
            }
            EventKind::LimitAdjusted { key, tenant, .. } => Self {
                tenant: tenant.as_deref(),
                ..Self::plain("rate_limit.dynamic_adjusted", "limits", Subject::Key(key))
            },
            EventKind::QueueStarved { queue, .. } => Self::queue("scheduling.queue_starved", queue),
            EventKind::PoolOverloaded { pool, .. } => {
                Self::pool("scheduling.pool_overloaded", pool)
            }
            EventKind::PoolRebalanced { pool, .. } => Self::pool("scheduling.rebalanced", pool),
            EventKind::QueueNearlyFull { queue, .. } => Self::queue("backpressure.warning", queue),
            EventKind::QueueRejected { queue, class, .. } => {
                Self::class("backpressure.rejected", "engine", Subject::Named(queue.local()), class)
            }
            EventKind::QueueDropped { queue, job } => {
                let about = Self::class(
                    "backpressure.dropped",
                    "engine",
                    Subject::Named(queue.local()),
                    &job.class,
                );
                Self { job: Some(job), ..about }
            }
            EventKind::QueueCleared { queue, .. } => Self::queue("backpressure.cleared", queue),
            EventKind::CronTriggered { cron, job, .. } => {
                Self { job: Some(job), ..Self::cron("cron.triggered", cron, &job.class) }
            }
            EventKind::CronSkipped { cron, class, .. } => Self::cron("cron.skipped", cron, class),
        }
    }

    fn changed(self, from: impl Into<Option<State>>, to: State) -> Self {
        Self { change: Some(Change { from: from.into(), to }), ..self }
    }

    fn job(name: &'static str, job: &'a JobRef) -> Self {
        Self { job: Some(job), ..Self::class(name, "engine", Subject::Job, &job.class) }
    }

    fn worker(name: &'static str, worker: &'a WorkerId) -> Self {
        let about = Self::plain(name, "workers", Subject::Named(worker.local()));
        Self { tenant: worker.namespace(), ..about }
    }

    fn tenant(name: &'static str, tenant: &'a str) -> Self {
        Self { tenant: Some(tenant), ..Self::plain(name, "tenants", Subject::Named(tenant)) }
    }

    fn queue(name: &'static str, queue: &'a QueueName) -> Self {
        let about = Self::plain(name, "api", Subject::Named(queue.local()));
        Self { queue: Some(queue.local()), tenant: queue.namespace(), ..about }
    }

    fn pool(name: &'static str, pool: &'a PoolName) -> Self {
        let about = Self::plain(name, "scheduler", Subject::Named(pool.local()));
        Self { tenant: pool.owner_name(), ..about }
    }

    fn cron(name: &'static str, cron: &'a CronName, class: &'a Class) -> Self {
        Self::class(name, "cron", Subject::Named(cron.local()), class)
    }

    fn class(
        name: &'static str,
        component: &'static str,
        subject: Subject<'a>,
        class: &'a Class,
    ) -> Self {
        Self {
            job_type: Some(&class.kind),
            queue: Some(class.queue.local()),
            tenant: Some(&class.tenant),
            ..Self::plain(name, component, subject)
        }
    }

    fn plain(name: &'static str, component: &'static str, subject: Subject<'a>) -> Self {
        let (job, job_type, queue, tenant, change) = (None, None, None, None, None);
        Self { name, component, subject, job, job_type, queue, tenant, change }
    }
}

/// Whether this event is the last one of its job, unless the job is retried.
#[must_use]
pub fn ends_job(kind: &EventKind) -> bool {
    let is_end = |change: Change| change.to.is_terminal();
    matches!(kind, EventKind::Deleted { .. }) || About::of(kind).change.is_some_and(is_end)
}

/// The names of all events.
pub const NAMES: &[&str] = &[
    "job.enqueued",
    "job.scheduled",
    "job.started",
    "job.completed",
    "job.failed",
    "job.retrying",
    "job.discarded",
    "job.cancelled",
    "job.deleted",
    "job.expired",
    "job.heartbeat",
    "priority.changed",
    "dead_letter.added",
    "dead_letter.retried",
    "dead_letter.replayed",
    "dead_letter.deleted",
    "dead_letter.pruned",
    "worker.started",
    "worker.quiet",
    "worker.heartbeat",
    "worker.stopped",
    "queue.paused",
    "queue.resumed",
    "cron.triggered",
    "cron.skipped",
    "tenant.created",
    "tenant.limit_exceeded",
    "tenant.noisy",
    "tenant.throttled",
    "tenant.throttle_released",
    "rate_limit.exceeded",
    "rate_limit.released",
    "rate_limit.dropped",
    "rate_limit.dynamic_adjusted",
    "scheduling.queue_starved",
    "scheduling.pool_overloaded",
    "scheduling.rebalanced",
    "backpressure.warning",
    "backpressure.rejected",
    "backpressure.dropped",
    "backpressure.cleared",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_an_event_is_listed() {
        let source = include_str!("about.rs");
        let (code, _) = source.split_once("pub const NAMES").expect("the list");
        let texts = code.split('"').skip(1).step_by(2).filter(|text| text.contains('.'));
        let mut used: Vec<&str> = texts.collect();
        let mut listed = NAMES.to_vec();
        used.sort_unstable();
        listed.sort_unstable();
        assert_eq!(used, listed);
    }
}
