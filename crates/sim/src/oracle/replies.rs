//! Checks that each reply matches what happened.

use rota_engine::{
    Admission, BeatReply, CapReached, Capped, Changed, Command, Enqueue, Fetch, Holder, Refusal,
    Reply, SeenJob, Selected, Settle, Settled, Target, Unchanged,
};
use rota_model::row::JobRow;
use rota_model::{Directive, Ending, State};
use rota_store::Mutation;

use super::apply::is_named;
use super::caps::is_full;
use super::execution_end::speaks_for;
use super::step_context::StepContext;
use super::violation::{Check, Rule, Violation, ensure};
use super::world::World;

impl World {
    pub(super) fn check_reply(&self, context: &StepContext<'_>) -> Check {
        let step = context.step;
        match (&step.command, &step.reply) {
            (
                Command::Fetch(fetch),
                Reply::Refused(Refusal::CapReached(CapReached {
                    capped: Capped::WaitingFetches,
                    ..
                })),
            ) => self.check_missed(fetch, context),
            (Command::TriggerCron { name, .. }, _) => self.check_triggered(name, context),
            (Command::CreateQueue(name, _), Reply::Refused(Refusal::QueueExists)) => {
                ensure(self.queues.contains_key(name), Rule::Reply, || format!("no {name} yet"))
            }
            (_, Reply::Refused(_)) => Ok(()),
            (
                Command::Enqueue(Enqueue { jobs, .. }),
                Reply::Enqueued(Admission { jobs: accepted, .. }),
            ) => {
                let inserted = step.mutations.iter().filter_map(|mutation| match mutation {
                    Mutation::Insert(row, live) => Some((row.seq, row.id, live.state)),
                    _ => None,
                });
                let asked = |seq, id| jobs.iter().any(|job| is_named(job, seq, id));
                let told = accepted.iter().map(|a| (a.seq, a.id, a.state));
                let same = inserted.filter(|(seq, id, _)| asked(*seq, *id)).eq(told);
                ensure(same && accepted.len() == jobs.len(), Rule::Reply, || {
                    format!("accepted {accepted:?}")
                })
            }
            (Command::Fetch(fetch), Reply::Fetched(claims)) => {
                ensure(claims.len() <= fetch.count, Rule::Reply, || "too many".into())?;
                match claims.len() < fetch.count {
                    true => self.check_missed(fetch, context),
                    false => Ok(()),
                }
            }
            (Command::Fetch(_) | Command::Enqueue(_), Reply::Waiting) => Ok(()),
            (Command::Settle(words), Reply::Settled(outcomes)) => {
                same_length(words, outcomes)?;
                let mut both = words.iter().zip(outcomes);
                both.try_for_each(|(word, outcome)| self.check_settled(word, outcome, context))
            }
            (Command::Beat(beat), Reply::Beat(reply)) => {
                self.check_beat(&beat.worker, &beat.jobs, reply)
            }
            (
                Command::Cancel(targets)
                | Command::RequestCancel(targets)
                | Command::Activate(targets)
                | Command::SetPriority(targets, _)
                | Command::Retry(targets)
                | Command::RetryOnly(targets, _)
                | Command::RetryAs(targets, _)
                | Command::Delete(targets)
                | Command::DeleteOnly(targets, _),
                Reply::Changed(outcomes),
            ) => {
                same_length(targets, outcomes)?;
                let mut both = targets.iter().zip(outcomes);
                both.try_for_each(|(target, outcome)| match (&step.command, outcome) {
                    (Command::RetryAs(_, change), Err(Refusal::UndeclaredKey { .. })) => {
                        let right = change.proven && !self.key_is_allowed(&change.class);
                        ensure(right, Rule::Reply, || format!("{outcome:?} for {change:?}"))
                    }
                    (command, outcome) => check_changed(command, target, outcome),
                })
            }
            (Command::Prune(_), Reply::Forgotten(count)) => {
                let deleted = step.mutations.iter();
                let deleted = deleted.filter(|it| matches!(it, Mutation::Delete(_))).count();
                ensure(deleted == *count, Rule::Reply, || format!("pruned {count}"))
            }
            (Command::Replay(due), Reply::Forgotten(count)) => {
                let fits = *count == due.len() || self.maintenance && *count == 0;
                ensure(fits, Rule::Reply, || format!("replayed {count}"))
            }
            (Command::TrimAudit(_), Reply::Forgotten(count)) => {
                ensure(context.trimmed == *count, Rule::Reply, || format!("trimmed {count}"))
            }
            (Command::Forget(all), Reply::Forgotten(count)) => {
                ensure(all.jobs.len() == *count, Rule::Reply, || format!("forgot {count}"))
            }
            (
                _,
                Reply::Queue(_)
                | Reply::Cron { .. }
                | Reply::Maintenance(_)
                | Reply::Tenant { .. }
                | Reply::Pool { .. }
                | Reply::Limit(_)
                | Reply::Done,
            ) => Ok(()),
            (command, reply) => {
                Err(Violation::new(Rule::Reply, format!("{reply:?} is no answer to {command:?}")))
            }
        }
    }

    /// Whoever holds an execution is heard, and nobody else.
    /// A fetch that did not get all that it asked for could have had no more.
    fn check_missed(&self, fetch: &Fetch, context: &StepContext<'_>) -> Check {
        // What its claims made room for came in after it was answered.
        let missed = self.could_have(fetch, |seq| !context.is_new(seq));
        ensure(missed.is_none(), Rule::Waiting, || format!("a fetch did not get job {missed:?}"))
    }

