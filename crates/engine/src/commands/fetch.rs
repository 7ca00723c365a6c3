//! Handing out jobs.

use rota_model::mutation::{Claim, Mutation};
use rota_model::{ClassId, Ending, Seq, State};

use crate::active::Active;
use crate::command::later;
use crate::sched::QueueIx;
use crate::{Claimed, Engine, EventKind, Fetch, Refusal, Reply};

impl Engine {
    pub(crate) fn fetch(&mut self, fetch: Fetch) -> Reply {
        if let Err(refusal) = self.meet_fetching_worker(&fetch) {
            return Reply::Refused(refusal);
        }
        let claimed = self.claim_for(&fetch);
        match fetch.wait {
            Some((id, ms)) if claimed.is_empty() && ms > 0 && !self.closing => {
                self.start_waiting(id, fetch, ms);
                Reply::Waiting
            }
            _ => Reply::Fetched(claimed),
        }
    }

    /// As many jobs as there are, up to what was asked for and what the worker has room for.
    /// Each is a decision of its own.
    pub(crate) fn claim_for(&mut self, fetch: &Fetch) -> Vec<Claimed> {
        let mut claimed = Vec::new();
        if self.maintenance.enabled() {
            return claimed;
        }
        let most = fetch.count.min(self.room_of(fetch));
        for name in &fetch.queues {
            let Some(ix) = self.queues.find(name) else {
                continue;
            };
            while claimed.len() < most {
                let Some(job) = self.claim_next(ix, fetch) else {
                    break;
                };
                claimed.push(job);
            }
        }
        claimed
    }

    fn claim_next(&mut self, ix: QueueIx, fetch: &Fetch) -> Option<Claimed> {
        loop {
            let queue = self.queues.get(ix);
            if !queue.may_dispatch() {
                return None;
            }
            let class = queue.next_lane()?;
            let (seq, attempt, fresh) = self.pop_lane(ix, class)?;
            if self.watch.is_over(seq, self.wall()) {
                self.expire(seq, class);
                continue;
            }
            if fresh && let Some(accepted) = self.seq_clock.accepted_at(seq) {
                let waited = self.wall().0.saturating_sub(accepted.0).max(0) as u64;
                self.queues.get_mut(ix).stats.minute.wait_ms.record(waited);
                self.total.minute.wait_ms.record(waited);
            }
            return Some(self.start(seq, class, attempt + 1, fresh, fetch));
        }
    }

    fn pop_lane(&mut self, ix: QueueIx, class: ClassId) -> Option<(Seq, u32, bool)> {
        let priority = self.classes.slot(class).class.priority;
        let lane = self.lanes.get_mut(class)?;
        let popped = lane.pop()?;
        let is = lane.head();
        self.lanes.remove_if_empty(class);
        let queue = self.queues.get_mut(ix);
        queue.move_lane(class, priority, Some(popped.seq), is);
        queue.leave(State::Available);
        Some((popped.seq, popped.attempt, popped.fresh))
    }

    fn start(
        &mut self,
        seq: Seq,
        class: ClassId,
        attempt: u32,
        fresh: bool,
        fetch: &Fetch,
    ) -> Claimed {
        let slot = self.classes.slot(class);
        let (ix, policy) = (slot.queue, slot.class.policy.clone());
        let asked = policy.visibility_ms.or(fetch.visibility_ms);
        let reserved_ms =
            asked.unwrap_or(self.config.visibility_ms).min(self.config.max_visibility_ms);
        let timeout_ms = policy.timeout_ms.unwrap_or(self.config.timeout_ms);
        let started = self.wall();
        let worker = fetch.worker.clone();
        self.out.mutations.push(Mutation::Claim(Claim {
            seq,
            attempt,
            started,
            due: later(started, reserved_ms),
            reserved_ms,
            worker: worker.clone(),
        }));
        let expires = self.watch.forget(seq).and_then(|live| live.expires);
        self.active.insert(
            seq,
            Active {
                class,
                attempt,
                started,
                started_mono: self.now.mono as i64,
                worker: worker.clone(),
                reserved_ms,
                reserved_until: self.now.mono.saturating_add(reserved_ms),
                times_out: self.now.mono.saturating_add(timeout_ms),
                expires,
            },
        );
        self.queues.get_mut(ix).enter(State::Active);
        let event =
            EventKind::Started { job: self.job_ref(seq, class), attempt, worker: worker.clone() };
        self.emit(event);
        Claimed {
            seq,
            attempt,
            fresh: fresh && self.seq_clock.accepted_at(seq).is_some(),
            started,
            timeout_ms,
            own_timeout: policy.timeout_ms.is_some(),
            reserved_ms,
            own_reservation: policy.visibility_ms.is_some(),
            worker,
        }
    }

    /// The deadline of a job that has left its lane or timer has passed.
    pub(crate) fn expire(&mut self, seq: Seq, class: ClassId) {
        let deadline = self.watch.get(seq).and_then(|live| live.expires);
        let event = EventKind::Expired { job: self.job_ref(seq, class), deadline };
        self.end(seq, class, Ending::Expired, None);
        self.emit(event);
    }

    /// A fetch names its worker: it is known from now on, and it stays in its pool.
    fn meet_fetching_worker(&mut self, fetch: &Fetch) -> Result<(), Refusal> {
        let Some(id) = &fetch.worker else {
            // Only a worker can be in a pool.
            return fetch.pool.as_ref().map_or(Ok(()), |_| Err(Refusal::OtherPool { pool: None }));
        };
        self.meet(id)?;
        let worker = self.workers.get(id).expect("the worker was just met");
        match (&worker.row.about.pool, &fetch.pool) {
            (known, Some(named)) if known.as_ref() != Some(named) => {
                Err(Refusal::OtherPool { pool: known.as_ref().map(|pool| pool.to_string()) })
            }
            _ => Ok(()),
        }
    }

    fn room_of(&self, fetch: &Fetch) -> usize {
        let Some(id) = &fetch.worker else { return usize::MAX };
        match self.workers.get(id) {
            Some(worker) if worker.is_quieted() => 0,
            Some(worker) => worker.room(self.active.count_held_by(id)),
            None => usize::MAX,
        }
    }
}
