//! Checks one engine step against the expected world, then applies it to that world.

use rota_engine::{Command, Selected};
use rota_model::envelope::NewJob;
use rota_model::mutation::Undo;
use rota_model::row::JobRow;
use rota_model::{
    Done, Ending, IdKey, JobId, Live, Millis, OnLimit, QueueName, Seq, State, TenantId,
};
use rota_store::{Finish, Mutation, NewRow, Ready, RowKind};

use super::audit::expected;
use super::lifecycle::{Into, allows};
use super::step_context::StepContext;
use super::violation::{Check, Rule, Violation, ensure};
use super::world::{Job, World};
use crate::runtime::Step;

impl World {
    pub fn apply(&mut self, step: &Step) -> Check {
        let (at, wall) = (self.at, self.wall);
        self.at = step.at;
        self.wall = self.wall.max(step.now.wall);
        let passed = (self.at as i64 - at as i64).min(self.wall.since(wall));
        self.limit_at += passed;
        self.stepped = self.wall;
        let was_frozen = self.maintenance;
        if matches!(step.command, Command::Resume(_)) {
            self.give_grace(at);
        }
        let before = self.named_before(step)?;
        self.control(step);
        self.end_words();
        self.hear_throttles(step)?;
        let answers = self.answers(step)?;
        self.check_kept_out(step)?;
        let brought = answers.brought.iter().flat_map(|jobs| jobs.iter()).collect();
        let (claims, moves, freed) = (answers.claims, Vec::new(), Vec::new());
        let (exceeded, notes) = (None, expected(step).into());
        let mut context = StepContext {
            step,
            was_frozen,
            claims,
            brought,
            before,
            moves,
            freed,
            exceeded,
            notes,
            trimmed: 0,
        };
        for mutation in &step.mutations {
            self.mutate(mutation, &mut context)?;
            self.count_bytes(mutation, step.batch);
        }
        if let Some((_, claim)) = context.claims.front() {
            let message = format!("job {} was handed out but not claimed", claim.seq);
            return Err(Violation::new(Rule::Reply, message));
        }
        ensure(context.notes.is_empty(), Rule::Audit, || {
            format!("the audit log lacks {:?}", context.notes)
        })?;
        self.check_reply(&context)?;
        self.check_admission(&context)?;
        self.check_exceeded_quotas(&context)?;
        self.hear(step);
        self.check_caps(&context)?;
        self.check_room_for_waiting()?;
        self.note_present();
        self.note_idle_queues();
        self.note_idle_debts();
        self.note_idle_turns();
        self.note_written();
        if step.lets_time_pass() {
            self.settle_left_out(&context);
        }
        Ok(())
    }