    fn check_settled(
        &self,
        word: &Settle,
        outcome: &Result<Settled, Refusal>,
        context: &StepContext<'_>,
    ) -> Check {
        let (target, holder) = match word {
            Settle::Ack(ack) => (&ack.job, &ack.holder),
            Settle::Nack(nack) => (&nack.job, &nack.holder),
        };
        let named = context.before.iter().filter(|(seq, _)| *seq == target.seq);
        if named.count() > 1 {
            return Ok(());
        }
        let right = match outcome {
            Ok(settled) => {
                holds(target, holder) && context.moves.contains(&(target.seq, settled.state))
            }
            Err(Refusal::NotActive { state }) => {
                context.state_before(target.seq) == Some(*state) && *state != State::Active
            }
            Err(Refusal::NotHolder { .. }) => {
                target.state() == State::Active && !holds(target, holder)
            }
            Err(_) => false,
        };
        ensure(right, Rule::Reply, || {
            format!("{outcome:?} is no answer for {target:?} held by {holder:?}")
        })
    }

    fn check_beat(
        &self,
        worker: &rota_model::WorkerId,
        jobs: &[Target],
        reply: &BeatReply,
    ) -> Check {
        for target in jobs {
            let live = match &target.now {
                rota_model::row::JobRow::Live(live) => Some(live),
                rota_model::row::JobRow::Done(_) => None,
            };
            let running = live.filter(|live| live.state == State::Active);
            let holds =
                running.is_some_and(|live| live.worker.as_ref().is_none_or(|w| w == worker));
            let list = match (holds, target.state()) {
                (true, _) => &reply.extended,
                (false, State::Cancelled) => &reply.cancelled,
                (false, _) => &reply.lost,
            };
            let to_cancel = holds && live.is_some_and(|live| live.is_cancel_requested());
            let told = reply.cancel_requested.contains(&target.id) == to_cancel;
            ensure(told && list.contains(&target.id), Rule::Reply, || {
                format!("{reply:?} is no answer for {target:?}")
            })?;
        }
        let quiet = self.workers.get(worker).is_some_and(|worker| worker.quiet);
        let told = reply.extended.len() + reply.cancelled.len() + reply.lost.len();
        let right = told == jobs.len() && quiet == (reply.directive != Directive::Running);
        ensure(right, Rule::Reply, || format!("{reply:?}"))
    }
}

fn holds(target: &Target, holder: &Holder) -> bool {
    match &target.now {
        rota_model::row::JobRow::Live(live) => {
            live.state == State::Active && speaks_for(holder, live)
        }
        rota_model::row::JobRow::Done(_) => false,
    }
}

fn is_selected(target: &Target, only: Unchanged) -> bool {
    let dead = |row: &JobRow| matches!(row, JobRow::Done(d) if d.ending == Ending::DeadLetter);
    if let JobRow::Done(done) = &target.now
        && done.at > only.by
    {
        return false;
    }
    match only.selected {
        Selected::Waiting => State::WAITING.contains(&target.state()),
        Selected::Ended(None) => target.state().is_terminal(),
        Selected::Ended(Some(state)) => target.state() == state,
        Selected::DeadLetter => dead(&target.now),
    }
}

fn check_changed(command: &Command, target: &Target, outcome: &Result<Changed, Refusal>) -> Check {
    let state = target.state();
    let may = match command {
        Command::Cancel(_) | Command::RequestCancel(_) => !state.is_terminal(),
        Command::Retry(_) | Command::RetryAs(..) => {
            matches!(state, State::Discarded | State::Cancelled)
        }
        Command::SetPriority(_, new) => {
            matches!(&target.now, JobRow::Live(live) if SeenJob::of(live) == new.seen)
                && !matches!(state, State::Active | State::Retryable)
        }
        Command::RetryOnly(_, only) => {
            is_selected(target, *only) && matches!(state, State::Discarded | State::Cancelled)
        }
        Command::Delete(_) => state != State::Active,
        Command::DeleteOnly(_, only) => is_selected(target, *only),
        _ => state == State::Pending,
    };
    let right = match outcome {
        Ok(changed) => {
            let asks = matches!(command, Command::RequestCancel(_)) && state == State::Active;
            may && changed.before == state
                && changed.id == target.id
                && asks == (changed.after == Some(State::Active))
                && (!matches!(command, Command::SetPriority(..)) || changed.after == Some(state))
        }
        // Others have taken the room of a finished job's queue or class.
        Err(Refusal::CapReached(reached)) => {
            let capped = matches!(reached.capped, Capped::Queues | Capped::Classes);
            let new_class = matches!(
                command,
                Command::Retry(_)
                    | Command::RetryOnly(..)
                    | Command::RetryAs(..)
                    | Command::SetPriority(..)
            );
            capped && is_full(reached) && may && new_class
        }
        Err(_) => !may,
    };
    ensure(right, Rule::Reply, || format!("{outcome:?} is no answer for {target:?}"))
}

fn same_length<A, B>(asked: &[A], told: &[B]) -> Check {
    ensure(asked.len() == told.len(), Rule::Reply, || {
        format!("{} answers to {}", told.len(), asked.len())
    })
}
