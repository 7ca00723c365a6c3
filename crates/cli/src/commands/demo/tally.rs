//! The state of every job on one of the demo's servers.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::figures::{Figures, Wait};

pub(super) const NAMES: [&str; 11] = [
    "quiet-1", "quiet-2", "quiet-3", "quiet-4", "quiet-5", "quiet-6", "quiet-7", "quiet-8",
    "quiet-9", "flood", "urgent",
];
pub(super) const QUIET: Range<usize> = 0..9;
pub(super) const FLOOD: usize = 9;
pub(super) const URGENT: usize = 10;

#[derive(Default)]
pub(super) struct Shared(Mutex<Tally>);

#[derive(Default)]
pub(super) struct Tally {
    tenants: [Tenant; NAMES.len()],
    ended: Option<Instant>,
}

#[derive(Default)]
struct Tenant {
    /// A job's number is its index here.
    jobs: Vec<Job>,
    done: u64,
}

struct Job {
    enqueued: Instant,
    begun: Option<Instant>,
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tally {
    /// Called just before the request, because a worker may start the job before the response arrives.
    pub fn enqueue(&mut self, tenant: usize, count: usize) -> Range<usize> {
        let jobs = &mut self.tenants[tenant].jobs;
        let first = jobs.len();
        let enqueued = Instant::now();
        jobs.extend((0..count).map(|_| Job { enqueued, begun: None }));
        first..first + count
    }

    pub fn begin(&mut self, tenant: usize, number: usize) {
        self.tenants[tenant].jobs[number].begun.get_or_insert_with(Instant::now);
    }

    pub fn finish(&mut self, tenant: usize) {
        self.tenants[tenant].done += 1;
    }

    /// Freezes waiting times.
    pub fn end(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
    }

    /// Figures of these tenants together, from the beginning.
    pub fn figures(&self, tenants: Range<usize>) -> Figures {
        self.count(tenants, |_| true)
    }

    /// The same, with waiting times only of jobs that started recently or have not started.
    pub fn figures_of_late(&self, tenants: Range<usize>, lately: Duration) -> Figures {
        let now = self.now();
        self.count(tenants, |begun| now.saturating_duration_since(begun) <= lately)
    }

    fn count(&self, tenants: Range<usize>, matters: impl Fn(Instant) -> bool) -> Figures {
        let now = self.now();
        let tenants = &self.tenants[tenants];
        let waited = |job: &Job| match job.begun {
            Some(begun) if !matters(begun) => None,
            Some(begun) => Some(Wait { time: begun - job.enqueued, is_over: true }),
            None => {
                Some(Wait { time: now.saturating_duration_since(job.enqueued), is_over: false })
            }
        };
        let jobs = || tenants.iter().flat_map(|tenant| &tenant.jobs);
        let waits = jobs().filter_map(waited).collect();
        let begun = jobs().filter(|job| job.begun.is_some()).count() as u64;
        let done = tenants.iter().map(|tenant| tenant.done).sum();
        Figures::new(jobs().count() as u64, begun, done, waits)
    }

    fn now(&self) -> Instant {
        self.ended.unwrap_or_else(Instant::now)
    }
}
