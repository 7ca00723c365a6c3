//! Queues that are full: waiting for room, making room, and saying so.

use std::ops::Bound;
use std::sync::Arc;

use rota_model::JobId;
use rota_model::envelope::NewJob;

use super::admit::{Load, Obstacle, Terms};
use crate::effect::Pressure;
use crate::queue::QueueIx;
use crate::{Backpressure, Engine, EventKind, Refusal, Reply, WaiterId};

/// Waiting enqueues that are tried in one step. The rest is tried in the next.
const TRIES: usize = 64;

impl Engine {
    /// An enqueue waits until its queues have room.
    pub(super) fn block(&mut self, id: WaiterId, jobs: Vec<NewJob>, ms: u64) {
        for job in &jobs {
            if let Some(ix) = self.queues.find(&job.class.queue) {
                self.queues.get_mut(ix).blocked.insert(id);
            }
        }
        self.blocked.add(id, jobs, self.now.mono.saturating_add(ms));
    }

    pub(super) fn unblock(&mut self, id: WaiterId) -> Option<Arc<[NewJob]>> {
        let waiting = self.blocked.remove(id)?;
        for job in &*waiting.jobs {
            if let Some(ix) = self.queues.find(&job.class.queue) {
                self.queues.get_mut(ix).blocked.remove(&id);
            }
        }
        Some(waiting.jobs)
    }

    /// A job of this id has come in: no enqueue that waits may bring in another.
    pub(super) fn refuse_blocked_with(&mut self, job: JobId) {
        while let Some(waiter) = self.blocked.with_job(job) {
            let jobs = self.unblock(waiter);
            let index = jobs.and_then(|jobs| jobs.iter().position(|other| other.id == job));
            let index = index.unwrap_or(0);
            let refusal = Refusal::IdTaken { id: job, index };
            self.out.woken.push((waiter, Reply::Refused(refusal)));
        }
    }

    /// Ends waits for room whose time is over.
    pub(super) fn end_blocks(&mut self, mono: u64) {
        while let Some(id) = self.blocked.expired(mono) {
            let Some(jobs) = self.unblock(id) else { return };
            let reply = match self.make_way(&jobs) {
                Err(Obstacle::No(refusal)) => Reply::Refused(refusal),
                Err(Obstacle::Wait(refusal)) => Reply::Refused(self.reject(refusal, &jobs)),
                Ok(over) => self.accept_all(jobs.to_vec(), over),
            };
            self.out.woken.push((id, reply));
        }
    }

    /// Jobs have left bounded queues: those that waited for that may come in, and it may be said
    /// that the queue is not nearly full any more.
    pub(crate) fn unblock_enqueues(&mut self) {
        let mut tries = TRIES;
        while tries > 0 {
            let Some((ix, after)) = self.retries.next() else { return };
            let up_to = self.admit_blocked(ix, after, &mut tries);
            self.retries.tried(ix, up_to);
            self.tell_cleared(ix);
        }
    }

    /// Tries the enqueues that wait for a queue, the first first. One that does not fit yet keeps
    /// nobody else out. Gives the last one tried, if there may be more to try.
    fn admit_blocked(
        &mut self,
        ix: QueueIx,
        mut after: Option<WaiterId>,
        tries: &mut usize,
    ) -> Option<WaiterId> {
        while *tries > 0 && !self.has_no_room(ix) {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let next = self.queues.get(ix).blocked.range((from, Bound::Unbounded)).next();
            let id = *next?;
            (*tries, after) = (*tries - 1, Some(id));
            let jobs = self.blocked.get(id)?.jobs.clone();
            let way = self.make_way(&jobs);
            if matches!(way, Err(Obstacle::Wait(_))) {
                continue;
            }
            // It waits no more, so that the ids of its own jobs are not taken for another's.
            self.unblock(id);
            let reply = match way {
                Err(Obstacle::No(refusal) | Obstacle::Wait(refusal)) => Reply::Refused(refusal),
                Ok(over) => self.accept_all(jobs.to_vec(), over),
            };
            self.out.woken.push((id, reply));
        }
        after.filter(|_| *tries == 0)
    }

    /// Not even one job fits into a queue whose enqueues wait.
    fn has_no_room(&self, ix: QueueIx) -> bool {
        let queue = self.queues.get(ix);
        let Some(bounds) = queue.row.settings.bounds else { return false };
        let (depth, bytes) = queue.jobs.load();
        let full = |is: u64, most: u64| most > 0 && is >= most;
        bounds.strategy == Backpressure::Block
            && (full(depth, bounds.max_depth) || full(bytes, bounds.max_bytes))
    }

    /// Whether jobs may come in, once the oldest have gone where the queue wants that; and the
    /// limits that they cross and that only warn.
    pub(super) fn make_way(&mut self, jobs: &[NewJob]) -> Result<Vec<&'static str>, Obstacle> {
        self.check_caps(jobs).map_err(|reached| Obstacle::No(reached.into()))?;
        let Terms { mut over, drops } = self.admits(jobs)?;
        if !drops.is_empty() {
            self.drop_jobs(drops);
            // There is less now than when they were asked for.
            over = self.check_tenants(&Load::of(jobs, self.wall())).map_err(Obstacle::No)?;
        }
        Ok(over.into_iter().map(|crossing| self.tell_crossed(crossing, true)).collect())
    }

    /// Jobs have come in. How full the fullest of their queues is, where that is worth a word.
    pub(super) fn pressure_of(&mut self, queues: &[QueueIx]) -> Option<Pressure> {
        self.tell_full_pools(queues);
        let mut fullest: Option<Pressure> = None;
        for &ix in queues {
            let queue = self.queues.get(ix);
            let Some(bounds) = queue.row.settings.bounds else { continue };
            let Some(ratio) = queue.pressure() else { continue };
            if ratio * 1_000.0 < f64::from(bounds.warn_at) {
                continue;
            }
            let (depth, bound) = self.fullness(ix);
            let queue = self.queues.get_mut(ix);
            if !std::mem::replace(&mut queue.warned, true) {
                let queue = queue.name.clone();
                self.emit(EventKind::QueueNearlyFull { queue, depth, bound });
            }
            if fullest.as_ref().is_none_or(|known| known.ratio < ratio) {
                fullest = Some(Pressure { depth, bound, ratio });
            }
        }
        fullest
    }

    fn tell_cleared(&mut self, ix: QueueIx) {
        let queue = self.queues.get(ix);
        let warn_at = queue.row.settings.bounds.map_or(0, |bounds| bounds.warn_at);
        let below = queue.pressure().is_none_or(|ratio| ratio * 1_000.0 < f64::from(warn_at));
        if queue.warned && below {
            let (depth, bound) = self.fullness(ix);
            let queue = self.queues.get_mut(ix);
            queue.warned = false;
            let queue = queue.name.clone();
            self.emit(EventKind::QueueCleared { queue, depth, bound });
        }
    }

    /// Jobs and their bound, or bytes where only they are bounded.
    pub(crate) fn fullness(&self, ix: QueueIx) -> (u64, u64) {
        let queue = self.queues.get(ix);
        match queue.row.settings.bounds {
            Some(bounds) if bounds.max_depth == 0 && bounds.max_bytes > 0 => {
                (queue.jobs.bytes, bounds.max_bytes)
            }
            Some(bounds) => (queue.jobs.depth(), bounds.max_depth),
            None => (queue.jobs.depth(), 0),
        }
    }
}
