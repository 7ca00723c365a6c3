//! What queues are owed of the part of all dispatches that each of them is guaranteed.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::Starvation;

use super::notice::Notice;
use crate::queue::QueueIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartsIx(pub u64);

const ONE: i64 = 1_000_000;
/// Dispatches that a queue can be owed. More are not made up for: a queue that no fetch named for a
/// long time would otherwise shut out the others for as long.
const MOST_OWED: i64 = 1_000 * ONE;

/// The dispatches of a pool, or of fetches that share queues, and what each queue has had of them.
///
/// A queue with something to serve is due the same part of every dispatch, so one sum serves all:
/// a queue is owed what was due since it has had something to serve, less what it got. What it is
/// owed never becomes negative, so that a queue that got more than its part loses nothing later.
pub(super) struct Parts {
    rule: Starvation,
    /// How many queues the dispatches are divided among; `None` for those with something to serve.
    among: Option<usize>,
    /// What a queue was due of all dispatches, in millionths of a dispatch.
    due: i64,
    claims: BTreeMap<QueueIx, Claim>,
    /// How many queues have something to serve.
    ready: usize,
    /// Those of them that were not reported as starved, by when they were last served.
    by_since: BTreeSet<(u64, QueueIx)>,
    /// Queues that woke up since the last decision.
    woken: Vec<QueueIx>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Claim {
    /// Rotations that the queue is in.
    rotations: u32,
    /// It may have something to serve.
    ready: bool,
    /// It is owed `due` less this.
    paid: i64,
    /// What it is owed when it next has something to serve.
    in_advance: i64,
    /// When it was last served, or was first passed over.
    since: Option<u64>,
    /// `QueueStarved` was sent.
    reported: bool,
}

impl Parts {
    pub fn new(rule: Starvation, among: Option<usize>) -> Self {
        Self {
            rule,
            among,
            due: 0,
            claims: BTreeMap::new(),
            ready: 0,
            by_since: BTreeSet::new(),
            woken: Vec::new(),
        }
    }

    /// Other queues or another rule from now on. None is ready; those that stay keep what they are owed.
    pub fn configure(&mut self, rule: Starvation, among: usize, queues: &[QueueIx]) {
        (self.rule, self.among) = (rule, Some(among));
        let claim = |queue: &QueueIx| {
            let mut claim = self.claims.get(queue).copied().unwrap_or_default();
            if claim.ready {
                (claim.ready, claim.in_advance) = (false, self.owed(*queue));
            }
            (*queue, claim)
        };
        self.claims = queues.iter().map(claim).collect();
        self.ready = 0;
        self.woken.clear();
        self.by_since.clear();
    }

    /// A queue is gone for good.
    pub fn remove(&mut self, queue: QueueIx) {
        self.put_to_sleep(queue);
        self.claims.remove(&queue);
    }

    /// One more rotation has this queue. Whether no other had it.
    pub fn join(&mut self, queue: QueueIx) -> bool {
        let claim = self.claims.entry(queue).or_default();
        claim.rotations += 1;
        claim.rotations == 1
    }

    /// A rotation with this queue is gone. Whether it was the last.
    pub fn leave(&mut self, queue: QueueIx) -> bool {
        let Some(claim) = self.claims.get_mut(&queue) else { return true };
        claim.rotations = claim.rotations.saturating_sub(1);
        let last = claim.rotations == 0;
        if last {
            self.remove(queue);
        }
        last
    }

