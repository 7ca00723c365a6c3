//! Collects what is known about the step being checked: its command, its claims and its enqueued jobs.

use std::collections::VecDeque;
use std::sync::Arc;

use rota_engine::{Claimed, Command, Fetch, Refusal, Reply, Settle, Target, WaiterId};
use rota_model::audit::AuditNote;
use rota_model::envelope::NewJob;
use rota_model::row::JobRow;
use rota_model::{Done, Seq, State};

use super::exceeded_quotas::ExceededQuotas;
use super::violation::{Check, Rule, Violation, ensure};
use super::world::{Blocked, Waiter, World};
use crate::runtime::Step;

/// What is known while the mutations of one step are checked.
pub(super) struct StepContext<'a> {
    pub step: &'a Step,
    /// Maintenance was on when the step began; overdue work comes before the command.
    pub was_frozen: bool,
    /// The claims in the replies of this step, each with its fetch.
    pub claims: VecDeque<(Fetch, &'a Claimed)>,
    /// Jobs of the enqueues that are answered in this step.
    pub brought: Vec<&'a NewJob>,
    /// States of the jobs that the command names, before the step.
    pub before: Vec<(Seq, State)>,
    /// Every state transition: the job and its new state.
    pub moves: Vec<(Seq, State)>,
    /// Held runs of schedules that were released.
    pub freed: Vec<Seq>,
    /// Quotas that the jobs of an enqueue exceed, when the first of them is accepted.
    pub exceeded: Option<ExceededQuotas>,
    /// What the audit log must still be told.
    pub notes: VecDeque<&'a AuditNote>,
    /// Entries of the audit log that were deleted.
    pub trimmed: usize,
}

/// The requests that are answered in a step.
pub(super) struct Answers<'a> {
    pub claims: VecDeque<(Fetch, &'a Claimed)>,
    pub brought: Vec<Arc<[NewJob]>>,
}

impl World {
    /// Checks that the jobs that the command names are in the states that the runtime gave the engine.
    pub(super) fn named_before(&self, step: &Step) -> Result<Vec<(Seq, State)>, Violation> {
        let mut before = Vec::new();
        for target in targets(&step.command) {
            let place = self.jobs.get(&target.seq).map(|job| &job.place);
            ensure(same(place, &target.now), Rule::Store, || {
                format!("resolved as {:?}, but it is {place:?}", target.now)
            })?;
            before.push((target.seq, target.state()));
        }
        Ok(before)
    }

    /// Pairs every claim that is answered with the fetch that it answers, and finds the enqueues
    /// that are.
    pub(super) fn answers<'a>(&mut self, step: &'a Step) -> Result<Answers<'a>, Violation> {
        let (mut claims, mut brought) = (VecDeque::new(), Vec::new());
        match (&step.command, &step.reply) {
            (Command::Fetch(fetch), Reply::Fetched(all)) => {
                claims.extend(all.iter().map(|claim| (fetch.clone(), claim)));
            }
            (Command::Fetch(fetch), Reply::Waiting) => {
                let (id, ms) = fetch.wait.ok_or_else(|| {
                    Violation::new(Rule::Waiting, "a fetch waits that did not want to")
                })?;
                // A fetch that names no queue waits for those that its worker serves, or that its
                // pool has at any time.
                let waiter = Waiter { fetch: fetch.clone(), deadline: step.at + ms };
                self.waiters.insert(id, waiter);
            }
            (Command::Enqueue(enqueue), Reply::Waiting) => {
                let (id, ms) = enqueue.wait.ok_or_else(|| {
                    Violation::new(Rule::Waiting, "an enqueue waits that did not want to")
                })?;
                let jobs = enqueue.jobs.clone().into();
                self.blocked.insert(id, Blocked { jobs, deadline: step.at + ms, had_room: 0 });
            }
            (Command::Enqueue(enqueue), Reply::Enqueued(_)) => {
                brought.push(enqueue.jobs.clone().into());
            }
            // Its time may have ended in this very step.
            (Command::StopWaiting(id), _) if !step.woken.iter().any(|(woken, _)| woken == id) => {
                self.waiters.remove(id);
                self.blocked.remove(id);
            }
            _ => {}
        }
        for (id, reply) in &step.woken {
            let all = match reply {
                Reply::Fetched(all) => all,
                Reply::Refused(refusal) if self.waiters.contains_key(id) => {
                    self.check_sent_away(step, *id, refusal)?;
                    continue;
                }
                _ => {
                    let Some(waiting) = self.blocked.remove(id) else {
                        let message = format!("enqueue {} is answered but does not wait", id.0);
                        return Err(Violation::new(Rule::Waiting, message));
                    };
                    if matches!(reply, Reply::Enqueued(_)) {
                        brought.push(waiting.jobs);
                    }
                    continue;
                }
            };
            let Some(waiter) = self.waiters.remove(id) else {
                let message = format!("fetch {} is answered but does not wait", id.0);
                return Err(Violation::new(Rule::Waiting, message));
            };
            let in_time = !all.is_empty() || waiter.deadline <= step.at;
            ensure(in_time, Rule::Waiting, || format!("fetch {} was sent away too early", id.0))?;
            claims.extend(all.iter().map(|claim| (waiter.fetch.clone(), claim)));
        }
        Ok(Answers { claims, brought })
    }
}

