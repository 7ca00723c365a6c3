//! Parts that sets of queues share: dispatches to fetches without a pool are counted together where
//! their sets share queues.
//!
//! Sets that have a queue in common, directly or through other sets, share their parts, as the workers
//! of a pool do. Sets without a common queue do not: no fetch chooses between their queues, so none
//! could pay one queue what another is owed.

use std::collections::BTreeSet;

use super::Scheduler;
use super::parts::{Parts, PartsIx};
use super::rotation::RotationIx;
use super::rotation_rules::RotationRules;
use crate::queue::QueueIx;

impl Scheduler {
    /// Applies the guarantees in a rotation's rules to its queues. `new` says whether the rotation was
    /// just created. Returns the queues that are new in these parts: they may be owed a dispatch from
    /// before a restart.
    pub(super) fn put_parts(
        &mut self,
        ix: RotationIx,
        rules: &RotationRules,
        new: bool,
    ) -> Vec<QueueIx> {
        let mut queues: Vec<QueueIx> = rules.queues.iter().map(|(queue, _)| *queue).collect();
        let in_common = self.rotations.key(ix).is_shared_set(rules.for_tenant);
        let parts_ix = self.rotations.parts_of(ix);
        let Some(parts) = self.rotations.parts.get_mut(&parts_ix) else { return Vec::new() };
        match in_common {
            true => queues.retain(|queue| new && parts.join(*queue)),
            false => parts.configure(rules.starvation, rules.named, &queues),
        }
        if in_common {
            queues.iter().for_each(|queue| self.queue_mut(*queue).parts = Some(parts_ix));
        }
        queues
    }

    /// The parts for a new set: those of the sets it shares queues with, merged into one, or new ones.
    pub(super) fn common_parts(&mut self, rules: &RotationRules) -> PartsIx {
        let queues = rules.queues.iter();
        let existing: BTreeSet<PartsIx> =
            queues.filter_map(|(queue, _)| self.queue(*queue).parts).collect();
        let largest = existing.iter().max_by_key(|ix| self.rotations.parts[ix].len()).copied();
        let Some(largest) = largest else {
            return self.rotations.add_parts(Parts::new(rules.starvation, None));
        };
        let others = existing.into_iter().filter(|ix| *ix != largest);
        others.for_each(|ix| self.merge_parts(ix, largest));
        largest
    }

    fn merge_parts(&mut self, from: PartsIx, into: PartsIx) {
        let Some(parts) = self.rotations.parts.remove(&from) else { return };
        let Some(larger) = self.rotations.parts.get_mut(&into) else { return };
        let mut rotations = BTreeSet::new();
        for queue in larger.absorb(parts) {
            let queue = &mut self.queues[queue.0 as usize];
            queue.parts = Some(into);
            rotations.extend(queue.rotates_in.iter().copied());
        }
        for ix in rotations {
            if self.rotations.parts_of(ix) == from {
                self.rotations.move_to_parts(ix, into);
            }
        }
    }

    /// A set of queues is gone.
    pub(super) fn leave_parts(&mut self, ix: PartsIx, queues: &[QueueIx]) {
        let Some(parts) = self.rotations.parts.get_mut(&ix) else { return };
        for queue in queues {
            if parts.leave(*queue) {
                self.queues[queue.0 as usize].parts = None;
            }
        }
        if parts.is_empty() {
            self.rotations.parts.remove(&ix);
        }
    }

    /// A queue may have something to serve, so it is due its part of the dispatches to fetches without
    /// a pool.
    pub(super) fn wake_parts(&mut self, queue: QueueIx) {
        let parts = self.queue(queue).parts;
        if let Some(parts) = parts.and_then(|ix| self.rotations.parts.get_mut(&ix)) {
            parts.wake(queue);
        }
    }
}