    fn mutate(&mut self, mutation: &Mutation, context: &mut StepContext<'_>) -> Check {
        match mutation {
            Mutation::Class(id, class) => {
                self.classes.insert(*id, class.clone());
                Ok(())
            }
            Mutation::DropClass(id) => {
                self.classes.remove(id);
                let used = self.jobs.values().any(|job| job.place.class() == *id);
                ensure(!used, Rule::Lost, || format!("class {} is in use", id.0))
            }
            Mutation::Insert(row, live) => self.insert(row, live, context),
            Mutation::Claim(claim) => {
                self.enter(claim.seq, Into::State(State::Active), context)?;
                self.claim(claim, context)
            }
            Mutation::Extend { seq, due, reserved_ms } => {
                self.extend(*seq, *due, *reserved_ms, context)
            }
            Mutation::RequestCancel(seq) => self.request_cancel(*seq, context),
            Mutation::Backoff(backoff) => {
                self.enter(backoff.seq, Into::State(State::Retryable), context)?;
                self.back_off(backoff, context)
            }
            Mutation::Postpone { seq, due } if self.is_put_off(*seq) => {
                self.bring_forward(*seq, *due)
            }
            Mutation::Postpone { seq, due } => {
                self.enter(*seq, Into::State(State::Scheduled), context)?;
                self.check_swept(*seq, OnLimit::Reschedule)?;
                self.postpone(*seq, *due)
            }
            Mutation::Ready(ready) => self.ready(ready, context),
            Mutation::Finish(finish) => {
                self.enter(finish.seq, Into::Ended(finish.ending), context)?;
                self.finish(finish, context)
            }
            Mutation::Revive { seq, enqueued } => {
                self.enter(*seq, Into::Again, context)?;
                self.revive(*seq, *enqueued, context)
            }
            Mutation::Bury(seq, dead) => self.bury(*seq, dead, context),
            Mutation::Rewrite(rewrite) => self.rewrite(rewrite, context),
            Mutation::Delete(seq) => self.delete(*seq, context),
            Mutation::Purged(_) => Ok(()),
            Mutation::Put(RowKind::Queue, name, json) => {
                // A queue exists as soon as it is written down.
                if let Ok(name) = QueueName::stored(name) {
                    self.queues.entry(name).or_default().owner = owner_in(json);
                }
                Ok(())
            }
            Mutation::Put(RowKind::Limit, name, json) => {
                self.limit_rows.insert(name.to_string(), owner_in(json));
                Ok(())
            }
            Mutation::Remove(RowKind::Limit, name) => {
                self.limit_rows.remove(&**name);
                Ok(())
            }
            Mutation::Remove(RowKind::Queue, name) => self.queue_gone(name),
            Mutation::Remove(RowKind::Worker, name) => self.worker_gone(name, context),
            Mutation::Audit(row) => self.audit_entry(row, context.notes.pop_front().as_ref()),
            Mutation::TrimAudit(through) => self.trim_audit(*through, context),
            Mutation::Counts(..)
            | Mutation::Replayed(..)
            | Mutation::Error(_)
            | Mutation::Put(..)
            | Mutation::Remove(..)
            | Mutation::History(_)
            | Mutation::ForgetHistory { .. }
            | Mutation::ForgetHistoryOf(_)
            | Mutation::AddUsage(_)
            | Mutation::ForgetUsage { .. }
            | Mutation::ForgetTenantUsage(_)
            | Mutation::Journal(_)
            | Mutation::TrimJournal(_) => Ok(()),
        }
    }

    /// Looks the step up in the table of the lifecycle.
    fn enter(&self, seq: Seq, into: Into, context: &mut StepContext<'_>) -> Check {
        let from = self.jobs.get(&seq).map(Job::state);
        ensure(allows(from, into) && from.is_some(), Rule::Transition, || {
            format!("job {seq} went from {from:?} into {into:?}")
        })?;
        context.moves.push(match into {
            Into::State(state) => (seq, state),
            Into::Ended(ending) => (seq, ending.state()),
            Into::Again => (seq, State::Available),
        });
        Ok(())
    }

    fn insert(&mut self, row: &NewRow, live: &Live, context: &mut StepContext<'_>) -> Check {
        let seq = row.seq;
        let last = self.jobs.last_key_value().map(|(&seq, _)| seq);
        let newest = last.max(self.deleted.last().copied());
        ensure(newest.is_none_or(|n| n < seq), Rule::Order, || {
            format!("job {seq} is not newer than {newest:?}")
        })?;
        let legal = allows(None, Into::State(live.state)) && live.attempt == 0;
        ensure(legal, Rule::Transition, || format!("job {seq}: {live:?}"))?;
        let Some(class) = self.classes.get(&row.class).cloned() else {
            let message = format!("job {seq} has no class");
            return Err(Violation::new(Rule::Store, message));
        };
        let asked = context.brought.iter().copied().find(|job| is_named(job, row.seq, row.id));
        self.note_exceeded_quotas(context);
        let (start_at, run_of) = if let Some(asked) = asked {
            let starts_later = asked.start_at.is_some_and(|at| at > self.wall);
            let expected = match (asked.pending, starts_later) {
                (true, _) => State::Pending,
                (false, true) => State::Scheduled,
                (false, false) => State::Available,
            };
            let kept = live.state == expected && live.expires == asked.expires && !live.marked;
            let kept = kept && *class == asked.class;
            ensure(kept, Rule::Reply, || format!("{asked:?} became {live:?}"))?;
            (asked.start_at, None)
        } else {
            (None, Some(self.cron_run(row, live, context)?))
        };
        context.moves.push((seq, live.state));
        let job = Job {
            id: row.id,
            class,
            start_at,
            place: JobRow::Live(live.clone()),
            requeues: 0,
            lease: None,
            run_of,
            pool: None,
        };
        let tenant = job.class.tenant.clone();
        self.add(seq, job);
        self.arrived(&tenant);
        Ok(())
    }

