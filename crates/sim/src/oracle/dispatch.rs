//! Checks that each dispatched job was allowed to start and was next in order.

use rota_engine::Fetch;
use rota_model::row::JobRow;
use rota_model::{Millis, Seq, State};
use rota_store::Claim;

use super::step_context::StepContext;
use super::violation::{Check, Rule, Violation, ensure};
use super::world::{Job, Lease, World};

impl World {
    /// Whether the worker may have one more.
    pub(super) fn has_room(&self, fetch: &Fetch) -> bool {
        if !self.pool_has_room(fetch) {
            return false;
        }
        let Some(name) = &fetch.worker else {
            return true;
        };
        let Some(worker) = self.workers.get(name) else {
            return true;
        };
        let holds = self.held_by.get(name).map_or(0, |jobs| jobs.len());
        let quiet = worker.quiet || worker.says_quiet;
        !quiet && worker.concurrency.is_none_or(|most| holds < most as usize)
    }

    pub(super) fn claim(&mut self, claim: &Claim, context: &mut StepContext<'_>) -> Check {
        let seq = claim.seq;
        // Jobs may be given out to several waiting fetches by turns.
        let answered = context.claims.iter().position(|(_, answer)| answer.seq == seq);
        let Some((fetch, answer)) = answered.and_then(|at| context.claims.remove(at)) else {
            let message = format!("job {seq} was claimed for nobody");
            return Err(Violation::new(Rule::Reply, message));
        };
        let told = (answer.seq, answer.attempt, answer.reserved_ms, &answer.worker);
        let kept = (seq, claim.attempt, claim.reserved_ms, &claim.worker);
        ensure(told == kept && claim.worker == fetch.worker, Rule::Reply, || {
            format!("claimed {claim:?} but answered {answer:?}")
        })?;
        self.check_gates(seq, &fetch)?;
        let Some(job) = self.jobs.get(&seq) else {
            return Ok(());
        };
        self.check_start(seq, job, claim)?;
        self.check_turn(seq, job, &fetch)?;
        let class = job.class.clone();
        self.take_turn(&class, &fetch)?;
        self.check_guarantee(&class, &fetch)?;
        self.check_debts(&class, &fetch)?;
        self.check_queue_turn(&class, &fetch)?;
        self.start_limited(&class)?;
        let pool = self.pool_of(&fetch).filter(|name| self.pools.contains_key(name));
        ensure(claim.pool == pool, Rule::Gate, || format!("{claim:?} is not for {pool:?}"))?;
        let config = &self.config;
        let policy = &class.policy;
        let asked = policy.visibility_ms.or(fetch.visibility_ms);
        let own = fetch.tenant.as_ref().map_or(u64::MAX, |_| config.max_own_visibility_ms);
        let longest = config.max_visibility_ms.min(own);
        let reserved = asked.unwrap_or(config.visibility_ms).min(longest);
        let timeout = policy.timeout_ms.unwrap_or(config.timeout_ms);
        ensure(claim.reserved_ms == reserved && answer.timeout_ms == timeout, Rule::Reply, || {
            format!("reserved {claim:?} for {answer:?}, not {reserved} ms and {timeout} ms")
        })?;
        let lease = Lease { until: self.at + reserved, times_out: self.at + timeout };
        self.change(seq, |job| {
            (job.lease, job.pool) = (Some(lease), pool);
            if let JobRow::Live(live) = &mut job.place {
                live.state = State::Active;
                live.attempt = claim.attempt;
                live.started = Some(claim.started);
                live.due = Some(claim.due);
                live.reserved_ms = claim.reserved_ms;
                live.worker.clone_from(&claim.worker);
                live.pool.clone_from(&claim.pool);
            }
        });
        self.note_present();
        Ok(())
    }

    pub(super) fn extend(
        &mut self,
        seq: Seq,
        due: Millis,
        reserved_ms: u64,
        context: &StepContext<'_>,
    ) -> Check {
        let active = self.jobs.get(&seq).is_some_and(|job| job.state() == State::Active);
        ensure(active && context.names(seq), Rule::Unasked, || {
            format!("nobody may extend job {seq}")
        })?;
        let until = self.at + reserved_ms;
        self.change(seq, |job| {
            if let JobRow::Live(live) = &mut job.place {
                (live.due, live.reserved_ms) = (Some(due), reserved_ms);
            }
            if let Some(lease) = &mut job.lease {
                lease.until = until;
            }
        });
        Ok(())
    }

    fn check_gates(&self, seq: Seq, fetch: &Fetch) -> Check {
        let gate = |holds, why: &str| {
            ensure(holds, Rule::Gate, || format!("job {seq} was handed out: {why}"))
        };
        gate(!self.maintenance, "maintenance")?;
        gate(self.has_room(fetch), "its worker is quieted or full")?;
        let queue = self.jobs.get(&seq).map(|job| &job.class.queue);
        let asked = queue.is_some_and(|queue| self.queues_of(fetch).contains(queue));
        gate(asked, "nobody asked for its queue")?;
        let shut_out = queue.is_some_and(|queue| self.is_shut_out(fetch, queue));
        gate(!shut_out, "its queue is kept for another pool")?;
        if let Some(class) = self.jobs.get(&seq).map(|job| &job.class) {
            let wanted = fetch.tenant.as_ref().is_none_or(|tenant| *tenant == class.tenant);
            gate(wanted, "it is another tenant's")?;
            let open = self.tenant_is_open(&class.tenant, &class.queue);
            gate(open, "its tenant is paused there or at its limit")?;
        }
        if let Some(queue) = queue.and_then(|queue| self.queues.get(queue)) {
            let most = queue.concurrency.map_or(u64::MAX, u64::from);
            gate(!queue.paused, "its queue is paused")?;
            gate(queue.active < most, "its queue is at its limit")?;
        }
        Ok(())
    }

    fn check_start(&self, seq: Seq, job: &Job, claim: &Claim) -> Check {
        let Some(live) = job.live() else {
            return Ok(());
        };
        let early = job.start_at.is_some_and(|at| at > self.wall);
        ensure(!early, Rule::Time, || format!("job {seq} started early"))?;
        let late = self.is_overdue(seq);
        ensure(!late, Rule::Time, || format!("job {seq} started late"))?;
        ensure(claim.started == self.wall, Rule::Time, || format!("{claim:?}"))?;
        ensure(claim.attempt == live.attempt + 1, Rule::Attempts, || {
            format!("job {seq} went from {} to {}", live.attempt, claim.attempt)
        })?;
        let most = job.max_attempts() + job.requeues;
        ensure(claim.attempt <= most.max(1), Rule::Attempts, || {
            format!("attempt {} of {most} of job {seq}", claim.attempt)
        })?;
        ensure(!live.marked, Rule::Cron, || format!("job {seq} is held"))
    }

    pub(super) fn is_overdue(&self, seq: Seq) -> bool {
        let expires = self.jobs.get(&seq).and_then(|job| job.live()?.expires);
        expires.is_some_and(|at| at <= self.wall)
    }
}
