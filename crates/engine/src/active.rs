//! Jobs that are being executed, and until when.

use std::collections::{BTreeSet, HashMap};

use ahash::RandomState;
use rota_model::{ClassId, Millis, Seq, WorkerId};

pub(crate) struct Actives {
    jobs: HashMap<Seq, Active, RandomState>,
    /// By the moment at which something has to be done about them.
    by_deadline: BTreeSet<(u64, Seq)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Active {
    pub class: ClassId,
    pub attempt: u32,
    pub started: Millis,
    pub started_mono: u64,
    pub worker: Option<WorkerId>,
    pub reserved_ms: u64,
    /// Monotonic: when the reservation ends unless a heartbeat extends it.
    pub reserved_until: u64,
    /// Monotonic: when the execution has taken too long, heartbeats or not.
    pub times_out: u64,
    /// The deadline it had while it waited, for when it returns.
    pub expires: Option<Millis>,
}

impl Active {
    fn deadline(&self) -> u64 {
        self.reserved_until.min(self.times_out)
    }
}

impl Actives {
    pub fn new(hasher: RandomState) -> Self {
        Self { jobs: HashMap::with_hasher(hasher), by_deadline: BTreeSet::new() }
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    pub fn get(&self, seq: Seq) -> Option<&Active> {
        self.jobs.get(&seq)
    }

    pub fn insert(&mut self, seq: Seq, active: Active) {
        self.by_deadline.insert((active.deadline(), seq));
        self.jobs.insert(seq, active);
    }

    pub fn remove(&mut self, seq: Seq) -> Option<Active> {
        let active = self.jobs.remove(&seq)?;
        self.by_deadline.remove(&(active.deadline(), seq));
        Some(active)
    }

    pub fn extend(&mut self, seq: Seq, until: u64, reserved_ms: u64) {
        if let Some(mut active) = self.remove(seq) {
            active.reserved_until = until;
            active.reserved_ms = reserved_ms;
            self.insert(seq, active);
        }
    }

    pub fn next_deadline(&self) -> Option<u64> {
        self.by_deadline.first().map(|&(deadline, _)| deadline)
    }

    pub fn pop_due(&mut self, mono: u64) -> Option<(Seq, Active)> {
        let &(deadline, seq) = self.by_deadline.first()?;
        if deadline > mono {
            return None;
        }
        self.remove(seq).map(|active| (seq, active))
    }

    pub fn iter(&self) -> impl Iterator<Item = (Seq, &Active)> {
        self.jobs.iter().map(|(&seq, active)| (seq, active))
    }
}
