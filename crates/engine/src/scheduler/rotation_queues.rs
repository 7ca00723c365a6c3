//! How queues join, leave, wake and sleep in rotations.

use super::Scheduler;
use super::rotation::RotationIx;
use crate::queue::QueueIx;

impl Scheduler {
    /// Removes a queue from a rotation.
    pub(super) fn leave_rotation(&mut self, ix: RotationIx, queue: QueueIx) {
        self.detach(ix);
        let (rotation, parts) = self.rotations.with_parts(ix);
        rotation.remove(queue);
        parts.remove(queue);
        self.attach(ix);
    }

    /// Registers a rotation with its queues, and wakes those that have something to serve.
    pub(super) fn attach(&mut self, ix: RotationIx) {
        let rotation = self.rotations.get(ix);
        let queues = rotation.queues().to_vec();
        let (by_depth, for_tenant) = (rotation.orders_by_depth(), rotation.is_for_tenant());
        if let Some(account) = self.rotations.account(ix) {
            self.set_members(account, &queues);
        }
        for (position, queue) in (0..).zip(queues) {
            let queue_state = &mut self.queues[queue.0 as usize];
            queue_state.rotates_in.push(ix);
            if for_tenant {
                continue;
            }
            if by_depth {
                queue_state.ordered_in.push((ix, position));
            }
            queue_state.sleeps_in.push((ix, position));
            if !queue_state.members[0].rings.is_empty() {
                self.wake_in_rotation(ix, queue);
            }
        }
    }

    pub(super) fn detach(&mut self, ix: RotationIx) {
        for queue in self.rotations.get(ix).queues().to_vec() {
            let queue_state = &mut self.queues[queue.0 as usize];
            queue_state.ordered_in.retain(|(rotation, _)| *rotation != ix);
            queue_state.sleeps_in.retain(|(rotation, _)| *rotation != ix);
            queue_state.rotates_in.retain(|rotation| *rotation != ix);
        }
    }

    /// Wakes a queue in a rotation, because it may have something to serve.
    pub(super) fn wake_in_rotation(&mut self, ix: RotationIx, queue: QueueIx) {
        let (rotation, parts) = self.rotations.with_parts(ix);
        let Some(position) = rotation.position(queue) else { return };
        parts.wake(queue);
        if !rotation.is_ready(queue) {
            let queue_state = &mut self.queues[queue.0 as usize];
            if !rotation.is_for_tenant() {
                queue_state.sleeps_in.retain(|sleeps| *sleeps != (ix, position));
            }
            rotation.wake(position, queue_state.available, parts);
        }
    }

    /// Leaves a queue without anything to serve out of a rotation, until it is woken.
    pub(super) fn put_to_sleep(&mut self, ix: RotationIx, queue: QueueIx) {
        let (rotation, parts) = self.rotations.with_parts(ix);
        if let Some(position) = rotation.position(queue)
            && rotation.is_ready(queue)
        {
            rotation.put_to_sleep(position);
            parts.put_to_sleep(queue);
            if !rotation.is_for_tenant() {
                self.queues[queue.0 as usize].sleeps_in.push((ix, position));
            }
        }
    }
}
