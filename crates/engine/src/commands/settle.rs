//! The end of an execution: acknowledged, failed, timed out or lost.

use rota_model::mutation::{Backoff, Mutation, Undo};
use rota_model::{ClassId, Ending, Exhaustion, JobId, Millis, Seq, State, WorkerId};

use crate::active::Active;
use crate::command::later;
use crate::scheduler::WaitingJob;
use crate::tenant::Tally;
use crate::timers::Timer;
use crate::{
    Ack, Engine, EventKind, Failure, HandlerCode, Holder, Nack, Refusal, Reply, Settle, Settled,
    Target, Undelivered,
};

/// The state a job enters after an execution, and when and after how many milliseconds it runs
/// again.
struct Outcome {
    state: State,
    next: Option<(Millis, u64)>,
}

impl Engine {
    pub(crate) fn settle(&mut self, all: Vec<Settle>) -> Reply {
        let mut outcomes: Vec<Result<Settled, Refusal>> = Vec::with_capacity(all.len());
        for settle in all {
            let (id, outcome) = match settle {
                Settle::Ack(ack) => (ack.job.id, self.ack(ack)),
                Settle::Nack(nack) => (nack.job.id, self.nack(nack)),
            };
            // The job was active when the request came in: an earlier item of the same request has
            // settled it. Report the state that left it in.
            let outcome = match outcome {
                Err(Refusal::NotActive { state: State::Active }) => {
                    let earlier = outcomes.iter().rev().flatten().find(|earlier| earlier.id == id);
                    let state = earlier.map_or(State::Active, |earlier| earlier.state);
                    Err(Refusal::NotActive { state })
                }
                outcome => outcome,
            };
            outcomes.push(outcome);
        }
        Reply::Settled(outcomes)
    }

    fn ack(&mut self, ack: Ack) -> Result<Settled, Refusal> {
        let active = self.take_active(&ack.job, &ack.holder)?;
        let seq = ack.job.seq;
        let duration_ms = active.ran_ms(self.now.mono);
        let ix = self.classes.slot(active.class).queue;
        let tenant = self.classes.slot(active.class).tenant;
        self.meter(active.class).record_run(duration_ms);
        self.tally(tenant, Tally { completed: 1, ..Tally::default() });
        self.record(ix, |minute| {
            minute.completed += 1;
            minute.run_ms.record(duration_ms);
        });
        self.end(seq, active.class, Ending::Completed, ack.result);
        let job = self.job_ref(seq, active.class).named(ack.job.id);
        self.emit(EventKind::Completed { job, attempt: active.attempt, duration_ms });
        Ok(self.settled(ack.job.id, &active, Outcome { state: State::Completed, next: None }))
    }

    fn nack(&mut self, nack: Nack) -> Result<Settled, Refusal> {
        let active = self.take_active(&nack.job, &nack.holder)?;
        let seq = nack.job.seq;
        if active.cancel_requested {
            return Ok(self.nack_of_cancelled(seq, &active, &nack));
        }
        let paused = match nack.failure.limited_until {
            Some(until) if !nack.requeue => match self.final_ending(&active, &nack.failure) {
                None => self.pause_for_limit(seq, &active, &nack, until),
                Some(_) => {
                    self.pause_key(active.class, until, &nack.failure.kind, nack.proven);
                    None
                }
            },
            _ => None,
        };
        let outcome = if let Some(outcome) = paused {
            outcome
        } else if nack.requeue {
            self.record_failure(seq, &active, &nack.failure, None);
            self.return_to_queue(seq, &active, false)
        } else {
            self.fail(seq, &active, &nack.failure)
        };
        Ok(self.settled(nack.job.id, &active, outcome))
    }

    /// A failed or requeued execution that was to be cancelled: the job is cancelled instead.
    fn nack_of_cancelled(&mut self, seq: Seq, active: &Active, nack: &Nack) -> Settled {
        if let Some(until) = nack.failure.limited_until.filter(|_| !nack.requeue) {
            self.pause_key(active.class, until, &nack.failure.kind, nack.proven);
        }
        self.record_failure(seq, active, &nack.failure, None);
        self.end_as_cancelled(seq, active);
        self.settled(nack.job.id, active, Outcome { state: State::Cancelled, next: None })
    }

