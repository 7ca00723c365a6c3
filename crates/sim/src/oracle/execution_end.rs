//! Checks why an execution ended and what state the job has afterwards.

use rota_engine::{Command, Failure, HandlerCode, Holder, Overlap, Settle};
use rota_model::mutation::{Backoff, Undo};
use rota_model::policy::Strategy;
use rota_model::row::JobRow;
use rota_model::{Ending, Exhaustion, Live, Millis, OnLimit, RetryPolicy, Seq, State};
use rota_store::{Finish, Ready};

use super::apply::take_back;
use super::step_context::StepContext;
use super::violation::{Check, Rule, ensure};
use super::world::{Job, World};

/// Why an execution ended.
enum Cause<'a> {
    Acked,
    Failed(&'a Failure),
    /// It met a limit elsewhere that lasts until then; whether its worker has a tenant's credentials.
    Limited(Millis, &'a Failure, bool),
    Requeued,
    /// Whether the worker may have received a part of the answer.
    Undelivered {
        partly_sent: bool,
    },
    Cancelled,
    /// The reservation ended, or the worker fell silent.
    Lost,
    TimedOut,
}

impl World {
    /// An active job is available again.
    pub(super) fn returned(
        &mut self,
        live: &Live,
        ready: &Ready,
        context: &StepContext<'_>,
    ) -> Check {
        ensure(!live.is_cancel_requested(), Rule::Transition, || {
            format!("job {} was to be cancelled", live.seq)
        })?;
        let causes = self.causes(live, context);
        let requeued = causes.iter().any(|cause| matches!(cause, Cause::Requeued));
        let left = self.has_attempts_left(live);
        let limited = self.may_pause(live) && self.has_key(live.seq);
        let allowed = causes.iter().any(|cause| match (cause, ready.undo) {
            (Cause::Undelivered { .. }, Some(undo)) => undo == taken_back(live, 0),
            (Cause::Requeued, None) => true,
            (Cause::Limited(_, failure, _), Some(undo)) => {
                limited && !self.is_final(live, failure) && undo == taken_back(live, 1)
            }
            (Cause::Lost, None) => left,
            _ => false,
        });
        ensure(allowed && !ready.held, Rule::HandedTwice, || {
            let lease = self.jobs.get(&live.seq).and_then(|job| job.lease);
            format!("job {} was taken back at {}: {lease:?}", live.seq, self.at)
        })?;
        let until = causes.iter().find_map(|cause| match cause {
            Cause::Limited(until, _, proven) => Some((*until, *proven)),
            _ => None,
        });
        let class = self.jobs.get(&live.seq).map(|job| job.class.clone());
        let is_unsent = |cause: &Cause| matches!(cause, Cause::Undelivered { partly_sent: false });
        let unsent = causes.iter().any(is_unsent);
        if let (true, Some(class), Some(started)) = (unsent, &class, live.started) {
            self.undo_start(class, started);
        }
        if let (Some((until, proven)), Some(class), Some(_)) = (until, class, ready.undo) {
            self.pause_key(&class, until, proven)?;
        }
        if requeued && let Some(job) = self.jobs.get_mut(&live.seq) {
            job.requeues += 1;
        }
        Ok(())
    }

    /// An active job failed and will be retried.
    pub(super) fn back_off(&mut self, wait: &Backoff, context: &StepContext<'_>) -> Check {
        let (seq, due) = (wait.seq, wait.due);
        let Some(job) = self.jobs.get(&seq) else {
            return Ok(());
        };
        let Some(live) = job.live().cloned() else {
            return Ok(());
        };
        let causes = self.causes(&live, context);
        if let Some(undo) = wait.undo {
            let longest = self.wall.saturating_add_ms(self.config.longest_pause_ms as i64);
            let right = causes.iter().any(|cause| match cause {
                Cause::Limited(until, failure, proven) => {
                    let alone = !self.has_key(seq) || !self.may_have_row(&job.class, *proven);
                    let until = (*until).min(longest).max(self.wall);
                    due == until && alone && !self.is_final(&live, failure)
                }
                _ => false,
            });
            let may = self.may_pause(&live) && undo == taken_back(&live, 1);
            ensure(right && may, Rule::HandedTwice, || format!("job {seq} paused: {wait:?}"))?;
            return self.set_back(wait);
        }
        let allowed = causes.iter().any(|cause| match cause {
            Cause::Limited(..) if self.may_pause(&live) => false,
            Cause::Limited(_, failure, _) | Cause::Failed(failure) => {
                verdict(job, live.attempt, failure).is_none()
            }
            Cause::TimedOut => self.has_attempts_left(&live),
            _ => false,
        });
        ensure(allowed && !live.is_cancel_requested(), Rule::HandedTwice, || {
            format!("job {seq} backed off")
        })?;
        let (least, most) = backoff(&job.class.policy.retry, live.attempt);
        let delay = due.since(self.wall);
        ensure((least..=most).contains(&delay), Rule::Time, || {
            format!("job {seq} waits {delay} ms, not {least} to {most}")
        })?;
        self.set_back(wait)
    }

    fn set_back(&mut self, wait: &Backoff) -> Check {
        self.change(wait.seq, |job| {
            if let JobRow::Live(live) = &mut job.place {
                (live.state, live.due) = (State::Retryable, Some(wait.due));
                (live.worker, live.pool, live.reserved_ms) = (None, None, 0);
                take_back(live, wait.undo);
            }
            (job.lease, job.pool) = (None, None);
        });
        Ok(())
    }

    /// The worker of an active job is to cancel it.
    pub(super) fn request_cancel(&mut self, seq: Seq, context: &StepContext<'_>) -> Check {
        let asked = matches!(context.step.command, Command::RequestCancel(_)) && context.names(seq);
        let is_active = self.jobs.get(&seq).is_some_and(|job| job.state() == State::Active);
        ensure(asked && is_active, Rule::Unasked, || format!("nobody cancelled job {seq}"))?;
        self.change(seq, |job| {
            if let JobRow::Live(live) = &mut job.place {
                live.marked = true;
            }
        });
        Ok(())
    }

    /// A job has ended.
    pub(super) fn ended(&self, live: &Live, finish: &Finish, context: &StepContext<'_>) -> Check {
        let seq = live.seq;
        ensure(finish.at == self.wall, Rule::Time, || format!("{finish:?}"))?;
        if finish.ending == Ending::Expired {
            return ensure(self.is_overdue(seq), Rule::Time, || {
                format!("job {seq} has not expired")
            });
        }
        if live.state == State::Available && finish.ending == Ending::Discarded {
            if self.is_oldest_of_full(finish, context) {
                return Ok(());
            }
            return self.check_swept(seq, OnLimit::Drop);
        }
        if live.state != State::Active {
            let cancelled = self.is_cancelled(seq, context) && finish.ending == Ending::Cancelled;
            return ensure(cancelled, Rule::Unasked, || format!("nobody cancelled job {seq}"));
        }
        let Some(job) = self.jobs.get(&seq) else {
            return Ok(());
        };
        let exhausted = !self.has_attempts_left(live);
        let by_policy = ending_of(&job.class.policy.retry);
        let allowed = self.causes(live, context).iter().any(|cause| match cause {
            // Its worker was asked to cancel it: whatever happens now, it does not run again.
            cause if live.is_cancel_requested() && !matches!(cause, Cause::Acked) => {
                finish.ending == Ending::Cancelled
            }
            Cause::Acked => finish.ending == Ending::Completed,
            Cause::Cancelled => finish.ending == Ending::Cancelled,
            Cause::Failed(failure) | Cause::Limited(_, failure, _) => {
                verdict(job, live.attempt, failure) == Some(finish.ending)
            }
            Cause::Lost | Cause::TimedOut => exhausted && finish.ending == by_policy,
            Cause::Requeued | Cause::Undelivered { .. } => false,
        });
        ensure(allowed, Rule::HandedTwice, || {
            format!("job {seq} ended as {:?} at {}: {:?}", finish.ending, self.at, job.lease)
        })
    }

    /// A final failure pauses the key of its job all the same. Of several reports in one request the
    /// first counts.
    pub(super) fn pause_after_failure(&mut self, live: &Live, context: &StepContext<'_>) -> Check {
        let until = match self.causes(live, context).first() {
            Some(Cause::Limited(until, failure, proven))
                if live.is_cancel_requested() || self.is_final(live, failure) =>
            {
                Some((*until, *proven))
            }
            _ => None,
        };
        let class = self.jobs.get(&live.seq).map(|job| job.class.clone());
        if let (Some((until, proven)), Some(class), State::Active) = (until, class, live.state) {
            self.pause_key(&class, until, proven)?;
        }
        Ok(())
    }

    fn is_final(&self, live: &Live, failure: &Failure) -> bool {
        let job = self.jobs.get(&live.seq);
        job.is_some_and(|job| verdict(job, live.attempt, failure).is_some())
    }

    fn causes<'a>(&self, live: &Live, context: &StepContext<'a>) -> Vec<Cause<'a>> {
        let mut causes = Vec::new();
        match &context.step.command {
            Command::Settle(all) => causes.extend(all.iter().filter_map(|one| cause(one, live))),
            Command::Undelivered(undelivered)
                if undelivered.claims.contains(&(live.seq, live.attempt)) =>
            {
                causes.push(Cause::Undelivered { partly_sent: undelivered.partly_sent });
            }
            Command::DropStaleWorker(name) if live.worker.as_ref() == Some(name) => {
                let silent = self.silent_for(name);
                if silent.is_some_and(|ms| ms >= self.config.heartbeat_timeout_ms) {
                    causes.push(Cause::Lost);
                }
            }
            _ => {}
        }
        if self.is_cancelled(live.seq, context) {
            causes.push(Cause::Cancelled);
        }
        let lease = self.jobs.get(&live.seq).and_then(|job| job.lease);
        if lease.is_some_and(|lease| lease.until <= self.at)
            || live.worker.as_ref().is_some_and(|name| self.is_lost(name))
        {
            causes.push(Cause::Lost);
        }
        if lease.is_some_and(|lease| lease.times_out <= self.at) {
            causes.push(Cause::TimedOut);
        }
        causes
    }

    /// By its owner, or by the next run of its schedule.
    fn is_cancelled(&self, seq: Seq, context: &StepContext<'_>) -> bool {
        let is_active = self.jobs.get(&seq).is_some_and(|job| job.state() == State::Active);
        let by_owner = match context.step.command {
            Command::Cancel(_) => context.names(seq),
            Command::RequestCancel(_) => !is_active && context.names(seq),
            _ => false,
        };
        let run_of = self.jobs.get(&seq).and_then(|job| job.run_of.as_ref());
        let cron = run_of.and_then(|name| Some((name, self.crons.get(name)?)));
        let is_replaced = cron.is_some_and(|(name, cron)| {
            let triggered = matches!(&context.step.command, Command::TriggerCron { name: by, .. } if by == name);
            cron.overlap == Overlap::CancelPrevious && (triggered || cron.owes(self.wall))
        });
        by_owner || is_replaced
    }

    /// It has not met limits elsewhere too often.
    fn may_pause(&self, live: &Live) -> bool {
        live.pauses < self.config.most_pauses
    }

    fn has_key(&self, seq: Seq) -> bool {
        self.jobs.get(&seq).is_some_and(|job| job.class.policy.limit.is_some())
    }

    fn has_attempts_left(&self, live: &Live) -> bool {
        let job = self.jobs.get(&live.seq);
        job.is_some_and(|job| live.attempt < job.max_attempts())
    }
}

