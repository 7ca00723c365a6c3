//! The table of active jobs, by deadline and by worker.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ahash::RandomState;
use rota_model::{ClassId, Millis, PoolName, Seq, WorkerId};

use crate::scheduler::limits::LimitIx;
use crate::scheduler::{AccountIx, Size};

pub(crate) struct Actives {
    /// Each with its index in its worker's list in `by_worker`.
    jobs: HashMap<Seq, (Active, usize), RandomState>,
    /// When the reservation or the execution timeout ends, in monotonic ms.
    by_deadline: BTreeSet<(u64, Seq)>,
    /// Jobs by worker. Kept here because workers may be removed and come back meanwhile.
    by_worker: BTreeMap<WorkerId, Vec<Seq>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Active {
    pub class: ClassId,
    pub attempt: u32,
    pub pauses: u32,
    pub size: Size,
    pub started: Millis,
    /// Monotonic ms; negative if it started before this process did.
    pub started_mono: i64,
    pub worker: Option<WorkerId>,
    pub reserved_ms: u64,
    /// Monotonic ms: when the reservation ends, unless a heartbeat extends it.
    pub reserved_until: u64,
    /// Monotonic ms: when the execution times out, heartbeats or not.
    pub times_out: u64,
    /// The deadline that applies again if it returns to waiting.
    pub expires: Option<Millis>,
    pub pool: Option<PoolName>,
    /// The cost charged to its tenant at the start.
    pub charged: u64,
    /// The account that was charged.
    pub account: Option<AccountIx>,
    /// Limits that recorded its start, and the time on their clock. Unknown after a restart.
    pub counted: [Option<LimitIx>; 3],
    pub counted_at: i64,
    /// Its worker is to cancel it. However the execution ends, unless by an ack, the job is cancelled.
    pub cancel_requested: bool,
}

impl Active {
    /// Milliseconds since the execution started.
    pub fn ran_ms(&self, mono: u64) -> u64 {
        i64::try_from(mono).unwrap_or(i64::MAX).saturating_sub(self.started_mono).max(0) as u64
    }

    fn deadline(&self) -> u64 {
        self.reserved_until.min(self.times_out)
    }
}

impl Actives {
    pub fn new(hasher: RandomState) -> Self {
        Self {
            jobs: HashMap::with_hasher(hasher),
            by_deadline: BTreeSet::new(),
            by_worker: BTreeMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    pub fn get(&self, seq: Seq) -> Option<&Active> {
        self.jobs.get(&seq).map(|(active, _)| active)
    }

    pub fn insert(&mut self, seq: Seq, active: Active) {
        self.by_deadline.insert((active.deadline(), seq));
        let mut index = 0;
        if let Some(worker) = &active.worker {
            match self.by_worker.get_mut(worker) {
                Some(held) => {
                    index = held.len();
                    held.push(seq);
                }
                None => {
                    self.by_worker.insert(worker.clone(), vec![seq]);
                }
            }
        }
        self.jobs.insert(seq, (active, index));
    }

    pub fn remove(&mut self, seq: Seq) -> Option<Active> {
        let (active, index) = self.jobs.remove(&seq)?;
        self.by_deadline.remove(&(active.deadline(), seq));
        if let Some(worker) = &active.worker
            && let Some(held) = self.by_worker.get_mut(worker)
        {
            held.swap_remove(index);
            if let Some(moved) = held.get(index) {
                self.jobs.get_mut(moved).expect("a job that is held is active").1 = index;
            } else if held.is_empty() {
                self.by_worker.remove(worker);
            }
        }
        Some(active)
    }

    /// The jobs that a worker holds, by sequence number.
    pub fn held_by(&self, worker: &WorkerId) -> impl Iterator<Item = Seq> + use<> {
        let mut held = self.by_worker.get(worker).cloned().unwrap_or_default();
        held.sort_unstable();
        held.into_iter()
    }

    pub fn count_held_by(&self, worker: &WorkerId) -> usize {
        self.by_worker.get(worker).map_or(0, Vec::len)
    }

    pub fn extend(&mut self, seq: Seq, until: u64, reserved_ms: u64) {
        let Some((active, _)) = self.jobs.get_mut(&seq) else { return };
        self.by_deadline.remove(&(active.deadline(), seq));
        active.reserved_until = until;
        active.reserved_ms = reserved_ms;
        self.by_deadline.insert((active.deadline(), seq));
    }

    /// Jobs whose reservation or execution timeout ends before this.
    pub fn due_before(&self, mono: u64) -> Vec<Seq> {
        self.by_deadline.range(..(mono, Seq(0))).map(|&(_, seq)| seq).collect()
    }

    /// Gives a job more time.
    pub fn postpone(&mut self, seq: Seq, reserved_until: u64, times_out: u64) {
        let Some((active, _)) = self.jobs.get_mut(&seq) else { return };
        self.by_deadline.remove(&(active.deadline(), seq));
        (active.reserved_until, active.times_out) = (reserved_until, times_out);
        self.by_deadline.insert((active.deadline(), seq));
    }

    /// Records that the job's worker is to cancel it. False if that is known, or the job is not active.
    pub fn request_cancel(&mut self, seq: Seq) -> bool {
        let active = self.jobs.get_mut(&seq).map(|(active, _)| active);
        active.is_some_and(|active| !std::mem::replace(&mut active.cancel_requested, true))
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
        self.jobs.iter().map(|(&seq, (active, _))| (seq, active))
    }
}
