//! Applies commands of operators and workers to the expected world, and checks their replies.

use rota_engine::{CapReached, Capped, Command, Refusal, Reply};
use rota_model::{Directive, LimitKey, WorkerId};

use super::step_context::StepContext;
use super::violation::{Check, Rule, ensure};
use super::world::{Cron, World};
use crate::runtime::Step;

impl World {
    /// A command takes effect before anything is handed out.
    pub(super) fn control(&mut self, step: &Step) {
        self.stored.reported(step.reported);
        if is_refused(step) {
            return;
        }
        self.control_tenants(&step.command);
        self.control_limits(&step.command);
        self.control_pools(&step.command);
        self.control_queue_turns(&step.command);
        match &step.command {
            Command::PauseQueue(name) => {
                self.queues.entry(name.clone()).or_default().paused = true;
            }
            Command::ResumeQueue(name) => {
                self.queues.entry(name.clone()).or_default().paused = false;
            }
            Command::ConfigureQueue(name, settings) | Command::CreateQueue(name, settings) => {
                let queue = self.queues.entry(name.clone()).or_default();
                queue.concurrency = settings.concurrency;
                queue.bounds = settings.bounds;
                queue.dead_letter.clone_from(&settings.dead_letter);
            }
            Command::DeleteQueue(name) => {
                let limit = self.limits.entry((LimitKey::of_queue(name), None)).or_default();
                (limit.declared, limit.replaced, limit.hold) = (None, None, None);
                for tenant in self.tenants.values_mut() {
                    tenant.paused.remove(name);
                }
            }
            Command::Fetch(fetch) => {
                if let Some(name) = &fetch.worker {
                    let worker = self.workers.entry(name.clone()).or_default();
                    if !matches!(step.reply, Reply::Refused(_)) && worker.pool.is_none() {
                        worker.pool.clone_from(&fetch.pool);
                    }
                }
            }
            Command::Beat(beat) => {
                let worker = self.workers.entry(beat.worker.clone()).or_default();
                worker.concurrency = beat.about.concurrency.or(worker.concurrency);
                if let Some(state) = beat.state {
                    worker.says_quiet = state != Directive::Running;
                }
            }
            Command::Register(about) => {
                let worker = self.workers.entry(about.worker.clone()).or_default();
                (worker.quiet, worker.says_quiet) = (false, false);
                worker.concurrency = about.concurrency;
                worker.pool = worker.pool.take().or_else(|| about.pool.clone());
                worker.prefers = about.preference.as_ref().map(|own| own.strategy);
            }
            Command::Direct(name, directive) => {
                if let Some(worker) = self.workers.get_mut(name) {
                    worker.quiet = *directive != Directive::Running;
                }
            }
            Command::Maintain { enabled, .. } => self.maintenance = *enabled,
            Command::PutCron(spec) => {
                let every = if spec.expression.starts_with("*/3") { 3 } else { 1 };
                let cron = Cron {
                    overlap: spec.overlap,
                    enabled: spec.enabled,
                    period_ms: every * 60_000,
                    queue: spec.class.queue.clone(),
                    tenant: spec.class.tenant.clone(),
                    settled: self.wall,
                };
                self.crons.insert(spec.name.clone(), cron);
            }
            Command::RemoveCron(name) => {
                self.crons.remove(name);
            }
            Command::EnableCron(name, enabled) => {
                let wall = self.wall;
                if let Some(cron) = self.crons.get_mut(name) {
                    (cron.enabled, cron.settled) = (*enabled, wall);
                }
            }
            _ => {}
        }
    }

    /// A queue is deleted or forgotten, which takes that none of its jobs lives.
    pub(super) fn queue_gone(&mut self, name: &str) -> Check {
        let living = self.jobs.values().filter(|job| !job.state().is_terminal());
        let living = living.filter(|job| *job.class.queue == *name).count();
        ensure(living == 0, Rule::Transition, || format!("queue {name} went with {living} jobs"))?;
        self.queues.retain(|known, _| **known != *name);
        self.debts.begin_anew();
        Ok(())
    }

    /// After a step, its worker has been heard of; runs of a schedule that is gone are nobody's.
    pub(super) fn hear(&mut self, step: &Step) {
        if is_refused(step) {
            return;
        }
        let (name, beats) = match &step.command {
            Command::Fetch(fetch) => (fetch.worker.as_ref(), false),
            Command::Beat(beat) => (Some(&beat.worker), true),
            Command::Register(about) => (Some(&about.worker), false),
            Command::RemoveCron(name) => {
                let runs = self.jobs.values_mut();
                runs.filter(|job| job.run_of.as_ref() == Some(name))
                    .for_each(|job| job.run_of = None);
                (None, false)
            }
            _ => (None, false),
        };
        if let Some(worker) = name.and_then(|name| self.workers.get_mut(name)) {
            worker.last_seen = step.at;
            worker.beats |= beats;
        }
    }

    pub(super) fn worker_gone(&mut self, name: &str, context: &StepContext<'_>) -> Check {
        let silent = self.silent_for(name);
        let asked = match &context.step.command {
            Command::Deregister(id, _) => **id == *name,
            Command::DropStaleWorker(id) => {
                **id == *name && silent.is_some_and(|ms| ms >= self.config.heartbeat_timeout_ms)
            }
            _ => false,
        };
        let long = silent.is_some_and(|ms| ms >= self.config.forget_worker_after_ms);
        let idle = self.held_by.get(name).is_none_or(|jobs| jobs.is_empty());
        ensure(asked || (long && idle), Rule::Unasked, || {
            format!("worker {name} was removed after {silent:?} ms")
        })?;
        self.workers.remove(name);
        Ok(())
    }

    /// A worker that sends heartbeats has not for too long.
    pub(super) fn is_lost(&self, name: &WorkerId) -> bool {
        let beats = self.workers.get(name).is_some_and(|worker| worker.beats);
        let silent = self.silent_for(name);
        beats && silent.is_some_and(|ms| ms >= self.config.heartbeat_timeout_ms)
    }

    pub(super) fn silent_for(&self, name: &str) -> Option<u64> {
        let worker = self.workers.get(name)?;
        Some(self.at.saturating_sub(worker.last_seen))
    }
}

/// A worker whose fetch names the wrong pool, or may not wait, has been heard all the same.
fn is_refused(step: &Step) -> bool {
    let known = matches!(
        step.reply,
        Reply::Refused(
            Refusal::UnknownPool { .. }
                | Refusal::OtherPool { .. }
                | Refusal::NotInPool { .. }
                | Refusal::CapReached(CapReached { capped: Capped::WaitingFetches, .. })
        )
    );
    let fetched = known && matches!(step.command, Command::Fetch(_));
    matches!(step.reply, Reply::Refused(_)) && !fetched
}
