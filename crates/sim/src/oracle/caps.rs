//! Caps on what all tenants share.

use std::collections::BTreeMap;

use rota_engine::{Cap, CapReached, Capped, Refusal, Reply};
use rota_model::TenantId;
use rota_model::envelope::NewJob;

use super::scene::Scene;
use super::violation::{Check, Rule, ensure};
use super::world::{Cron, World};

const KINDS: [Capped; 5] = [
    Capped::Workers,
    Capped::Schedules,
    Capped::ScheduleRuns,
    Capped::WaitingFetches,
    Capped::WaitingEnqueues,
];

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
    pub(super) fn check_caps(&self, scene: &Scene<'_>) -> Check {
        for capped in KINDS {
            let (count, cap) = (self.count(capped), self.cap(capped));
            let most = count.by_tenant.values().copied().max().unwrap_or(0);
            ensure(count.all <= cap.total && most <= cap.per_tenant, Rule::Quota, || {
                format!("{capped:?}: {} in all, {most} of one tenant, but {cap:?}", count.all)
            })?;
        }
        match &scene.step.reply {
            Reply::Refused(Refusal::CapReached(reached)) => self.check_reached(reached, scene),
            _ => Ok(()),
        }
    }

    fn check_reached(&self, reached: &CapReached, scene: &Scene<'_>) -> Check {
        let (count, cap) = (self.count(reached.capped), self.cap(reached.capped));
        // Whoever was answered in this step waited while the command was refused.
        let may_be = |told: usize, is: usize| (is..=is + scene.step.woken.len()).contains(&told);
        let right = may_be(reached.all, count.all)
            && may_be(reached.own, count.of(reached.tenant.as_ref()))
            && match &reached.tenant {
                // The last tenth is not for everyone.
                Some(_) => {
                    reached.own >= cap.per_tenant || reached.all >= cap.total - cap.total / 10
                }
                None => reached.all >= cap.total,
            };
        ensure(right, Rule::Quota, || format!("refused without a reason: {reached:?}"))
    }

    /// No cap can have kept a schedule's run out in a step after which this is the world, and in
    /// which so many jobs may have ended.
    pub(super) fn cap_has_room(&self, cron: &Cron, ended: usize) -> bool {
        let (count, cap) = (self.count(Capped::ScheduleRuns), self.cap(Capped::ScheduleRuns));
        count.of(Some(&cron.tenant)) + ended < cap.per_tenant
            && count.all + ended < cap.total - cap.total / 10
    }

    fn cap(&self, capped: Capped) -> Cap {
        let caps = &self.config.caps;
        match capped {
            Capped::Workers => caps.workers,
            Capped::Schedules => caps.schedules,
            Capped::ScheduleRuns => caps.schedule_runs,
            Capped::WaitingFetches => caps.waiting_fetches,
            Capped::WaitingEnqueues => caps.waiting_enqueues,
            Capped::EventStreams => unreachable!("the engine has no event streams"),
        }
    }

    fn count(&self, capped: Capped) -> Count<'_> {
        let owners: Vec<Option<&TenantId>> = match capped {
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
            Capped::EventStreams => Vec::new(),
        };
        let mut count = Count { all: owners.len(), by_tenant: BTreeMap::new() };
        for tenant in owners.into_iter().flatten() {
            *count.by_tenant.entry(tenant).or_default() += 1;
        }
        count
    }
}

/// An enqueue for several tenants is an operator's.
fn only_tenant(jobs: &[NewJob]) -> Option<&TenantId> {
    let mut tenants = jobs.iter().map(|job| &job.class.tenant);
    let first = tenants.next()?;
    tenants.all(|tenant| tenant == first).then_some(first)
}
