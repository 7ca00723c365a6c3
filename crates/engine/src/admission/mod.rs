//! Admission: whether a batch of new jobs is accepted, decided before its first job is.
//!
//! [`Engine::admit`] is the only way in, for clients, for schedules and for enqueues that waited
//! for room. Each check has a file of its own and does not know the others.

mod batch;
mod caps;
mod drop_oldest;
mod pressure;
mod queue_bounds;
mod rate_keys;
mod retry_after;
mod room_checks;
mod schedule_bytes;
mod tenant_limits;
mod waiting;
mod waiting_enqueues;

use rota_model::envelope::NewJob;

use crate::{Engine, Refusal};
use batch::BatchLoad;

pub(crate) use room_checks::RoomChecks;
pub(crate) use waiting_enqueues::{WaitingEnqueues, single_tenant};

/// Why a batch is not admitted.
pub(crate) enum Obstacle {
    /// The batch is refused; some refusals say when to try again.
    Refused(Refusal),
    /// A queue is full, and its enqueues may wait for room.
    Full(Refusal),
}

impl Engine {
    /// Admits a batch: after this, accepting its jobs cannot fail for want of room. Full queues
    /// that drop their oldest jobs have done so. Returns the names of the soft limits that the
    /// batch exceeds.
    pub(crate) fn admit(&mut self, jobs: &[NewJob]) -> Result<Vec<&'static str>, Obstacle> {
        self.check_caps(jobs).map_err(|reached| Obstacle::Refused(reached.into()))?;
        if !self.may_be_limited(jobs) {
            return Ok(Vec::new());
        }
        let load = BatchLoad::of(jobs, self.wall());
        let mut exceeded = self.check_tenant_limits(&load).map_err(Obstacle::Refused)?;
        self.check_rate_keys(jobs).map_err(Obstacle::Refused)?;
        let drops = self.check_queue_bounds(&load, jobs)?;
        if !drops.is_empty() {
            self.drop_jobs(drops);
            // The drops have changed the tenants' counts.
            exceeded = self.check_tenant_limits(&load).map_err(Obstacle::Refused)?;
        }
        Ok(exceeded.into_iter().map(|limit| self.emit_tenant_limit_exceeded(limit, true)).collect())
    }

    /// Whether any limit or bound could apply to one of the jobs. This is asked for every enqueue,
    /// and on most servers the answer is no.
    fn may_be_limited(&self, jobs: &[NewJob]) -> bool {
        if self.config.max_bytes.is_some() {
            return true;
        }
        let (tenants, queues) = (self.tenants.any_configured(), self.queues.any_bounded());
        jobs.iter().any(|job| {
            let class = &job.class;
            let tenant = || self.tenants.find(&class.tenant).map(|ix| self.tenants.get(ix));
            let queue = || self.queues.find(&class.queue).map(|ix| self.queues.get(ix));
            class.policy.limit.is_some()
                || tenants
                    && tenant()
                        .is_some_and(|tenant| tenant.origin() != crate::ConfigOrigin::Default)
                || queues && queue().is_some_and(|queue| queue.row.settings.bounds.is_some())
        })
    }
}
