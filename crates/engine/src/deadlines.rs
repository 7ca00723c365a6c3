//! Waiting jobs whose whole row is kept in memory: jobs with a deadline, and runs of schedules,
//! which later runs may cancel or wait for.

use std::collections::{BTreeSet, HashMap};

use ahash::RandomState;
use rota_model::{Live, Millis, Seq};

/// Holds such jobs from when they wait until they start or end.
pub(crate) struct Deadlines {
    by_deadline: BTreeSet<(Millis, Seq)>,
    jobs: HashMap<Seq, Live, RandomState>,
}

impl Deadlines {
    pub fn new(hasher: RandomState) -> Self {
        Self { by_deadline: BTreeSet::new(), jobs: HashMap::with_hasher(hasher) }
    }

    pub fn add(&mut self, live: Live) {
        if let Some(deadline) = live.expires {
            self.by_deadline.insert((deadline, live.seq));
        }
        self.jobs.insert(live.seq, live);
    }

    pub fn get(&self, seq: Seq) -> Option<&Live> {
        if self.jobs.is_empty() { None } else { self.jobs.get(&seq) }
    }

    pub fn get_mut(&mut self, seq: Seq) -> Option<&mut Live> {
        if self.jobs.is_empty() { None } else { self.jobs.get_mut(&seq) }
    }

    pub fn remove(&mut self, seq: Seq) -> Option<Live> {
        if self.jobs.is_empty() {
            return None;
        }
        let live = self.jobs.remove(&seq)?;
        if let Some(deadline) = live.expires {
            self.by_deadline.remove(&(deadline, seq));
        }
        Some(live)
    }

    pub fn has_passed(&self, seq: Seq, now: Millis) -> bool {
        self.get(seq).and_then(|live| live.expires).is_some_and(|at| at <= now)
    }

    pub fn next_deadline(&self) -> Option<Millis> {
        self.by_deadline.first().map(|&(deadline, _)| deadline)
    }

    /// A job whose deadline has passed. It stays here until it is removed.
    pub fn overdue(&self, now: Millis) -> Option<Live> {
        let &(deadline, seq) = self.by_deadline.first()?;
        (deadline <= now).then(|| self.jobs.get(&seq).cloned()).flatten()
    }
}
