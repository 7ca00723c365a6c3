//! The gates of a waitlist: who stands at each, and which of them are awake.

use super::{FirstInLine, Rank, Subscription, Waitlist};
use crate::scheduler::limits::gates::{BucketGates, GateListing};
use crate::scheduler::limits::line::{Line, State};
use crate::scheduler::limits::{Bucket, GateIx};
use crate::scheduler::turn::TurnIx;

/// The turns that wait at one gate and are not candidates.
#[derive(Debug, Default)]
pub(super) struct GateLine {
    pub line: Line,
    pub bucket: Option<Bucket>,
    pub listed: Option<GateListing>,
}

impl Waitlist {
    /// Closes a gate: moves it into the bucket, which goes to sleep.
    pub fn close(&mut self, gate: GateIx, bucket: Bucket) {
        let gates = self.buckets.or_insert(Some(bucket), BucketGates::default);
        if !std::mem::replace(&mut gates.asleep, true) {
            self.bucket_changed(Some(bucket));
        }
        let line = self.gates.get_mut(&gate).filter(|line| line.bucket != Some(bucket));
        if let Some(line) = line {
            let (old, listed) = (line.bucket.replace(bucket), line.listed.take());
            if let Some(gates) = self.buckets.get_mut(&old) {
                gates.unlist(gate, listed);
                self.bucket_changed(old);
            }
            self.gate_changed(gate);
        }
    }

    /// Wakes a bucket: its gates may be open.
    pub fn wake(&mut self, bucket: Bucket) {
        if let Some(gates) = self.buckets.get_mut(&Some(bucket)) {
            gates.asleep = false;
            self.bucket_changed(Some(bucket));
        }
    }

    /// The first turn at the gates of a bucket, asleep or not.
    pub fn first_in(&self, bucket: Option<Bucket>) -> Option<FirstInLine> {
        let (rank, gate) = self.buckets.get(&bucket)?.first()?;
        let line = &self.gates.get(&gate)?.line;
        let (_, turn, tenant) = line.first()?;
        Some(FirstInLine {
            rank,
            turn,
            tenant,
            group: line.first_group(turn)?,
            is_candidate: false,
        })
    }

    pub fn is_asleep(&self, bucket: Bucket) -> bool {
        self.buckets.get(&Some(bucket)).is_some_and(|gates| gates.asleep)
    }

    /// The bucket of a gate; `None` if the gate is not known to be closed.
    pub fn bucket_of(&self, gate: GateIx) -> Option<Bucket> {
        self.gates.get(&gate)?.bucket
    }

    /// Updates how a bucket sleeps. Returns the old and the new subscription.
    pub fn resubscribe(&mut self, bucket: Bucket) -> (Option<Subscription>, Option<Subscription>) {
        let Some(gates) = self.buckets.get_mut(&Some(bucket)) else { return (None, None) };
        let first = gates.first().filter(|_| gates.asleep);
        let wanted = first.and_then(|(rank, gate)| {
            let (_, _, tenant) = self.gates.get(&gate)?.line.first()?;
            let contested = !gates.contested.is_empty() || !gates.solo.is_alone();
            Some(Subscription { rank, tenant, contested })
        });
        let old = std::mem::replace(&mut gates.subscribed, wanted);
        if gates.is_empty() {
            self.buckets.remove(&Some(bucket));
        }
        (old, wanted)
    }

    pub(super) fn set_gate_state(&mut self, turn: TurnIx, gate: GateIx, state: State) {
        if let Some(line) = self.gates.get_mut(&gate) {
            line.line.set_state(turn, state);
            self.gate_changed(gate);
        }
    }

    pub(super) fn set_rank_at_gate(&mut self, turn: TurnIx, gate: GateIx, rank: Rank) {
        let Some(line) = self.gates.get_mut(&gate) else { return };
        line.line.set_rank(turn, rank);
        let (bucket, listed) = (line.bucket, line.listed);
        if matches!(listed, Some(GateListing::Solo(..)))
            && let Some(gates) = self.buckets.get_mut(&bucket)
        {
            // Only the turn's first group can make its rank greater; any group can make it smaller.
            let is_first = gates.solo.first_group(turn).is_some_and(|(_, first)| first == gate);
            if is_first || gates.solo.rank(turn).is_some_and(|current| rank < current) {
                gates.solo.set_rank(turn, rank);
            }
            self.bucket_changed(bucket);
        }
        self.gate_changed(gate);
    }

    /// Lists a gate in its bucket by its first turn, and drops a gate at which nobody waits.
    pub(super) fn gate_changed(&mut self, gate: GateIx) {
        let Some(line) = self.gates.get_mut(&gate) else { return };
        let first = line.line.first();
        let wanted = first.and_then(|(rank, turn, _)| match line.line.is_alone() {
            true => line.line.first_group(turn).map(|group| GateListing::Solo(turn, group)),
            false => Some(GateListing::Contested(rank)),
        });
        let (bucket, old) = (line.bucket, std::mem::replace(&mut line.listed, wanted));
        if line.line.is_empty() {
            self.gates.remove(&gate);
        }
        if old == wanted {
            return;
        }
        let gates = self.buckets.or_insert(bucket, BucketGates::default);
        gates.unlist(gate, old);
        match (wanted, first) {
            (Some(GateListing::Contested(rank)), _) => {
                gates.contested.insert((rank, gate));
            }
            (Some(GateListing::Solo(turn, group)), Some((rank, _, tenant))) => {
                let new = gates.solo.insert(turn, tenant, group, rank, State::InLine);
                if !new && gates.solo.rank(turn).is_some_and(|current| rank < current) {
                    gates.solo.set_rank(turn, rank);
                }
            }
            _ => {}
        }
        self.bucket_changed(bucket);
    }

    /// Keeps a bucket in `awake` under the rank of its first turn, or out of it while it sleeps.
    fn bucket_changed(&mut self, bucket: Option<Bucket>) {
        let Some(gates) = self.buckets.get_mut(&bucket) else { return };
        let first = gates.first().map(|(rank, _)| rank);
        let wanted = first.filter(|_| !gates.asleep);
        let old = std::mem::replace(&mut gates.rank, wanted);
        if old != wanted {
            old.map(|rank| self.awake.remove(&(rank, bucket)));
            wanted.map(|rank| self.awake.insert((rank, bucket)));
        }
    }
}
