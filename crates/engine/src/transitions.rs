//! State changes of jobs that several commands share: becoming available, waiting, ending.

use bytes::Bytes;
use rota_model::mutation::{Finish, Mutation, Ready, Undo};
use rota_model::{ClassId, Ending, ErrorRow, Live, Millis, Seq, State};

use crate::active::Active;
use crate::command::later;
use crate::config::Cost;
use crate::meters::Meter;
use crate::queue::QueueIx;
use crate::scheduler::{Correction, Ended, WaitingJob};
use crate::tenant::Tally;
use crate::timers::Timer;
use crate::{Engine, EventKind, Failure};

impl Engine {
    /// Makes a job available that was in no lane.
    pub(crate) fn make_ready(&mut self, seq: Seq, class: ClassId, job: WaitingJob, undo: bool) {
        let enqueued = self.wall();
        let undo = undo.then_some(Undo { attempt: job.attempt, pauses: job.pauses });
        let ready = Ready { seq, enqueued, undo, held: false };
        self.out.mutations.push(Mutation::Ready(ready));
        if let Some(live) = self.deadlines.get_mut(seq) {
            (live.state, live.enqueued, live.due) = (State::Available, enqueued, None);
            live.marked = false;
        }
        self.enter_lane(seq, class, WaitingJob { fresh: false, ..job });
    }

    /// Tracks the deadline or schedule of a job that waits again after an execution.
    pub(crate) fn track_again(
        &mut self,
        seq: Seq,
        active: &Active,
        state: State,
        due: Option<Millis>,
    ) {
        if active.expires.is_some() || self.crons.is_run(seq) {
            self.deadlines.add(Live {
                seq,
                class: active.class,
                state,
                attempt: active.attempt,
                enqueued: self.now.wall,
                due,
                started: Some(active.started),
                expires: active.expires,
                worker: None,
                pool: None,
                reserved_ms: 0,
                marked: false,
                bytes: active.size.bytes() as u32,
                pauses: active.pauses,
            });
        }
    }

    /// Ends a job that is in no lane and no timer.
    pub(crate) fn end(&mut self, seq: Seq, class: ClassId, ending: Ending, result: Option<Bytes>) {
        let at = self.wall();
        let slot = self.classes.slot(class);
        let (ix, tenant) = (slot.queue, slot.tenant);
        if ending.state() == State::Discarded {
            self.tenant_delta(tenant).discarded += 1;
        }
        let keep_ms = self.retention_of(ix, ending);
        let purge_at = keep_ms.map(|ms| later(at, ms));
        if let Some(result) = &result {
            self.count_stored(class, result.len());
        }
        self.out.mutations.push(Mutation::Finish(Finish { seq, ending, at, purge_at, result }));
        self.classes.count_finished(class, ending);
        self.class_lost_job(class);
        self.count_kept(class, |kept| *kept.get_mut(ending) += 1);
        *self.meter(class).ended.get_mut(ending) += 1;
        self.deadlines.remove(seq);
        self.cron_run_ended(seq);
    }

    /// Releases an active job's slots and records its run time. What follows is up to the caller.
    pub(crate) fn release(&mut self, active: &Active) {
        let (slot, took) = (self.classes.slot(active.class), active.ran_ms(self.now.mono));
        let tenant = slot.tenant;
        if self.config.fairness.cost == Cost::Runtime {
            self.runtimes.record(&slot.class.kind, took.max(1));
        }
        self.tenant_delta(tenant).run_ms += took;
        self.free_slot(active, took.max(1));
    }

    /// Releases an active job's slots. `cost` is the run time to charge, in ms.
    pub(crate) fn free_slot(&mut self, active: &Active, cost: u64) {
        self.count_out(active.class, State::Active, active.size);
        let (account, charged) = (active.account, active.charged);
        let by_runtime = self.config.fairness.cost == Cost::Runtime;
        let correction = by_runtime.then_some(Correction { account, charged, cost });
        let (class, pool) = (active.class, active.pool.as_ref());
        self.scheduler.ended(&Ended { class, pool, correction });
        if let Some(id) = &active.worker {
            self.worker_changed(id);
        }
    }

    /// Stores and counts the error of a failed execution.
    pub(crate) fn record_failure(
        &mut self,
        seq: Seq,
        active: &Active,
        failure: &Failure,
        delay_ms: Option<u64>,
    ) {
        let at = self.wall();
        let mut json = Vec::with_capacity(failure.json.len() + 128);
        json.push(b'{');
        json.extend_from_slice(&failure.json);
        json.extend_from_slice(format!(r#","attempt":{}"#, active.attempt).as_bytes());
        for key in ["timestamp", "occurred_at"] {
            json.extend_from_slice(format!(r#","{key}":"{at}""#).as_bytes());
        }
        if let Some(ms) = delay_ms {
            json.extend_from_slice(format!(r#","retry_delay_ms":{ms}"#).as_bytes());
        }
        json.push(b'}');
        self.count_stored(active.class, json.len());
        let row = ErrorRow { seq, attempt: active.attempt, json: json.into() };
        self.out.mutations.push(Mutation::Error(row));
        let slot = self.classes.slot(active.class);
        let (ix, tenant) = (slot.queue, slot.tenant);
        self.record(ix, |minute| minute.failed += 1);
        self.meter(active.class).failed += 1;
        self.tally(tenant, Tally { failed: 1, ..Tally::default() });
        let job = self.job_ref(seq, active.class);
        let duration_ms = active.ran_ms(self.now.mono);
        let (attempt, error) = (active.attempt, failure.json.clone());
        self.emit(EventKind::Failed { job, attempt, error, duration_ms });
    }

    /// Adds a timer for a job and counts the job.
    pub(crate) fn wait_until(&mut self, due: Millis, seq: Seq, timer: Timer) {
        self.count_in(timer.class, timer.state, timer.size);
        self.timers.add(due, seq, timer);
    }

    /// The meter of a class.
    pub(crate) fn meter(&mut self, class: ClassId) -> &mut Meter {
        self.meters.meter_mut(self.shards.get(self.classes.slot(class).shard).meter)
    }

    /// The dead letter has a retention of its own; see [`Engine::prune`].
    fn retention_of(&self, ix: QueueIx, ending: Ending) -> Option<u64> {
        if ending == Ending::DeadLetter {
            return None;
        }
        let settings = &self.queues.get(ix).row.settings;
        let of_queue = match ending.state() {
            State::Completed => settings.completed_ms,
            State::Cancelled => settings.cancelled_ms,
            _ => settings.discarded_ms,
        };
        of_queue.or_else(|| self.config.retention.of(ending))
    }
}
