//! Lanes: the waiting jobs of one class, in the order of their sequence numbers.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{ClassId, Live, Millis, Seq};

use super::fifo::Fifo;
use super::limits::GateIx;
use super::size::Size;
use super::turn::{LaneKey, TurnIx};

/// The lanes that have jobs, indexed by class.
#[derive(Default)]
pub(crate) struct Lanes(Vec<Option<Box<Lane>>>);

/// New jobs are appended to a FIFO. Jobs that return (retried, due, requeued) go into a sorted map
/// beside it, so that a reload after a crash restores the order that was in memory.
#[derive(Default)]
pub(crate) struct Lane {
    fresh: Fifo,
    returned: BTreeMap<Seq, WaitingJob>,
    /// Jobs in `fresh` that were cancelled or removed. The head of the FIFO is never one of them.
    dead: BTreeSet<Seq>,
    pub position: LanePosition,
}

/// Where a lane that has jobs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LanePosition {
    #[default]
    Nowhere,
    /// In its turn, under this key. With a gate, it is in the turn's group at that gate; without one,
    /// it is free.
    Turn(TurnIx, LaneKey, Option<GateIx>),
    /// Its jobs are being dropped or rescheduled, in slices.
    Sweep,
}

/// A job that waits in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitingJob {
    /// Attempts made so far.
    pub attempt: u32,
    /// How often an attempt ended because of a limit outside Rota.
    pub pauses: u32,
    pub size: Size,
    /// The job has waited in the lane since it was accepted.
    pub fresh: bool,
    /// For other jobs: since when they have waited, if known.
    pub since: Option<Millis>,
}

impl WaitingJob {
    pub fn fresh(size: Size) -> Self {
        Self { attempt: 0, pauses: 0, size, fresh: true, since: None }
    }

    pub fn of(live: &Live) -> Self {
        let size = Size::of(u64::from(live.bytes));
        let since = Some(live.enqueued);
        Self { attempt: live.attempt, pauses: live.pauses, size, fresh: false, since }
    }
}

impl Lanes {
    pub fn get(&self, class: ClassId) -> Option<&Lane> {
        self.0.get(class.0 as usize)?.as_deref()
    }

    pub fn get_mut(&mut self, class: ClassId) -> Option<&mut Lane> {
        self.0.get_mut(class.0 as usize)?.as_deref_mut()
    }

    pub fn get_or_make(&mut self, class: ClassId) -> &mut Lane {
        let index = class.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index].get_or_insert_default()
    }

    /// The classes that have a lane.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, lane)| lane.is_some()).map(|(i, _)| ClassId(i as u32))
    }

    pub fn remove_if_empty(&mut self, class: ClassId) {
        if self.get(class).is_some_and(|lane| lane.len() == 0) {
            self.0[class.0 as usize] = None;
        }
    }
}

impl Lane {
    pub fn len(&self) -> usize {
        self.fresh.len() - self.dead.len() + self.returned.len()
    }

    pub fn head(&self) -> Option<Seq> {
        match (self.fresh.first(), self.returned.first_key_value()) {
            (Some(a), Some((&b, _))) => Some(a.min(b)),
            (a, b) => a.or(b.map(|(&b, _)| b)),
        }
    }

    /// Appends a fresh job, or inserts a returned one by its number.
    pub fn add(&mut self, seq: Seq, job: WaitingJob) {
        if job.fresh && self.fresh.last().is_none_or(|last| last < seq) {
            self.fresh.push(seq, job.size);
        } else {
            self.returned.insert(seq, WaitingJob { fresh: false, ..job });
        }
    }

    /// Takes the oldest job.
    pub fn pop(&mut self) -> Option<(Seq, WaitingJob)> {
        let seq = self.head()?;
        if let Some(job) = self.returned.remove(&seq) {
            return Some((seq, job));
        }
        let (_, size) = self.fresh.pop()?;
        self.drop_dead_head();
        Some((seq, WaitingJob::fresh(size)))
    }

    /// Number of jobs before this one.
    pub fn rank(&self, seq: Seq) -> usize {
        let dead = self.dead.range(..seq).count();
        self.fresh.rank(seq) - dead + self.returned.range(..seq).count()
    }

    /// The size of a waiting job.
    pub fn size_of(&self, seq: Seq) -> Option<Size> {
        self.returned.get(&seq).map(|job| job.size).or_else(|| self.fresh.find(seq))
    }

