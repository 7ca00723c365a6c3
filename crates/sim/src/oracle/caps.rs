//! Checks the caps on shared resources, per tenant and in total.

use std::collections::{BTreeMap, BTreeSet};

use rota_engine::{Cap, CapReached, Capped, Command, Refusal, Reply, WaiterId};
use rota_model::envelope::NewJob;
use rota_model::{QueueName, TenantId};

use super::step_context::StepContext;
use super::violation::{Check, Rule, ensure};
use super::world::{Blocked, World};

const KINDS: [Capped; 10] = [
    Capped::Queues,
    Capped::Classes,
    Capped::KeptClasses,
    Capped::RateLimits,
    Capped::Pools,
    Capped::Workers,
    Capped::Schedules,
    Capped::ScheduleRuns,
    Capped::WaitingFetches,
    Capped::WaitingEnqueues,
];

/// Steps after which an enqueue that has room has come in, in a world where few wait.
const FEW_STEPS: u32 = 8;

/// How many there are, and how many of each tenant.
struct Count<'a> {
    all: usize,
    by_tenant: BTreeMap<&'a TenantId, usize>,
}

impl Count<'_> {
    fn of(&self, tenant: Option<&TenantId>) -> usize {
        tenant.and_then(|id| self.by_tenant.get(id)).copied().unwrap_or(0)
    }
}

impl World {
    /// After a step: nobody has more than a cap allows, and nobody was refused below it.
    pub(super) fn check_caps(&self, context: &StepContext<'_>) -> Check {
        for capped in KINDS {
            let (count, cap) = (self.count(capped), self.cap(capped));
            let most = count.by_tenant.values().copied().max().unwrap_or(0);
            ensure(count.all <= cap.total && most <= cap.per_tenant, Rule::Quota, || {
                format!("{capped:?}: {} in all, {most} of one tenant, but {cap:?}", count.all)
            })?;
        }
        match &context.step.reply {
            Reply::Refused(Refusal::CapReached(reached)) => self.check_reached(reached, context),
            _ => Ok(()),
        }
    }

    fn check_reached(&self, reached: &CapReached, context: &StepContext<'_>) -> Check {
        let (count, cap) = (self.count(reached.capped), self.cap(reached.capped));
        // Whoever was answered in this step waited while the command was refused. What a job before it
        // in the same request would have made is counted, too.
        let batch = match &context.step.command {
            Command::Enqueue(enqueue) => enqueue.jobs.len(),
            _ => 0,
        };
        let may_be = |told: usize, is: usize, more: usize| (is..=is + more).contains(&told);
        let woken = context.step.woken.len();
        let right = may_be(reached.all, count.all, woken + batch)
            && may_be(reached.own, count.of(reached.tenant.as_ref()), woken)
            && (reached.total, reached.per_tenant) == (cap.total, cap.per_tenant)
            && is_full(reached);
        ensure(right, Rule::Quota, || format!("refused without a reason: {reached:?}"))
    }

    /// One more of this tenant's would fit, even if there were so many more.
    pub(super) fn cap_has_room(&self, capped: Capped, tenant: &TenantId, more: usize) -> bool {
        let (count, cap) = (self.count(capped), self.cap(capped));
        count.of(Some(tenant)) + more < cap.per_tenant
            && count.all + more < cap.total - cap.total / 10
    }

    /// An enqueue that has room comes in, though not always in the same step.
    pub(super) fn check_room_for_waiting(&mut self) -> Check {
        let fits = |(id, waiting): (&WaiterId, &Blocked)| self.fits(&waiting.jobs).then_some(*id);
        let fitting: BTreeSet<WaiterId> = self.blocked.iter().filter_map(fits).collect();
        for (id, waiting) in &mut self.blocked {
            waiting.had_room = if fitting.contains(id) { waiting.had_room + 1 } else { 0 };
            ensure(waiting.had_room <= FEW_STEPS, Rule::Waiting, || {
                format!("enqueue {} waits although its queues have room", id.0)
            })?;
        }
        Ok(())
    }

