//! Jobs and schedules that became unreachable because the tenant isolation setting was changed.

use rota_model::{QueueName, State};

use crate::Engine;

/// Queues listed as examples.
const MOST_NAMED: usize = 3;

/// Unfinished jobs and schedules that nobody can reach: their queues are in tenants' namespaces
/// while queues are shared, or the other way round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationMismatch {
    pub jobs: u64,
    pub schedules: u64,
    pub queues: usize,
    /// Names of the first of these queues.
    pub examples: Vec<QueueName>,
    /// The current setting: each tenant has its own queues.
    pub queues_per_tenant: bool,
}

impl Engine {
    /// Reads the queues' counters, so the cost does not depend on the number of jobs.
    #[must_use]
    pub fn isolation_mismatch(&self) -> Option<IsolationMismatch> {
        let queues_per_tenant = self.config.queues_per_tenant;
        let fits = |name: &QueueName| name.namespace().is_some() == queues_per_tenant;
        let mut found = IsolationMismatch {
            jobs: 0,
            schedules: 0,
            queues: 0,
            examples: Vec::new(),
            queues_per_tenant,
        };
        for queue in self.queues.iter().filter(|queue| !fits(&queue.name)) {
            let living = State::ALL.into_iter().filter(|state| !state.is_terminal());
            let jobs: u64 = living.map(|state| queue.count(state)).sum();
            if jobs > 0 {
                found.jobs += jobs;
                found.queues += 1;
                found.examples.push(queue.name.clone());
            }
        }
        found.examples.sort_unstable();
        found.examples.truncate(MOST_NAMED);
        let schedules = self.crons.iter().filter(|(_, cron)| !fits(&cron.row.class.queue));
        found.schedules = schedules.count() as u64;
        (found.jobs + found.schedules > 0).then_some(found)
    }
}