    /// The handler reported an external limit. The attempt does not count. The job's key is paused
    /// until then; a job without a key is retried then. `None` if the job was paused `most_pauses`
    /// times already, so this is an ordinary failure.
    fn pause_for_limit(
        &mut self,
        seq: Seq,
        active: &Active,
        nack: &Nack,
        until: Millis,
    ) -> Option<Outcome> {
        let failure = &nack.failure;
        if active.pauses >= self.config.most_pauses {
            return None;
        }
        self.record_failure(seq, active, failure, None);
        let mut returned = active.clone();
        (returned.attempt, returned.pauses) = (active.attempt - 1, active.pauses + 1);
        if self.pause_key(active.class, until, &failure.kind, nack.proven).is_some() {
            return Some(self.return_to_queue(seq, &returned, true));
        }
        let due = until.min(later(self.wall(), self.config.longest_pause_ms)).max(self.wall());
        let undo = Some(Undo { attempt: returned.attempt, pauses: returned.pauses });
        let wait_ms = due.since(self.wall()).max(0) as u64;
        Some(self.back_off(seq, &returned, failure, due, undo, wait_ms))
    }

    /// Undoes claims that did not reach their worker.
    pub(crate) fn undelivered(&mut self, undelivered: &Undelivered) -> Reply {
        for &(seq, attempt) in &undelivered.claims {
            if self.active.get(seq).is_none_or(|active| active.attempt != attempt) {
                continue;
            }
            if let Some(mut active) = self.active.remove(seq) {
                if active.cancel_requested {
                    self.release(&active);
                    self.end_as_cancelled(seq, &active);
                    continue;
                }
                self.undo_dispatch(&active);
                if !undelivered.partly_sent {
                    self.undo_limited_start(&active);
                }
                self.free_slot(&active, 0);
                active.attempt -= 1;
                self.return_to_queue(seq, &active, true);
            }
        }
        Reply::Done
    }

    /// The reservation or the execution timeout of a job has ended.
    pub(crate) fn reservation_ended(&mut self, seq: Seq, active: &Active) {
        self.release(active);
        if active.times_out <= self.now.mono {
            let failure =
                Failure::by_server("timeout", "the execution took longer than its timeout");
            if active.cancel_requested {
                self.worker_lost(seq, active, &failure);
            } else {
                self.fail(seq, active, &failure);
            }
        } else {
            let text = "the reservation ended without ack, nack or heartbeat";
            self.worker_lost(seq, active, &Failure::by_server("visibility_timeout", text));
        }
    }

    /// The worker is gone: the job is available again at once, unless this was its last attempt, or it
    /// was to be cancelled.
    pub(crate) fn worker_lost(&mut self, seq: Seq, active: &Active, failure: &Failure) {
        if active.cancel_requested {
            self.record_failure(seq, active, failure, None);
            self.end_as_cancelled(seq, active);
        } else if self.has_attempts_left(active) {
            self.record_failure(seq, active, failure, Some(0));
            self.return_to_queue(seq, active, false);
        } else {
            self.fail(seq, active, failure);
        }
    }

    /// The job's ending and the reason, if this failure is final.
    fn final_ending(&self, active: &Active, failure: &Failure) -> Option<(Ending, &'static str)> {
        let policy = &self.classes.slot(active.class).class.policy;
        let by_policy = match policy.retry.on_exhaustion {
            Exhaustion::Discard => Ending::Discarded,
            Exhaustion::Unstated | Exhaustion::DeadLetter => Ending::DeadLetter,
        };
        match failure.code {
            Some(HandlerCode::Discard) => Some((Ending::Discarded, "discarded_by_handler")),
            Some(HandlerCode::DeadLetter) => Some((Ending::DeadLetter, "dead_lettered_by_handler")),
            _ if !failure.retryable || policy.retry.forbids_retry_of(&failure.kind) => {
                Some((by_policy, "non_retryable_error"))
            }
            _ if !self.has_attempts_left(active) => Some((by_policy, "max_attempts_exceeded")),
            _ => None,
        }
    }