    fn fits(&self, jobs: &[NewJob]) -> bool {
        jobs.iter().all(|job| {
            let (name, id) = (&job.class.queue, &job.class.tenant);
            let Some(bounds) = self.queues.get(name).and_then(|queue| queue.bounds) else {
                return true;
            };
            let room = |tenant: Option<&TenantId>, most: u64, most_bytes: u64| {
                let is_in = |queue: &QueueName, of: &TenantId| {
                    queue == name && tenant.is_none_or(|tenant| tenant == of)
                };
                let load = self.load(is_in);
                let ours = jobs.iter().filter(|job| is_in(&job.class.queue, &job.class.tenant));
                let (mut depth, mut bytes) = (load.depth, load.bytes);
                ours.for_each(|job| (depth, bytes) = (depth + 1, bytes + job.body.len() as u64));
                (most == 0 || depth <= most) && (most_bytes == 0 || bytes <= most_bytes)
            };
            room(None, bounds.max_depth, bounds.max_bytes)
                && room(Some(id), bounds.tenant_max_depth, bounds.tenant_max_bytes)
        })
    }

    fn cap(&self, capped: Capped) -> Cap {
        let caps = &self.config.caps;
        match capped {
            Capped::Tenants => unreachable!("there are few tenants here"),
            Capped::Queues => caps.queues,
            Capped::Classes => caps.classes,
            Capped::KeptClasses => {
                let Cap { total, per_tenant } = caps.classes;
                Cap { total: total * 10, per_tenant: per_tenant * 10 }
            }
            Capped::RateLimits => caps.rate_limits,
            Capped::Pools => caps.pools,
            Capped::RateKeys => unreachable!("nobody has so many keys here"),
            Capped::Workers => caps.workers,
            Capped::Schedules => caps.schedules,
            Capped::ScheduleRuns => caps.schedule_runs,
            Capped::WaitingFetches => caps.waiting_fetches,
            Capped::WaitingEnqueues => caps.waiting_enqueues,
            Capped::EventStreams => unreachable!("the engine has no event streams"),
            Capped::ErrorTypes => unreachable!("further types are counted together"),
            Capped::Keys => unreachable!("nobody creates keys here"),
            Capped::WorkerBytes | Capped::ScheduleBytes => unreachable!("they are small here"),
        }
    }

    fn count(&self, capped: Capped) -> Count<'_> {
        let owners: Vec<Option<&TenantId>> = match capped {
            Capped::Queues => self.queues.values().map(|queue| queue.owner.as_ref()).collect(),
            Capped::Classes => {
                let living = self.jobs.values().filter(|job| job.live().is_some());
                let classes = living.map(|job| (job.place.class(), &job.class.tenant));
                classes.collect::<BTreeMap<_, _>>().into_values().map(Some).collect()
            }
            Capped::KeptClasses => self.classes.values().map(|class| Some(&class.tenant)).collect(),
            Capped::RateLimits => self.limit_rows.values().map(Option::as_ref).collect(),
            Capped::Pools => self.pools.keys().map(|_| None).collect(),
            // Those with names are operators' here.
            Capped::Workers => self.workers.keys().map(|_| None).collect(),
            Capped::Schedules => self.crons.values().map(|cron| Some(&cron.tenant)).collect(),
            Capped::ScheduleRuns => {
                let runs = self.jobs.values().filter(|job| job.run_of.is_some());
                runs.map(|job| Some(&job.class.tenant)).collect()
            }
            Capped::WaitingFetches => {
                self.waiters.values().map(|waiter| waiter.fetch.tenant.as_ref()).collect()
            }
            Capped::WaitingEnqueues => {
                self.blocked.values().map(|waiting| only_tenant(&waiting.jobs)).collect()
            }
            Capped::Tenants
            | Capped::RateKeys
            | Capped::EventStreams
            | Capped::ErrorTypes
            | Capped::WorkerBytes
            | Capped::ScheduleBytes
            | Capped::Keys => Vec::new(),
        };
        let mut count = Count { all: owners.len(), by_tenant: BTreeMap::new() };
        for tenant in owners.into_iter().flatten() {
            *count.by_tenant.entry(tenant).or_default() += 1;
        }
        count
    }
}

/// The numbers in a refusal say why. The last tenth is not for every tenant.
pub(super) fn is_full(reached: &CapReached) -> bool {
    let CapReached { own, per_tenant, all, total, more, .. } = *reached;
    match &reached.tenant {
        Some(_) => own + more > per_tenant || all + more > total - total / 10,
        None => all + more > total,
    }
}

/// An enqueue for several tenants is an operator's.
fn only_tenant(jobs: &[NewJob]) -> Option<&TenantId> {
    let mut tenants = jobs.iter().map(|job| &job.class.tenant);
    let first = tenants.next()?;
    tenants.all(|tenant| tenant == first).then_some(first)
}