    /// Takes over other queues with what they are owed, and says which.
    pub fn absorb(&mut self, others: Parts) -> Vec<QueueIx> {
        for (&queue, claim) in &others.claims {
            let paid = self.due - others.owed(queue);
            self.claims.insert(queue, Claim { paid, ..*claim });
        }
        self.ready += others.ready;
        self.by_since.extend(others.by_since);
        self.woken.extend(others.woken);
        others.claims.into_keys().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Queues that are owed something, or were passed over for too long, go first.
    pub fn is_enforced(&self) -> bool {
        self.rule.enabled
    }

    /// A queue may have something to serve.
    pub fn wake(&mut self, queue: QueueIx) {
        let Some(claim) = self.claims.get_mut(&queue).filter(|claim| !claim.ready) else { return };
        claim.ready = true;
        claim.paid = self.due - std::mem::take(&mut claim.in_advance);
        self.ready += 1;
        match claim.since {
            None => self.woken.push(queue),
            Some(since) if !claim.reported => {
                self.by_since.insert((since, queue));
            }
            Some(_) => {}
        }
    }

    /// A queue has nothing to serve: it is owed nothing, and was not passed over.
    pub fn put_to_sleep(&mut self, queue: QueueIx) {
        let Some(claim) = self.claims.get_mut(&queue).filter(|claim| claim.ready) else { return };
        (claim.ready, claim.reported) = (false, false);
        self.ready -= 1;
        if let Some(since) = claim.since.take() {
            self.by_since.remove(&(since, queue));
        }
    }

    /// A job of this queue was handed out.
    pub fn served(&mut self, queue: QueueIx, mono: u64) {
        let ratio = self.ratio();
        let owed = (self.owed(queue) + ratio - ONE).max(0);
        self.due += ratio;
        let Some(claim) = self.claims.get_mut(&queue).filter(|claim| claim.ready) else { return };
        claim.paid = self.due - owed;
        claim.reported = false;
        if let Some(since) = claim.since.replace(mono) {
            self.by_since.remove(&(since, queue));
        }
        self.by_since.insert((mono, queue));
    }

    /// What was owed is not known after a restart: one dispatch, so that nobody who is guaranteed a
    /// part starves, however often the process is restarted.
    pub fn owe_one(&mut self, queue: QueueIx) {
        let due = self.due;
        if let Some(claim) = self.claims.get_mut(&queue) {
            match claim.ready {
                true => claim.paid = claim.paid.min(due - ONE),
                false => claim.in_advance = ONE,
            }
        }
    }

    /// Reports the queues that have just been passed over for too long.
    pub fn report_starved(&mut self, mono: u64, mut report: impl FnMut(Notice)) {
        for queue in std::mem::take(&mut self.woken) {
            let claim = self.claims.get_mut(&queue).filter(|claim| claim.ready);
            if let Some(claim) = claim.filter(|claim| claim.since.is_none()) {
                claim.since = Some(mono);
                self.by_since.insert((mono, queue));
            }
        }
        while let Some(&(since, queue)) = self.by_since.first()
            && self.is_too_long_ago(since, mono)
        {
            self.by_since.pop_first();
            if let Some(claim) = self.claims.get_mut(&queue) {
                claim.reported = true;
            }
            report(Notice::QueueStarved { queue, for_ms: mono - since });
        }
    }

    /// The part of one dispatch that each queue is guaranteed, in millionths.
    fn ratio(&self) -> i64 {
        i64::from(self.rule.ratio_among(self.among.unwrap_or(self.ready)))
    }

    /// What a queue is owed, in millionths of a dispatch.
    pub fn owed(&self, queue: QueueIx) -> i64 {
        (self.due - self.paid(queue)).clamp(0, MOST_OWED)
    }

    /// A key by which the queue that is owed most comes first. It never shrinks.
    pub fn paid(&self, queue: QueueIx) -> i64 {
        let claim = self.claims.get(&queue).filter(|claim| claim.ready);
        claim.map_or(self.due, |claim| claim.paid)
    }

    /// Whether a queue with this key would be owed more than one dispatch if another got the next.
    pub fn is_owed(&self, paid: i64) -> bool {
        let ratio = self.ratio();
        self.rule.enabled && ratio > 0 && self.due - paid + ratio >= ONE
    }

    /// Since when a queue has got nothing. It never shrinks.
    pub fn since(&self, queue: QueueIx, mono: u64) -> u64 {
        self.claims.get(&queue).and_then(|claim| claim.since).unwrap_or(mono)
    }

    /// Whether a queue that got nothing since then goes first.
    pub fn is_starved(&self, since: u64, mono: u64) -> bool {
        self.rule.enabled && self.is_too_long_ago(since, mono)
    }

    fn is_too_long_ago(&self, since: u64, mono: u64) -> bool {
        mono.saturating_sub(since) > self.rule.rotation_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: QueueIx = QueueIx(0);
    const B: QueueIx = QueueIx(1);

    fn parts(ratio: u32, queues: &[QueueIx]) -> Parts {
        let rule = Starvation { enabled: true, rotation_ms: 1_000, min_ratio: Some(ratio) };
        let mut parts = Parts::new(rule, None);
        for queue in queues {
            parts.join(*queue);
            parts.wake(*queue);
        }
        parts
    }

    #[test]
    fn a_queue_that_no_fetch_names_is_owed_a_bounded_number_of_dispatches() {
        let mut parts = parts(500_000, &[A, B]);
        (0..10_000).for_each(|n| parts.served(A, n));
        assert_eq!(parts.owed(B), MOST_OWED);
        parts.served(B, 10_000);
        assert_eq!(parts.owed(B), MOST_OWED - ONE / 2);
        parts.put_to_sleep(B);
        assert_eq!(parts.owed(B), 0);
    }

    #[test]
    fn more_queues_than_can_have_the_ratio_get_equal_parts() {
        let queues: Vec<QueueIx> = (0..10).map(QueueIx).collect();
        let mut parts = parts(500_000, &queues);
        (0..5).for_each(|n| parts.served(A, n));
        assert_eq!(parts.owed(B), ONE / 2);
    }

    #[test]
    fn queues_that_are_counted_together_from_now_on_keep_what_they_are_owed() {
        let mut first = parts(100_000, &[A]);
        (0..7).for_each(|_| first.served(QueueIx(9), 0));
        let mut second = parts(100_000, &[B]);
        (0..3).for_each(|_| second.served(QueueIx(9), 0));
        assert_eq!(first.absorb(second), [B]);
        assert_eq!((first.owed(A), first.owed(B)), (700_000, 300_000));
        first.served(QueueIx(9), 0);
        assert_eq!((first.owed(A), first.owed(B)), (800_000, 400_000));
        assert!(first.leave(A) && first.leave(B) && first.is_empty());
    }

    #[test]
    fn a_starved_queue_is_reported_once_until_it_is_served() {
        let mut parts = parts(0, &[A, B]);
        let mut reported = Vec::new();
        for mono in [0, 500, 1_200, 1_300, 2_400] {
            parts.report_starved(mono, |notice| reported.push(format!("{notice:?}")));
            parts.served(A, mono);
        }
        let starved = |queue, for_ms| format!("{:?}", Notice::QueueStarved { queue, for_ms });
        assert_eq!(reported, [starved(B, 1_200), starved(A, 1_100)]);
    }
}