    fn fail(&mut self, seq: Seq, active: &Active, failure: &Failure) -> Outcome {
        let Some((ending, reason)) = self.final_ending(active, failure) else {
            let policy = self.classes.slot(active.class).class.policy.clone();
            let delay_ms = policy.retry.delay_ms(active.attempt, self.entropy.next_u64());
            self.record_failure(seq, active, failure, Some(delay_ms));
            let due = later(self.wall(), delay_ms);
            return self.back_off(seq, active, failure, due, None, delay_ms);
        };
        self.record_failure(seq, active, failure, None);
        self.end(seq, active.class, ending, None);
        let job = self.job_ref(seq, active.class);
        let (attempt, error) = (active.attempt, failure.json.clone());
        self.emit(EventKind::Discarded { job, attempt, reason, error, from: State::Active });
        if ending == Ending::DeadLetter {
            self.bury(seq, active.class, attempt, failure);
        }
        Outcome { state: State::Discarded, next: None }
    }

    fn back_off(
        &mut self,
        seq: Seq,
        active: &Active,
        failure: &Failure,
        due: Millis,
        undo: Option<Undo>,
        delay_ms: u64,
    ) -> Outcome {
        let (class, attempt, state) = (active.class, active.attempt, State::Retryable);
        self.out.mutations.push(Mutation::Backoff(Backoff { seq, due, undo }));
        self.track_again(seq, active, state, Some(due));
        let (pauses, size) = (active.pauses, active.size);
        self.wait_until(due, seq, Timer { class, attempt, pauses, size, state });
        self.meter(class).retried += 1;
        let job = self.job_ref(seq, class);
        let error = failure.json.clone();
        self.emit(EventKind::Retrying { job, attempt, next: due, error });
        Outcome { state, next: Some((due, delay_ms)) }
    }

    fn return_to_queue(&mut self, seq: Seq, active: &Active, undo: bool) -> Outcome {
        self.track_again(seq, active, State::Available, None);
        let Active { attempt, pauses, size, .. } = *active;
        let job = WaitingJob { attempt, pauses, ..WaitingJob::fresh(size) };
        let event = self.job_ref(seq, active.class);
        self.emit(EventKind::Enqueued { job: event, from: Some(State::Active) });
        self.make_ready(seq, active.class, job, undo);
        Outcome { state: State::Available, next: None }
    }

    /// Takes the job out of the active ones, if the caller holds it.
    fn take_active(&mut self, job: &Target, holder: &Holder) -> Result<Active, Refusal> {
        let Some(active) = self.active.get(job.seq) else {
            return Err(Refusal::NotActive { state: job.state() });
        };
        // An operator may name a tenant's worker as the tenant does.
        let is_same = |named: &WorkerId, by: &WorkerId| {
            named == by || named.namespace().is_none() && named.local() == by.local()
        };
        let other_worker = match (&holder.worker, &active.worker) {
            (Some(named), Some(by)) => !is_same(named, by),
            _ => false,
        };
        if other_worker || holder.attempt.is_some_and(|attempt| attempt != active.attempt) {
            return Err(Refusal::NotHolder {
                worker: active.worker.clone(),
                attempt: active.attempt,
            });
        }
        let active = self.active.remove(job.seq).expect("the job was just found active");
        self.release(&active);
        Ok(active)
    }

    fn has_attempts_left(&self, active: &Active) -> bool {
        active.attempt < self.max_attempts(active.class)
    }

    fn max_attempts(&self, class: ClassId) -> u32 {
        self.classes.slot(class).class.policy.retry.max_attempts
    }

    fn settled(&self, id: JobId, active: &Active, outcome: Outcome) -> Settled {
        Settled {
            id,
            state: outcome.state,
            attempt: active.attempt,
            max_attempts: self.max_attempts(active.class),
            at: self.wall(),
            next: outcome.next,
        }
    }
}
