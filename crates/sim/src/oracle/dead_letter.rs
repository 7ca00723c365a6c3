//! Checks the dead letter: which jobs enter it, which are replayed, and which may be pruned.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_engine::{Command, Engine, Settle};
use rota_model::row::JobRow;
use rota_model::{
    Class, DeadRow, Done, Ending, Millis, PruningPolicy, QueueName, ReplayRule, Seq, TenantId,
};
use rota_store::Rewrite;

use super::step_context::StepContext;
use super::violation::{Check, Rule, Violation, ensure};
use super::world::{Job, World};

/// Dead jobs by error type; those that are not counted by theirs are under `None`.
type CountsByError = BTreeMap<Option<Arc<str>>, u64>;

impl World {
    /// A job enters the dead letter in the step in which it died; later only its replay changes.
    pub(super) fn bury(&mut self, seq: Seq, dead: &DeadRow, context: &StepContext<'_>) -> Check {
        let Some((done, class)) = self.dead_job(seq) else {
            let message = format!("job {seq} is buried alive");
            return Err(Violation::new(Rule::Transition, message));
        };
        match &done.dead {
            None => {
                ensure(errors_of(seq, context).contains(&&*dead.error), Rule::Reply, || {
                    format!("job {seq} did not die of {}", dead.error)
                })?;
                let due = self.replay_rule(&class, dead, done.at, &|_| 0).map(|(_, due)| due);
                ensure(dead.replay_at == due, Rule::Time, || {
                    format!("job {seq} is replayed at {:?}, not at {due:?}", dead.replay_at)
                })?;
            }
            Some(before) => {
                let same = DeadRow { replay_at: before.replay_at, ..dead.clone() } == *before;
                let asked = matches!(context.step.command, Command::Replay(_));
                ensure(same && asked, Rule::Unasked, || format!("job {seq} is buried again"))?;
                let rule = self.replay_rule(&class, dead, done.at, &|rule| self.replays(seq, rule));
                let due = rule.map(|(_, due)| due);
                // A replay that was refused is tried again later.
                let put_off = due.is_some_and(|due| due <= self.wall)
                    && dead.replay_at.is_some_and(|at| at > self.wall);
                ensure(dead.replay_at == due || put_off, Rule::Time, || {
                    format!("job {seq} is replayed at {:?}, not at {due:?}", dead.replay_at)
                })?;
            }
        }
        self.change(seq, |job| {
            if let JobRow::Done(done) = &mut job.place {
                done.dead = Some(dead.clone());
            }
        });
        Ok(())
    }

    /// A rule may bring the job back: the first that applies and has not done so too often.
    pub(super) fn check_replayed(&mut self, seq: Seq) -> Check {
        let Some((Done { dead: Some(dead), at, .. }, class)) = self.dead_job(seq) else {
            let message = format!("job {seq} was replayed, but is not dead");
            return Err(Violation::new(Rule::Transition, message));
        };
        let rule = self.replay_rule(&class, &dead, at, &|rule| self.replays(seq, rule));
        let due = rule.as_ref().is_some_and(|(_, due)| *due <= self.wall);
        ensure(due && !self.maintenance, Rule::Time, || {
            format!("no rule replays job {seq}: {rule:?}")
        })?;
        if let Some((name, _)) = rule {
            *self.replayed.entry((seq, name)).or_default() += 1;
        }
        Ok(())
    }

    /// A retried job that changes stays its tenant's. A new priority changes nothing else.
    pub(super) fn rewrite(&mut self, rewrite: &Rewrite, context: &StepContext<'_>) -> Check {
        let Rewrite { seq, class, body } = rewrite;
        let new = self.classes.get(class).cloned();
        let old = self.jobs.get(seq).map(|job| job.class.clone());
        let (Some(new), Some(old)) = (new, old) else {
            return Err(Violation::new(Rule::Lost, format!("job {seq} or its class is not there")));
        };
        let asked = match &context.step.command {
            Command::RetryAs(_, change) => {
                Class { tenant: old.tenant.clone(), ..change.class.clone() }
            }
            Command::SetPriority(_, new) if context.names(*seq) => {
                Class { priority: new.priority, ..Class::clone(&old) }
            }
            _ => return Err(Violation::new(Rule::Unasked, format!("job {seq} was rewritten"))),
        };
        ensure(*new == asked, Rule::Reply, || format!("job {seq} became {new:?}"))?;
        self.change(*seq, |job| {
            job.class = new;
            if let JobRow::Live(live) = &mut job.place {
                (live.class, live.bytes) = (*class, body.len() as u32);
            }
        });
        Ok(())
    }

