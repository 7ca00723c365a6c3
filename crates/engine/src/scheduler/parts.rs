//! Parts: what each queue is owed of the dispatches it is guaranteed.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::Starvation;

use super::chances::Chances;
use super::notice::Notice;
use crate::queue::QueueIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartsIx(pub u64);

const ONE: i64 = 1_000_000;
/// The most that a queue can be owed. Without a bound, a queue that no fetch has named for long would
/// shut out the others for as long when one does.
const MOST_OWED: i64 = 1_000 * ONE;
/// A queue that few fetches can serve goes first at most half a dispatch early.
const MOST_HEAD_START: i64 = ONE / 2;

/// The dispatches of a pool, or of sets that share queues, and what each queue got of them.
///
/// All queues with something to serve are due the same part of every dispatch, so one sum serves all:
/// a queue is owed what was due since it had something to serve, less what it got. The debt is never
/// negative, so a queue that got more than its part loses nothing later.
pub(super) struct Parts {
    rule: Starvation,
    /// Number of queues that the dispatches are divided among; `None` for those with something to
    /// serve.
    among: Option<usize>,
    /// What each queue was due of all dispatches so far, in millionths of a dispatch.
    due: i64,
    claims: BTreeMap<QueueIx, Claim>,
    /// Number of queues with something to serve.
    ready: usize,
    /// Ready queues that were not reported as starved, by when they were last served.
    by_since: BTreeSet<(u64, QueueIx)>,
    /// Queues that woke since the last decision.
    woken: Vec<QueueIx>,
    /// How often each queue could have been served.
    pub(super) chances: Chances,
}

