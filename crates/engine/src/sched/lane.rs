//! The waiting jobs of one class, in the order of their sequence numbers.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{ClassId, Seq};

use super::fifo::Fifo;

/// All non-empty lanes.
#[derive(Default)]
pub(crate) struct Lanes(Vec<Option<Box<Lane>>>);

/// New jobs queue up in a FIFO; jobs that come back (retried, due, requeued) enter by their number
/// in a sorted map beside it, so that what is reloaded after a crash equals what was in memory.
#[derive(Default)]
pub(crate) struct Lane {
    fresh: Fifo,
    /// With the attempts they have behind them.
    returned: BTreeMap<Seq, u32>,
    /// Jobs in `fresh` that were cancelled or removed. The head is never one of them.
    dead: BTreeSet<Seq>,
}

pub(crate) struct Popped {
    pub seq: Seq,
    /// The attempts it has behind it.
    pub attempt: u32,
    /// It has waited here since it was accepted.
    pub fresh: bool,
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

    pub fn remove_if_empty(&mut self, class: ClassId) {
        if self.get(class).is_some_and(|lane| lane.len() == 0) {
            self.0[class.0 as usize] = None;
        }
    }
}

impl Lane {
    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.fresh.len() - self.dead.len() + self.returned.len()
    }

    pub fn head(&self) -> Option<Seq> {
        match (self.fresh.first(), self.returned.first_key_value()) {
            (Some(a), Some((&b, _))) => Some(a.min(b)),
            (a, b) => a.or(b.map(|(&b, _)| b)),
        }
    }

    /// A fresh job is newer than all in the lane and goes behind them; any other is sorted in.
    pub fn add(&mut self, seq: Seq, attempt: u32, fresh: bool) {
        if fresh && self.fresh.last().is_none_or(|last| last < seq) {
            self.fresh.push(seq);
        } else {
            self.returned.insert(seq, attempt);
        }
    }

    /// Takes the oldest job.
    pub fn pop(&mut self) -> Option<Popped> {
        let seq = self.head()?;
        if let Some(attempt) = self.returned.remove(&seq) {
            return Some(Popped { seq, attempt, fresh: false });
        }
        self.fresh.pop();
        self.drop_dead_head();
        Some(Popped { seq, attempt: 0, fresh: true })
    }

    /// Takes a job out of the middle; false when it is not here.
    pub fn remove(&mut self, seq: Seq) -> bool {
        if self.returned.remove(&seq).is_some() {
            return true;
        }
        if !self.fresh.contains(seq) || !self.dead.insert(seq) {
            return false;
        }
        self.drop_dead_head();
        if self.dead.len() > 64 && self.dead.len() * 2 > self.fresh.len() {
            self.compact();
        }
        true
    }

    /// The next jobs behind this one, or before it when `falling`, at most `limit`.
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
        self.fresh = self.fresh.iter().filter(|seq| !dead.contains(seq)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(lane: &mut Lane) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| lane.pop().map(|p| (p.seq.0, p.attempt))).collect()
    }

    #[test]
    fn returned_jobs_take_their_old_place() {
        let mut lane = Lane::default();
        for n in [2, 4, 6] {
            lane.add(Seq(n), 0, true);
        }
        lane.add(Seq(3), 2, false);
        lane.add(Seq(1), 0, false);
        assert_eq!((lane.len(), lane.head()), (5, Some(Seq(1))));
        assert_eq!(drain(&mut lane), [(1, 0), (2, 0), (3, 2), (4, 0), (6, 0)]);
    }

    #[test]
    fn removed_jobs_never_show() {
        let mut lane = Lane::default();
        (0..1_000).for_each(|n| lane.add(Seq(n), 0, true));
        lane.add(Seq(2_000), 1, false);
        for n in (0..1_000).filter(|n| n % 3 != 0) {
            assert!(lane.remove(Seq(n)));
            assert!(!lane.remove(Seq(n)), "only once");
        }
        assert!(lane.remove(Seq(2_000)));
        assert!(!lane.remove(Seq(5_000)));
        let left: Vec<_> = (0..1_000).filter(|n| n % 3 == 0).map(|n| (n, 0)).collect();
        assert_eq!(lane.len(), left.len());
        assert_eq!(drain(&mut lane), left);
        assert_eq!(lane.len(), 0);
    }

    #[test]
    fn removing_the_head_uncovers_a_living_one() {
        let mut lane = Lane::default();
        (0..4).for_each(|n| lane.add(Seq(n), 0, true));
        assert!(lane.remove(Seq(1)) && lane.remove(Seq(0)));
        assert_eq!(lane.head(), Some(Seq(2)));
    }
}