    /// A job may be pruned if it is too old, or the oldest of too many of its tenant in its queue.
    pub(super) fn check_pruned(&self, seq: Seq) -> Check {
        let Some((done, class)) = self.dead_job(seq) else {
            return Err(Violation::new(Rule::Lost, format!("job {seq} is pruned, but not dead")));
        };
        let (max_age, max_count) = self.dead_letter_limits(&class.queue);
        let too_old = done.at.saturating_add_ms(max_age as i64) <= self.wall;
        let beside = self.jobs.values().filter_map(|job| match &job.place {
            JobRow::Done(done) if done.ending == Ending::DeadLetter => {
                let same = job.class.queue == class.queue && job.class.tenant == class.tenant;
                same.then_some(done.at)
            }
            _ => None,
        });
        let all: Vec<_> = beside.collect();
        // Jobs of the same millisecond, as while the clock stands still after a step back, may go in
        // any order.
        let oldest = all.iter().all(|at| *at >= done.at);
        let too_many = all.len() as u64 > max_count;
        ensure(too_old || too_many && oldest, Rule::Lost, || {
            let (at, now) = (done.at, self.wall);
            format!("job {seq} of {at} is pruned at {now}: {max_count} of {} may stay", all.len())
        })
    }

    /// The engine's counters agree with a count of all dead jobs.
    pub(super) fn check_dead_letters(&self, engine: &Engine) -> Check {
        let mut counted: BTreeMap<(TenantId, QueueName), CountsByError> = BTreeMap::new();
        for job in self.jobs.values() {
            if let JobRow::Done(Done { dead: Some(dead), .. }) = &job.place {
                let shard = (job.class.tenant.clone(), job.class.queue.clone());
                let error = (!dead.other).then(|| dead.error.clone());
                *counted.entry(shard).or_default().entry(error).or_default() += 1;
            }
        }
        let shown = engine.dead_letters(None, None, usize::MAX);
        let shown: BTreeMap<_, _> = shown
            .into_iter()
            .map(|view| {
                let mut errors: BTreeMap<_, _> =
                    view.errors.into_iter().map(|(error, count)| (Some(error), count)).collect();
                if view.other > 0 {
                    errors.insert(None, view.other);
                }
                ((view.tenant, view.queue), errors)
            })
            .collect();
        ensure(shown == counted, Rule::Counts, || {
            format!("dead letters are said to be {shown:?}, not {counted:?}")
        })
    }

    fn dead_job(&self, seq: Seq) -> Option<(Done, Arc<Class>)> {
        let Job { class, place: JobRow::Done(done), .. } = self.jobs.get(&seq)? else {
            return None;
        };
        (done.ending == Ending::DeadLetter).then(|| (done.clone(), class.clone()))
    }

    fn replays(&self, seq: Seq, rule: &str) -> u32 {
        self.replayed.get(&(seq, rule.to_owned())).copied().unwrap_or(0)
    }

    /// The first rule that applies to a job, the queue's before the server's, and when.
    fn replay_rule(
        &self,
        class: &Class,
        dead: &DeadRow,
        at: Millis,
        replays: &dyn Fn(&str) -> u32,
    ) -> Option<(String, Millis)> {
        let own = self.queues.get(&class.queue).and_then(|queue| queue.dead_letter.as_deref());
        let own = own.map(|settings| settings.replay_rules.clone()).unwrap_or_default();
        let all = own.into_iter().chain(self.config.replay_rules.clone());
        let applies = |name: &str, rule: &ReplayRule| {
            let filter = &rule.filter;
            rule.enabled
                && filter.error_type.as_ref().is_none_or(|error| *error == dead.error)
                && filter.queue.as_ref().is_none_or(|queue| *queue == class.queue)
                && replays(name) < rule.max_replays
        };
        let (name, rule) = all.into_iter().find(|(name, rule)| applies(name, rule))?;
        Some((name.to_string(), at.saturating_add_ms(rule.delay_ms as i64)))
    }

    /// The longest age in ms and the largest number of jobs.
    fn dead_letter_limits(&self, queue: &QueueName) -> (u64, u64) {
        let own = self.queues.get(queue).and_then(|queue| queue.dead_letter.as_deref());
        let server = self.config.dead_letter;
        debug_assert!(PruningPolicy::ALL.contains(&server.pruning));
        let age = own.and_then(|own| own.max_age_ms).unwrap_or(server.max_age_ms);
        (age, own.and_then(|own| own.max_count).unwrap_or(server.max_count))
    }
}

/// The types of errors that a job may have died of in this step.
fn errors_of<'a>(seq: Seq, context: &StepContext<'a>) -> Vec<&'a str> {
    let mut errors = vec!["timeout", "visibility_timeout", "worker_lost"];
    if let Command::Settle(all) = &context.step.command {
        errors.extend(all.iter().filter_map(|settle| match settle {
            Settle::Nack(nack) if nack.job.seq == seq => Some(&*nack.failure.kind),
            _ => None,
        }));
    }
    errors
}