/// What one queue is owed.
#[derive(Debug, Clone, Copy, Default)]
struct Claim {
    /// Number of rotations that have the queue.
    rotations: u32,
    /// The queue may have something to serve.
    ready: bool,
    /// The queue is owed `due - paid`, in millionths of a dispatch.
    paid: i64,
    /// What the queue is owed as soon as it has something to serve.
    in_advance: i64,
    /// Added to what the queue is owed when queues are compared, because few fetches can serve it.
    head_start: i64,
    /// When the queue was last served, or first passed over, in monotonic milliseconds.
    since: Option<u64>,
    /// `QueueStarved` was reported.
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
            chances: Chances::default(),
        }
    }

    /// Replaces the queues and the rule. All queues are asleep afterwards; those that stay keep what
    /// they are owed.
    pub fn configure(&mut self, rule: Starvation, among: usize, queues: &[QueueIx]) {
        (self.rule, self.among) = (rule, Some(among));
        let claim = |queue: &QueueIx| {
            let mut claim = self.claims.get(queue).copied().unwrap_or_default();
            if claim.ready {
                (claim.ready, claim.in_advance) = (false, self.owed(*queue));
            }
            claim.head_start = 0;
            (*queue, claim)
        };
        self.claims = queues.iter().map(claim).collect();
        self.ready = 0;
        self.woken.clear();
        self.by_since.clear();
        self.chances = Chances::default();
    }

    /// A queue is gone for good.
    pub fn remove(&mut self, queue: QueueIx) {
        self.put_to_sleep(queue);
        self.claims.remove(&queue);
        self.chances.forget(queue);
    }

    /// One more rotation has this queue. Returns whether it is the first.
    pub fn join(&mut self, queue: QueueIx) -> bool {
        let claim = self.claims.entry(queue).or_default();
        claim.rotations += 1;
        claim.rotations == 1
    }

    /// A rotation with this queue is gone. Returns whether it was the last.
    pub fn leave(&mut self, queue: QueueIx) -> bool {
        let Some(claim) = self.claims.get_mut(&queue) else { return true };
        claim.rotations = claim.rotations.saturating_sub(1);
        let last = claim.rotations == 0;
        if last {
            self.remove(queue);
        }
        last
    }

    /// Takes over the queues of other parts, with what they are owed, and returns them.
    pub fn absorb(&mut self, others: Parts) -> Vec<QueueIx> {
        for (&queue, claim) in &others.claims {
            let paid = self.due - others.owed(queue);
            self.claims.insert(queue, Claim { paid, ..*claim });
        }
        self.ready += others.ready;
        self.by_since.extend(others.by_since);
        self.woken.extend(others.woken);
        self.chances.absorb(others.chances);
        others.claims.into_keys().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Number of queues of all rotations together.
    pub fn memberships(&self) -> i64 {
        self.claims.values().map(|claim| i64::from(claim.rotations.max(1))).sum()
    }

    pub fn queues(&self) -> impl Iterator<Item = QueueIx> {
        self.claims.keys().copied()
    }

    /// Whether queues that are owed a dispatch, or were passed over for too long, go first.
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

    /// A queue has nothing to serve: it is owed nothing, and is not passed over.
    pub fn put_to_sleep(&mut self, queue: QueueIx) {
        let Some(claim) = self.claims.get_mut(&queue).filter(|claim| claim.ready) else { return };
        (claim.ready, claim.reported) = (false, false);
        self.ready -= 1;
        if let Some(since) = claim.since.take() {
            self.by_since.remove(&(since, queue));
        }
    }

    /// Counts a dispatch from this queue.
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

    /// Owes a queue one dispatch after a restart. The debt is not stored; without this, frequent
    /// restarts could starve a queue.
    pub fn owe_one(&mut self, queue: QueueIx) {
        let due = self.due;
        if let Some(claim) = self.claims.get_mut(&queue) {
            match claim.ready {
                true => claim.paid = claim.paid.min(due - ONE),
                false => claim.in_advance = ONE,
            }
        }
    }

    /// Reports queues that have just been passed over for too long.
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

    /// Gives queues that few fetches can serve a head start. Such a queue has to be served early,
    /// because a later chance may go to another queue that is owed a dispatch. It gets what it will be
    /// due until its next chance, in proportion to how much of the dispatches is guaranteed, but not
    /// more than half a dispatch. `asked` returns how many dispatches each queue could have had from
    /// fetches for whole rotations. Returns whether any head start has changed.
    pub fn set_head_starts(&mut self, asked: impl Fn(QueueIx) -> i64) -> bool {
        let (ratio, among) = (self.ratio(), self.among.unwrap_or(self.ready) as i64);
        let guaranteed = (ratio * among).min(ONE);
        let mut changed = false;
        for (&queue, claim) in &mut self.claims {
            let (chances, missed) = self.chances.of(queue, asked(queue));
            let head_start = ratio * missed / chances.max(1) * guaranteed / ONE;
            let head_start = head_start.min(MOST_HEAD_START);
            changed |= std::mem::replace(&mut claim.head_start, head_start) != head_start;
        }
        changed
    }

    /// The part of each dispatch that a queue is guaranteed, in millionths.
    fn ratio(&self) -> i64 {
        i64::from(self.rule.ratio_among(self.among.unwrap_or(self.ready)))
    }

    /// What a queue is owed, in millionths of a dispatch.
    pub fn owed(&self, queue: QueueIx) -> i64 {
        let paid = self.ready_claim(queue).map_or(self.due, |claim| claim.paid);
        (self.due - paid).clamp(0, MOST_OWED)
    }

    /// A key that puts the queue first that is owed most, including its head start. It decreases only
    /// by `set_head_starts`.
    pub fn key(&self, queue: QueueIx) -> i64 {
        self.ready_claim(queue).map_or(self.due, |claim| claim.paid - claim.head_start)
    }

    fn ready_claim(&self, queue: QueueIx) -> Option<&Claim> {
        self.claims.get(&queue).filter(|claim| claim.ready)
    }

    /// Whether a queue with this key would be owed a whole dispatch if another queue got the next one.
    pub fn is_owed(&self, key: i64) -> bool {
        let ratio = self.ratio();
        self.rule.enabled && ratio > 0 && self.due - key + ratio >= ONE
    }

    /// Since when a queue has not been served, in monotonic milliseconds. It never decreases.
    pub fn since(&self, queue: QueueIx, mono: u64) -> u64 {
        self.claims.get(&queue).and_then(|claim| claim.since).unwrap_or(mono)
    }

    /// Whether a queue that was not served since then goes first.
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