    fn ready(&mut self, ready: &Ready, context: &mut StepContext<'_>) -> Check {
        let seq = ready.seq;
        let Some(live) = self.jobs.get(&seq).and_then(Job::live).cloned() else {
            let message = format!("job {seq} is ready but does not live");
            return Err(Violation::new(Rule::Transition, message));
        };
        if live.state == State::Available {
            ensure(live.is_held() && !ready.held, Rule::Transition, || {
                format!("job {seq} was available already")
            })?;
            context.freed.push(seq);
            return self.set_ready(ready);
        }
        self.enter(seq, Into::State(State::Available), context)?;
        match live.state {
            State::Pending => {
                ensure(context.names(seq), Rule::Unasked, || format!("nobody activated job {seq}"))?
            }
            State::Active => self.returned(&live, ready, context)?,
            _ => {
                let due = live.due.is_some_and(|due| due <= self.wall);
                ensure(due && !context.was_frozen, Rule::Time, || {
                    format!("job {seq} was not due: {live:?} at {:?}", self.wall)
                })?;
            }
        }
        self.set_ready(ready)
    }

    fn set_ready(&mut self, ready: &Ready) -> Check {
        let wall = self.wall;
        ensure(ready.enqueued == wall, Rule::Time, || format!("{ready:?}"))?;
        self.change(ready.seq, |job| {
            if let JobRow::Live(live) = &mut job.place {
                live.state = State::Available;
                live.enqueued = ready.enqueued;
                live.marked = ready.held;
                take_back(live, ready.undo);
                (live.due, live.worker, live.reserved_ms) = (None, None, 0);
                live.pool = None;
            }
            (job.lease, job.pool) = (None, None);
        });
        Ok(())
    }

    /// A job would have started and was not allowed to; this is what its client wanted then.
    pub(super) fn check_swept(&self, seq: Seq, wish: OnLimit) -> Check {
        let Some(job) = self.jobs.get(&seq) else { return Ok(()) };
        let wants = job.class.policy.limit.as_ref().is_some_and(|limit| limit.on_limit == wish);
        ensure(wants && !self.limits_are_open(&job.class), Rule::Limit, || {
            format!("job {seq} was swept away, {wish:?}, though it might have started")
        })?;
        ensure(!self.waits_for_pause(&job.class), Rule::Limit, || {
            format!("job {seq} was swept away, {wish:?}, though its key was paused")
        })
    }

    /// A limit put the job off, and it has not come back.
    fn is_put_off(&self, seq: Seq) -> bool {
        let live = self.jobs.get(&seq).and_then(Job::live);
        live.is_some_and(|live| live.is_rescheduled())
    }

    /// A job that was put off comes back earlier than it was told, never later.
    fn bring_forward(&mut self, seq: Seq, due: Millis) -> Check {
        let was = self.jobs.get(&seq).and_then(Job::live).and_then(|live| live.due);
        let earlier = due > self.wall && was.is_some_and(|was| due < was);
        ensure(earlier, Rule::Limit, || format!("job {seq} was put off from {was:?} to {due}"))?;
        self.postpone(seq, due)
    }

    fn postpone(&mut self, seq: Seq, due: Millis) -> Check {
        self.change(seq, |job| {
            if let JobRow::Live(live) = &mut job.place {
                (live.state, live.due, live.marked) = (State::Scheduled, Some(due), true);
            }
        });
        Ok(())
    }