impl World {
    /// A fetch that waits is refused only when its pool is deleted, or loses a queue that it names.
    fn check_sent_away(&mut self, step: &Step, id: WaiterId, refusal: &Refusal) -> Check {
        let Some(Waiter { fetch, .. }) = self.waiters.remove(&id) else { return Ok(()) };
        if let (Command::PutPool(name, config), Refusal::NotInPool { pool, queue }) =
            (&step.command, refusal)
        {
            let right = pool == name
                && fetch.queues.contains(queue)
                && fetch.pool.as_ref().is_none_or(|named| named == pool)
                && !config.queues.contains(queue);
            let message = || format!("fetch {} is refused for {queue}", id.0);
            return ensure(right, Rule::Waiting, message);
        }
        let Command::RemovePool(gone) = &step.command else {
            let message = format!("fetch {} is refused while it waits", id.0);
            return Err(Violation::new(Rule::Waiting, message));
        };
        let right = match refusal {
            Refusal::UnknownPool { pool } => pool == gone && fetch.pool.as_ref() == Some(gone),
            Refusal::NoQueues => fetch.pool.is_none() && fetch.queues.is_empty(),
            _ => false,
        };
        ensure(right, Rule::Waiting, || format!("fetch {} is refused with {refusal:?}", id.0))
    }
}

impl StepContext<'_> {
    /// Whether the command speaks of this job.
    pub fn names(&self, seq: Seq) -> bool {
        self.before.iter().any(|(named, _)| *named == seq)
    }

    pub fn state_before(&self, seq: Seq) -> Option<State> {
        let mut named = self.before.iter();
        named.find(|(s, _)| *s == seq).map(|&(_, state)| state)
    }
}

/// The jobs that a command names.
fn targets(command: &Command) -> Vec<&Target> {
    match command {
        Command::Settle(all) => all.iter().map(Settle::job).collect(),
        Command::Beat(beat) => beat.jobs.iter().collect(),
        Command::Cancel(all)
        | Command::RequestCancel(all)
        | Command::Activate(all)
        | Command::SetPriority(all, _)
        | Command::Retry(all)
        | Command::RetryOnly(all, _)
        | Command::RetryAs(all, _)
        | Command::Delete(all)
        | Command::DeleteOnly(all, _) => all.iter().collect(),
        Command::Prune(prune) => prune.jobs.iter().collect(),
        _ => Vec::new(),
    }
}

/// Results are not part of what is looked up.
fn same(known: Option<&JobRow>, resolved: &JobRow) -> bool {
    match (known, resolved) {
        (Some(JobRow::Done(a)), JobRow::Done(b)) => {
            a == b || *a == Done { result: None, ..b.clone() }
        }
        (Some(JobRow::Live(known)), JobRow::Live(live)) => known == live,
        (Some(_), _) => false,
        (None, _) => false,
    }
}