/// What is left when the running execution does not count.
fn taken_back(live: &Live, pauses: u32) -> Undo {
    Undo { attempt: live.attempt - 1, pauses: live.pauses + pauses }
}

fn cause<'a>(settle: &'a Settle, live: &Live) -> Option<Cause<'a>> {
    let (job, holder) = match settle {
        Settle::Ack(ack) => (&ack.job, &ack.holder),
        Settle::Nack(nack) => (&nack.job, &nack.holder),
    };
    if job.seq != live.seq || !speaks_for(holder, live) {
        return None;
    }
    Some(match settle {
        Settle::Ack(_) => Cause::Acked,
        Settle::Nack(nack) if nack.requeue => Cause::Requeued,
        Settle::Nack(nack) => match nack.failure.limited_until {
            Some(until) => Cause::Limited(until, &nack.failure, nack.proven),
            None => Cause::Failed(&nack.failure),
        },
    })
}

/// Whoever says nothing about itself is believed.
pub(super) fn speaks_for(holder: &Holder, live: &Live) -> bool {
    let worker = match (&holder.worker, &live.worker) {
        (Some(says), Some(holds)) => says == holds,
        _ => true,
    };
    worker && holder.attempt.is_none_or(|attempt| attempt == live.attempt)
}

/// How a failure ends a job, if it does.
fn verdict(job: &Job, attempt: u32, failure: &Failure) -> Option<Ending> {
    let retry = &job.class.policy.retry;
    let forbidden = retry.non_retryable.iter().any(|pattern| {
        let prefix = pattern.strip_suffix('*');
        prefix.map_or(*pattern == failure.kind, |prefix| {
            failure.kind.starts_with(prefix) && failure.kind.len() > prefix.len()
        })
    });
    match failure.code {
        Some(HandlerCode::Discard) => Some(Ending::Discarded),
        Some(HandlerCode::DeadLetter) => Some(Ending::DeadLetter),
        _ if !failure.retryable || forbidden || attempt >= retry.max_attempts => {
            Some(ending_of(retry))
        }
        _ => None,
    }
}

fn ending_of(retry: &RetryPolicy) -> Ending {
    match retry.on_exhaustion {
        Exhaustion::Discard => Ending::Discarded,
        Exhaustion::Unstated | Exhaustion::DeadLetter => Ending::DeadLetter,
    }
}

/// The shortest and longest wait after this attempt.
fn backoff(retry: &RetryPolicy, attempt: u32) -> (i64, i64) {
    let (base, n) = (retry.initial_ms as f64, f64::from(attempt));
    let wait = match retry.strategy {
        Strategy::Constant => base,
        Strategy::Linear => base * n,
        Strategy::Exponential => base * retry.coefficient.0.powi(attempt as i32 - 1),
        Strategy::Polynomial => base * n.powf(retry.coefficient.0),
    };
    let cap = retry.max_ms as f64;
    let wait = wait.min(cap);
    if !retry.jitter {
        return (wait.round() as i64, wait.round() as i64);
    }
    ((wait * 0.5).floor() as i64, (wait * 1.5).min(cap).ceil() as i64)
}
