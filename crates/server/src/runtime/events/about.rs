//! What an event is called and whom it concerns: the one place to put a new kind in.

use rota_engine::{EventKind, JobRef};
use rota_model::Class;

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
}

#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// The job itself; its id may have to be looked up.
    Job,
    Named(&'a str),
}

impl<'a> About<'a> {
    #[must_use]
    pub fn of(kind: &'a EventKind) -> Self {
        match kind {
            EventKind::Enqueued { job } => Self::job("job.enqueued", job),
            EventKind::Scheduled { job, .. } => Self::job("job.scheduled", job),
            EventKind::Started { job, .. } => Self::job("job.started", job),
            EventKind::Completed { job, .. } => Self::job("job.completed", job),
            EventKind::Failed { job, .. } => Self::job("job.failed", job),
            EventKind::Retrying { job, .. } => Self::job("job.retrying", job),
            EventKind::Discarded { job, .. } => Self::job("job.discarded", job),
            EventKind::Cancelled { job, .. } => Self::job("job.cancelled", job),
            EventKind::Expired { job, .. } => Self::job("job.expired", job),
            EventKind::Extended { job, .. } => Self::job("job.heartbeat", job),
            EventKind::WorkerStarted { worker } => Self::worker("worker.started", worker),
            EventKind::WorkerQuieted { worker, .. } => Self::worker("worker.quiet", worker),
            EventKind::WorkerBeat { worker, .. } => Self::worker("worker.heartbeat", worker),
            EventKind::WorkerStopped { worker, .. } => Self::worker("worker.stopped", worker),
            EventKind::QueuePaused { queue } => Self::queue("queue.paused", queue),
            EventKind::QueueResumed { queue } => Self::queue("queue.resumed", queue),
            EventKind::CronTriggered { cron, job, .. } => {
                Self { job: Some(job), ..Self::cron("cron.triggered", cron, &job.class) }
            }
            EventKind::CronSkipped { cron, class, .. } => Self::cron("cron.skipped", cron, class),
        }
    }

    fn job(name: &'static str, job: &'a JobRef) -> Self {
        Self { job: Some(job), ..Self::class(name, "engine", Subject::Job, &job.class) }
    }

    fn worker(name: &'static str, worker: &'a str) -> Self {
        Self::plain(name, "workers", Subject::Named(worker))
    }

    fn queue(name: &'static str, queue: &'a str) -> Self {
        Self { queue: Some(queue), ..Self::plain(name, "api", Subject::Named(queue)) }
    }

    fn cron(name: &'static str, cron: &'a str, class: &'a Class) -> Self {
        Self::class(name, "cron", Subject::Named(cron), class)
    }

    fn class(
        name: &'static str,
        component: &'static str,
        subject: Subject<'a>,
        class: &'a Class,
    ) -> Self {
        Self {
            job_type: Some(&class.kind),
            queue: Some(&class.queue),
            tenant: Some(&class.tenant),
            ..Self::plain(name, component, subject)
        }
    }

    fn plain(name: &'static str, component: &'static str, subject: Subject<'a>) -> Self {
        Self { name, component, subject, job: None, job_type: None, queue: None, tenant: None }
    }
}

/// Whether a job has ended with this event.
#[must_use]
pub fn ends_job(kind: &EventKind) -> bool {
    match kind {
        EventKind::Completed { .. }
        | EventKind::Discarded { .. }
        | EventKind::Cancelled { .. }
        | EventKind::Expired { .. } => true,
        EventKind::Enqueued { .. }
        | EventKind::Scheduled { .. }
        | EventKind::Started { .. }
        | EventKind::Failed { .. }
        | EventKind::Retrying { .. }
        | EventKind::Extended { .. }
        | EventKind::WorkerStarted { .. }
        | EventKind::WorkerQuieted { .. }
        | EventKind::WorkerBeat { .. }
        | EventKind::WorkerStopped { .. }
        | EventKind::QueuePaused { .. }
        | EventKind::QueueResumed { .. }
        | EventKind::CronTriggered { .. }
        | EventKind::CronSkipped { .. } => false,
    }
}
