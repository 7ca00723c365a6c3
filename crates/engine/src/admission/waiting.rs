//! Letting enqueues wait for room in full queues, and trying them again.

use std::ops::Bound;
use std::sync::Arc;

use rota_model::JobId;
use rota_model::envelope::NewJob;

use super::Obstacle;
use crate::queue::QueueIx;
use crate::{Backpressure, Engine, Refusal, Reply, WaiterId};

/// Waiting enqueues tried in one step.
const TRIES: usize = 64;

impl Engine {
    /// Makes an enqueue wait until its queues have room, for at most `ms`.
    pub(crate) fn wait_for_room(&mut self, id: WaiterId, jobs: Vec<NewJob>, ms: u64) {
        for job in &jobs {
            if let Some(ix) = self.queues.find(&job.class.queue) {
                self.queues.get_mut(ix).waiting_enqueues.insert(id);
            }
        }
        self.waiting_enqueues.add(id, jobs, self.now.mono.saturating_add(ms));
    }

    pub(crate) fn stop_waiting_for_room(&mut self, id: WaiterId) -> Option<Arc<[NewJob]>> {
        let waiting = self.waiting_enqueues.remove(id)?;
        for job in &*waiting.jobs {
            if let Some(ix) = self.queues.find(&job.class.queue) {
                self.queues.get_mut(ix).waiting_enqueues.remove(&id);
            }
        }
        Some(waiting.jobs)
    }

    /// Refuses waiting enqueues with a job of this id, because one was just accepted.
    pub(crate) fn refuse_waiting_duplicates(&mut self, job: JobId) {
        while let Some(waiter) = self.waiting_enqueues.with_job_id(job) {
            let jobs = self.stop_waiting_for_room(waiter);
            let index = jobs.and_then(|jobs| jobs.iter().position(|other| other.id == job));
            let index = index.unwrap_or(0);
            let refusal = Refusal::IdTaken { id: job, index };
            self.out.woken.push((waiter, Reply::Refused(refusal)));
        }
    }

    /// Ends waits whose deadline has passed; each enqueue is tried once more.
    pub(crate) fn end_waits_for_room(&mut self, mono: u64) {
        while let Some(id) = self.waiting_enqueues.expired(mono) {
            let Some(jobs) = self.stop_waiting_for_room(id) else { return };
            let reply = match self.admit(&jobs) {
                Err(Obstacle::Refused(refusal)) => Reply::Refused(refusal),
                Err(Obstacle::Full(refusal)) => Reply::Refused(self.count_rejected(refusal, &jobs)),
                Ok(over) => self.accept_all(jobs.to_vec(), over),
            };
            self.out.woken.push((id, reply));
        }
    }

    /// Tries waiting enqueues of queues that may have room, and reports queues that are no longer
    /// nearly full.
    pub(crate) fn retry_waiting_enqueues(&mut self) {
        let mut tries = TRIES;
        while tries > 0 {
            let Some((ix, after)) = self.room_checks.next() else { return };
            let up_to = self.retry_in_queue(ix, after, &mut tries);
            self.room_checks.tried(ix, up_to);
            self.emit_queue_cleared(ix);
        }
    }

    /// Tries a queue's waiting enqueues, oldest first; one that does not fit does not block the
    /// others. Returns the last one tried if `tries` ran out.
    fn retry_in_queue(
        &mut self,
        ix: QueueIx,
        mut after: Option<WaiterId>,
        tries: &mut usize,
    ) -> Option<WaiterId> {
        while *tries > 0 && !self.has_no_room(ix) {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let next = self.queues.get(ix).waiting_enqueues.range((from, Bound::Unbounded)).next();
            let id = *next?;
            (*tries, after) = (*tries - 1, Some(id));
            let jobs = self.waiting_enqueues.get(id)?.jobs.clone();
            let admitted = self.admit(&jobs);
            if matches!(admitted, Err(Obstacle::Full(_))) {
                continue;
            }
            // This must come before its jobs are accepted; otherwise their ids would count as
            // duplicates.
            self.stop_waiting_for_room(id);
            let reply = match admitted {
                Err(Obstacle::Refused(refusal) | Obstacle::Full(refusal)) => {
                    Reply::Refused(refusal)
                }
                Ok(over) => self.accept_all(jobs.to_vec(), over),
            };
            self.out.woken.push((id, reply));
        }
        after.filter(|_| *tries == 0)
    }

    /// Whether not even one job fits into a queue whose enqueues may wait.
    fn has_no_room(&self, ix: QueueIx) -> bool {
        let queue = self.queues.get(ix);
        let Some(bounds) = queue.row.settings.bounds else { return false };
        let (depth, bytes) = queue.jobs.load();
        let full = |current: u64, most: u64| most > 0 && current >= most;
        bounds.strategy == Backpressure::Block
            && (full(depth, bounds.max_depth) || full(bytes, bounds.max_bytes))
    }
}
