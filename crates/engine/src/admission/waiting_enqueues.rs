//! The table of waiting enqueues, indexed by deadline and by the job ids that clients chose.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_model::envelope::NewJob;
use rota_model::{JobId, TenantId};

use crate::{Asker, Cap, CapCounter, CapReached, Capped, WaiterId};

pub(crate) struct WaitingEnqueues {
    owned: CapCounter,
    all: BTreeMap<WaiterId, WaitingEnqueue>,
    by_deadline: BTreeSet<(u64, WaiterId)>,
    /// Indexed by the job ids that clients chose.
    by_id: BTreeSet<(JobId, WaiterId)>,
}

pub(crate) struct WaitingEnqueue {
    pub jobs: Arc<[NewJob]>,
    deadline: u64,
}

impl WaitingEnqueues {
    pub fn new(cap: Cap) -> Self {
        Self {
            owned: CapCounter::new(Capped::WaitingEnqueues, cap),
            all: BTreeMap::new(),
            by_deadline: BTreeSet::new(),
            by_id: BTreeSet::new(),
        }
    }

    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    pub fn add(&mut self, id: WaiterId, jobs: Vec<NewJob>, deadline: u64) {
        self.owned.add(single_tenant(&jobs));
        self.by_deadline.insert((deadline, id));
        self.by_id.extend(given_ids(&jobs).map(|job| (job, id)));
        self.all.insert(id, WaitingEnqueue { jobs: jobs.into(), deadline });
    }

    pub fn get(&self, id: WaiterId) -> Option<&WaitingEnqueue> {
        self.all.get(&id)
    }

    pub fn remove(&mut self, id: WaiterId) -> Option<WaitingEnqueue> {
        let waiting = self.all.remove(&id)?;
        self.by_deadline.remove(&(waiting.deadline, id));
        self.owned.remove(single_tenant(&waiting.jobs));
        given_ids(&waiting.jobs).for_each(|job| {
            self.by_id.remove(&(job, id));
        });
        Some(waiting)
    }

    /// A waiting enqueue that has a job with this id.
    pub fn with_job_id(&self, id: JobId) -> Option<WaiterId> {
        let waiting = self.by_id.range((id, WaiterId(0))..).next();
        waiting.filter(|(job, _)| *job == id).map(|(_, waiter)| *waiter)
    }

    pub fn next_deadline(&self) -> Option<u64> {
        self.by_deadline.first().map(|&(deadline, _)| deadline)
    }

    /// A waiting enqueue whose deadline has passed.
    pub fn expired(&self, mono: u64) -> Option<WaiterId> {
        self.by_deadline.first().filter(|&&(deadline, _)| deadline <= mono).map(|&(_, id)| id)
    }
}

/// The tenant of all these jobs; `None` if there are several, which only operators may send.
pub(crate) fn single_tenant(jobs: &[NewJob]) -> Option<&TenantId> {
    let first = &jobs.first()?.class.tenant;
    jobs.iter().all(|job| job.class.tenant == *first).then_some(first)
}

fn given_ids(jobs: &[NewJob]) -> impl Iterator<Item = JobId> {
    jobs.iter().filter(|job| job.id_given).map(|job| job.id)
}
