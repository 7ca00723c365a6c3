//! Pressure: reporting queues that are nearly full, in events and in the answer to an enqueue.

use crate::effect::Pressure;
use crate::queue::QueueIx;
use crate::{Engine, EventKind};

impl Engine {
    /// The pressure of the fullest of these queues, if it is above its warning threshold.
    pub(crate) fn pressure_of(&mut self, queues: &[QueueIx]) -> Option<Pressure> {
        self.check_full_pools(queues);
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
            if !std::mem::replace(&mut queue.notified_nearly_full, true) {
                let queue = queue.name.clone();
                self.emit(EventKind::QueueNearlyFull { queue, depth, bound });
            }
            if fullest.as_ref().is_none_or(|fullest| fullest.ratio < ratio) {
                fullest = Some(Pressure { depth, bound, ratio });
            }
        }
        fullest
    }

    /// Emits an event if a queue was nearly full and no longer is.
    pub(super) fn emit_queue_cleared(&mut self, ix: QueueIx) {
        let queue = self.queues.get(ix);
        let warn_at = queue.row.settings.bounds.map_or(0, |bounds| bounds.warn_at);
        let below = queue.pressure().is_none_or(|ratio| ratio * 1_000.0 < f64::from(warn_at));
        if queue.notified_nearly_full && below {
            let (depth, bound) = self.fullness(ix);
            let queue = self.queues.get_mut(ix);
            queue.notified_nearly_full = false;
            let queue = queue.name.clone();
            self.emit(EventKind::QueueCleared { queue, depth, bound });
        }
    }

    /// The depth and its bound; the bytes and their bound if only bytes are bounded.
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

    /// Replaces bytes by jobs for a queue that is bounded in bytes only, because an enqueue's
    /// answer counts jobs.
    pub(crate) fn pressure_in_jobs(&self, pressure: Pressure, queues: &[QueueIx]) -> Pressure {
        let mut queues = queues.iter().map(|ix| self.queues.get(*ix));
        let fullest = queues.find(|queue| queue.pressure() == Some(pressure.ratio));
        let bounds = fullest.and_then(|queue| queue.row.settings.bounds);
        match (fullest, bounds) {
            (Some(queue), Some(bounds)) if bounds.max_depth == 0 => {
                Pressure { depth: queue.jobs.depth(), bound: 0, ..pressure }
            }
            _ => pressure,
        }
    }
}