    fn finish(&mut self, finish: &Finish, context: &StepContext<'_>) -> Check {
        let seq = finish.seq;
        let Some(live) = self.jobs.get(&seq).and_then(Job::live).cloned() else {
            return Ok(());
        };
        self.ended(&live, finish, context)?;
        self.pause_after_failure(&live, context)?;
        self.change(seq, |job| {
            job.place = JobRow::Done(Done {
                seq,
                class: live.class,
                bytes: live.bytes,
                ending: finish.ending,
                at: finish.at,
                attempt: live.attempt,
                enqueued: live.enqueued,
                started: live.started,
                expires: live.expires,
                purge_at: finish.purge_at,
                result: None,
                dead: None,
            });
            (job.lease, job.run_of, job.pool) = (None, None, None);
        });
        Ok(())
    }

    fn revive(&mut self, seq: Seq, enqueued: Millis, context: &StepContext<'_>) -> Check {
        match &context.step.command {
            Command::Replay(due) if due.iter().any(|due| due.seq == seq) => {
                self.check_replayed(seq)?;
            }
            command => {
                let retried = matches!(
                    command,
                    Command::Retry(_) | Command::RetryOnly(..) | Command::RetryAs(..)
                );
                ensure(retried && context.names(seq), Rule::Unasked, || {
                    format!("nobody retried job {seq}")
                })?;
            }
        }
        self.change(seq, |job| {
            let (class, bytes) = (job.place.class(), job.bytes());
            job.place = JobRow::Live(Live::ready(seq, class, enqueued, bytes));
            // A new life: what the first asked for is past.
            (job.requeues, job.start_at) = (0, None);
        });
        Ok(())
    }

    fn delete(&mut self, seq: Seq, context: &StepContext<'_>) -> Check {
        let Some(job) = self.jobs.get(&seq) else {
            return Err(Violation::new(Rule::Lost, format!("job {seq} is not there")));
        };
        let asked = match (&context.step.command, &job.place) {
            (Command::Delete(_), _) => context.names(seq) && job.state() != State::Active,
            (Command::DeleteOnly(_, only), row) => {
                let is_selected = match (only.selected, row) {
                    (Selected::Waiting, JobRow::Live(_)) => job.state() != State::Active,
                    (Selected::Ended(state), JobRow::Done(done)) => {
                        done.at <= only.by && state.is_none_or(|state| job.state() == state)
                    }
                    (Selected::DeadLetter, JobRow::Done(done)) => {
                        done.at <= only.by && done.ending == Ending::DeadLetter
                    }
                    _ => false,
                };
                context.names(seq) && is_selected
            }
            (Command::Prune(_), JobRow::Done(_)) => {
                self.check_pruned(seq)?;
                context.names(seq)
            }
            (Command::Forget(all), JobRow::Done(done)) => {
                let overdue = done.purge_at.is_some_and(|at| at <= self.wall);
                overdue && all.jobs.iter().any(|one| one.seq == seq)
            }
            _ => false,
        };
        ensure(asked, Rule::Lost, || format!("nobody may delete job {seq}"))?;
        self.remove(seq);
        Ok(())
    }
}

/// An execution that does not count is as if it had not been.
pub(super) fn take_back(live: &mut Live, undo: Option<Undo>) {
    if let Some(undo) = undo {
        (live.attempt, live.pauses) = (undo.attempt, undo.pauses);
    }
}

/// Whether this id is what the job asked for: the client's own, or one that leads to its number.
pub(super) fn is_named(job: &NewJob, seq: Seq, id: JobId) -> bool {
    if job.id_given { job.id == id } else { job.id.seal(IdKey::default(), seq) == id }
}

/// The tenant that a row on disk counts for.
fn owner_in(json: &[u8]) -> Option<TenantId> {
    let row: serde_json::Value = serde_json::from_slice(json).ok()?;
    TenantId::parse(row["owner"].as_str()?).ok()
}
