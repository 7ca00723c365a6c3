//! Checks quotas that an enqueue exceeds: a hard quota rejects the jobs, a soft one is reported in the reply
//! and by an event.

use std::collections::{BTreeMap, BTreeSet};

use rota_engine::{Command, EventKind, Refusal, Reply};
use rota_model::envelope::NewJob;
use rota_model::{Quota, TenantId};
use rota_store::Mutation;

use super::step_context::StepContext;
use super::violation::{Check, Rule, ensure};
use super::world::World;
use crate::runtime::Step;

/// Tenants, and their limits that are exceeded.
#[derive(Default)]
pub struct ExceededQuotas {
    certain: BTreeSet<(TenantId, &'static str)>,
    /// A restart may hold jobs to have come in earlier or later than they did.
    possible: BTreeSet<(TenantId, &'static str)>,
}

const NAMES: [&str; 4] = ["max_queue_depth", "max_scheduled", "max_bytes", "max_enqueue_rate"];

impl World {
    /// What these jobs would cross if they came in now.
    fn exceeded_by(&self, jobs: &[NewJob]) -> ExceededQuotas {
        let mut brought: BTreeMap<&TenantId, (u64, u64, u64)> = BTreeMap::new();
        for job in jobs {
            let later = !job.pending && job.start_at.is_some_and(|at| at > self.wall);
            let (all, scheduled, bytes) = brought.entry(&job.class.tenant).or_default();
            (*all, *scheduled) = (*all + 1, *scheduled + u64::from(later));
            *bytes += job.body.len() as u64;
        }
        let mut exceeded = ExceededQuotas::default();
        for (id, (all, scheduled, bytes)) in brought {
            let config = self.tenant(id);
            let load = self.load(|_, tenant| tenant == id);
            let depth = config.max_queue_depth.is_some_and(|most| load.depth + all > most);
            let most = config.max_scheduled.filter(|_| scheduled > 0);
            let later = most.is_some_and(|most| load.scheduled + scheduled > most);
            let stored = self.stored.of(id) + bytes;
            let large = config.max_bytes.is_some_and(|most| stored > most);
            let (mut rate, mut perhaps) = (false, false);
            if let Some(limit) = config.max_enqueue_rate {
                let from = self.at as i64 - limit.period_ms as i64;
                let arrivals = self.tenants.get(id).map_or(&[][..], |tenant| &tenant.arrivals);
                let known = arrivals.iter().filter(|one| one.earliest > from).count() as u64;
                let most = arrivals.iter().filter(|one| one.latest > from).count() as u64;
                rate = known + all > u64::from(limit.limit);
                perhaps = most + all > u64::from(limit.limit);
            }
            let all = [(depth, depth), (later, later), (large, large), (rate, perhaps)];
            for (name, (certain, possible)) in NAMES.into_iter().zip(all) {
                exceeded.certain.extend(certain.then(|| (id.clone(), name)));
                exceeded.possible.extend(possible.then(|| (id.clone(), name)));
            }
        }
        exceeded
    }

    fn is_soft(&self, tenant: &TenantId) -> bool {
        self.tenant(tenant).quota == Some(Quota::Soft)
    }

    /// Before a step: jobs that cross a hard limit are refused.
    pub(super) fn check_kept_out(&self, step: &Step) -> Check {
        let Command::Enqueue(enqueue) = &step.command else { return Ok(()) };
        let exceeded = self.exceeded_by(&enqueue.jobs);
        let hard = exceeded.certain.iter().find(|(tenant, _)| !self.is_soft(tenant));
        let refused = matches!(step.reply, Reply::Refused(_));
        ensure(hard.is_none() || refused, Rule::Quota, || format!("not refused: {hard:?}"))
    }

    /// The first job of an enqueue is about to come in; what had to make room has gone.
    pub(super) fn note_exceeded_quotas(&self, context: &mut StepContext<'_>) {
        if let (Command::Enqueue(enqueue), Reply::Enqueued(_), None) =
            (&context.step.command, &context.step.reply, &context.exceeded)
        {
            context.exceeded = Some(self.exceeded_by(&enqueue.jobs));
        }
    }

    /// After a step: what was exceeded is what was said.
    pub(super) fn check_exceeded_quotas(&self, context: &StepContext<'_>) -> Check {
        let step = context.step;
        if let (Some(exceeded), Reply::Enqueued(admission)) = (&context.exceeded, &step.reply) {
            for name in NAMES {
                let of = |all: &BTreeSet<_>| all.iter().filter(|(_, is)| *is == name).count();
                let (least, most) = (of(&exceeded.certain), of(&exceeded.possible));
                let told = admission.over_quota.iter().filter(|told| **told == name).count();
                ensure((least..=most).contains(&told), Rule::Quota, || {
                    format!("{name} exceeded {least} to {most} times, told {told} times")
                })?;
            }
        }
        self.check_crossing_events(step)
    }

    /// Each crossing is told once: to those who brought the jobs, and to those who watch.
    fn check_crossing_events(&self, step: &Step) -> Check {
        let (mut warned, mut refused) = (Vec::new(), Vec::new());
        for event in &step.events {
            if let EventKind::TenantLimitExceeded { tenant, limit, current, maximum, soft } =
                &event.kind
            {
                if *limit == "max_concurrency" {
                    let cap = self.cap_of(tenant).map(u64::from);
                    ensure(
                        cap == Some(*maximum) && !soft && current >= maximum,
                        Rule::Quota,
                        || format!("{:?}", event.kind),
                    )?;
                    continue;
                }
                let config = self.tenant(tenant);
                let said = match *limit {
                    "max_queue_depth" => config.max_queue_depth,
                    "max_scheduled" => config.max_scheduled,
                    "max_bytes" => config.max_bytes,
                    _ => config.max_enqueue_rate.map(|rate| u64::from(rate.limit)),
                };
                let right = *soft == self.is_soft(tenant) && said == Some(*maximum);
                ensure(right, Rule::Quota, || format!("{:?}", event.kind))?;
                if *soft { warned.push(*limit) } else { refused.push(*limit) }
            }
        }
        let (mut told, mut turned): (Vec<&str>, Vec<&str>) = Default::default();
        for reply in step.woken.iter().map(|(_, reply)| reply).chain([&step.reply]) {
            match reply {
                Reply::Enqueued(admission) => told.extend(&admission.over_quota),
                Reply::Refused(Refusal::TenantLimit { limit, .. }) => turned.push(*limit),
                _ => {}
            }
        }
        let runs = matches!(
            step.command,
            Command::Tick(_) | Command::Resume(_) | Command::TriggerCron { .. }
        ) && (step.mutations.iter().any(|m| matches!(m, Mutation::Insert(..)))
            || step.events.iter().any(|e| matches!(e.kind, EventKind::CronSkipped { .. })));
        warned.sort_unstable();
        refused.sort_unstable();
        told.sort_unstable();
        turned.sort_unstable();
        // Nobody is answered for the run of a schedule.
        ensure(runs || warned == told && refused == turned, Rule::Quota, || {
            format!(
                "{warned:?} and {refused:?} were told to those who watch, {told:?} and {turned:?} to clients"
            )
        })
    }
}