    /// Removes a job from anywhere in the lane; `None` if it is not there.
    pub fn remove(&mut self, seq: Seq) -> Option<Size> {
        if let Some(job) = self.returned.remove(&seq) {
            return Some(job.size);
        }
        let size = self.fresh.find(seq)?;
        if !self.dead.insert(seq) {
            return None;
        }
        self.drop_dead_head();
        if self.dead.len() > 64 && self.dead.len() * 2 > self.fresh.len() {
            self.compact();
        }
        Some(size)
    }

    /// Up to `limit` jobs after `from`, ascending, or before it, descending, if `falling`.
    pub fn walk(&self, from: Option<Seq>, falling: bool, limit: usize) -> Vec<Seq> {
        let alive = |seq: &Seq| !self.dead.contains(seq);
        let mut seqs: Vec<Seq> = if falling {
            let from = from.unwrap_or(Seq(u64::MAX));
            let fresh = self.fresh.before(from).filter(alive).take(limit);
            fresh.chain(self.returned.range(..from).rev().map(|(&s, _)| s).take(limit)).collect()
        } else {
            let from = from.unwrap_or(Seq(0));
            let fresh = self.fresh.after(from).filter(alive).take(limit);
            let behind = (std::ops::Bound::Excluded(from), std::ops::Bound::Unbounded);
            fresh.chain(self.returned.range(behind).map(|(&s, _)| s).take(limit)).collect()
        };
        seqs.sort_unstable();
        if falling {
            seqs.reverse();
        }
        seqs.truncate(limit);
        seqs
    }

    fn drop_dead_head(&mut self) {
        while self.fresh.first().is_some_and(|head| self.dead.remove(&head)) {
            self.fresh.pop();
        }
    }

    fn compact(&mut self) {
        let dead = std::mem::take(&mut self.dead);
        self.fresh = self.fresh.iter().filter(|(seq, _)| !dead.contains(seq)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(n: u64) -> (Seq, WaitingJob) {
        (Seq(n), WaitingJob::fresh(Size::of(n)))
    }

    fn returned(n: u64, attempt: u32) -> (Seq, WaitingJob) {
        (Seq(n), WaitingJob { attempt, pauses: 0, size: Size::of(n), fresh: false, since: None })
    }

    fn lane(jobs: impl IntoIterator<Item = (Seq, WaitingJob)>) -> Lane {
        let mut lane = Lane::default();
        jobs.into_iter().for_each(|(seq, job)| lane.add(seq, job));
        lane
    }

    fn drain(lane: &mut Lane) -> Vec<(u64, u32, u64)> {
        let next = || lane.pop().map(|(seq, job)| (seq.0, job.attempt, job.size.bytes()));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn returned_jobs_take_their_old_place() {
        let mut lane = lane([fresh(2), fresh(4), fresh(6), returned(3, 2), returned(1, 0)]);
        assert_eq!((lane.len(), lane.head()), (5, Some(Seq(1))));
        assert_eq!((lane.rank(Seq(1)), lane.rank(Seq(4)), lane.rank(Seq(6))), (0, 3, 4));
        let expected = [(1, 0, 1), (2, 0, 2), (3, 2, 3), (4, 0, 4), (6, 0, 6)];
        assert_eq!(drain(&mut lane), expected);
    }

    #[test]
    fn removed_jobs_never_show() {
        let mut lane = lane((0..1_000).map(fresh).chain([returned(2_000, 1)]));
        for n in (0..1_000).filter(|n| n % 3 != 0) {
            assert_eq!(lane.remove(Seq(n)), Some(Size::of(n)));
            assert!(lane.remove(Seq(n)).is_none(), "only once");
        }
        assert!(lane.remove(Seq(2_000)).is_some());
        assert!(lane.remove(Seq(5_000)).is_none());
        let left: Vec<_> = (0..1_000).filter(|n| n % 3 == 0).map(|n| (n, 0, n)).collect();
        assert_eq!((lane.len(), lane.rank(Seq(999))), (left.len(), left.len() - 1));
        assert_eq!(drain(&mut lane), left);
        assert_eq!(lane.len(), 0);
    }

    #[test]
    fn removing_the_head_uncovers_a_living_one() {
        let mut lane = lane((0..4).map(fresh));
        assert!(lane.remove(Seq(1)).is_some() && lane.remove(Seq(0)).is_some());
        assert_eq!(lane.head(), Some(Seq(2)));
    }
}
