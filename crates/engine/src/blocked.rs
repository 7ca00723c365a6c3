//! Enqueues that wait for room in their queues.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::envelope::NewJob;

use crate::WaiterId;

#[derive(Default)]
pub(crate) struct Blocked {
    all: BTreeMap<WaiterId, Waiting>,
    by_deadline: BTreeSet<(u64, WaiterId)>,
}

pub(crate) struct Waiting {
    pub jobs: Vec<NewJob>,
    pub deadline: u64,
}

impl Blocked {
    pub fn add(&mut self, id: WaiterId, jobs: Vec<NewJob>, deadline: u64) {
        self.by_deadline.insert((deadline, id));
        self.all.insert(id, Waiting { jobs, deadline });
    }

    pub fn get(&self, id: WaiterId) -> Option<&Waiting> {
        self.all.get(&id)
    }

    pub fn remove(&mut self, id: WaiterId) -> Option<Waiting> {
        let waiting = self.all.remove(&id)?;
        self.by_deadline.remove(&(waiting.deadline, id));
        Some(waiting)
    }

    pub fn next_deadline(&self) -> Option<u64> {
        self.by_deadline.first().map(|&(deadline, _)| deadline)
    }

    /// One whose time is over.
    pub fn expired(&self, mono: u64) -> Option<WaiterId> {
        self.by_deadline.first().filter(|&&(deadline, _)| deadline <= mono).map(|&(_, id)| id)
    }
}
