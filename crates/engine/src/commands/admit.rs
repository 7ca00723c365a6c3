//! Whether jobs may come in: the limits of their tenants, then the bounds of their queues.

use std::collections::BTreeMap;

use rota_model::envelope::NewJob;
use rota_model::{QueueName, Quota, Scope, State, TenantId};

use super::drop_oldest::Drops;
use crate::caps::InUse;
use crate::scheduler::Size;
use crate::scheduler::limits::{Partition, Window};
use crate::tenant::TenantIx;
use crate::{Cap, Capped, Engine, EventKind, Refusal};

/// What a batch brings, by tenant and by queue.
#[derive(Default)]
pub(super) struct Load<'a> {
    tenants: BTreeMap<&'a TenantId, Share>,
    pub queues: BTreeMap<&'a QueueName, Share>,
    pub parts: BTreeMap<(&'a QueueName, &'a TenantId), Share>,
}

#[derive(Default, Clone, Copy)]
pub(super) struct Share {
    pub jobs: u64,
    scheduled: u64,
    pub bytes: u64,
}

/// What keeps a batch out.
pub(super) enum Obstacle {
    /// For now or for good.
    No(Refusal),
    /// The queue is full, and lets enqueues wait.
    Wait(Refusal),
}

/// How a batch may come in.
#[derive(Default)]
pub(super) struct Terms {
    /// Limits that it crosses and that only warn.
    pub over: Vec<Crossing>,
    /// These must go first.
    pub drops: Drops,
}

/// A tenant's limit that jobs cross.
pub(super) struct Crossing {
    tenant: TenantId,
    limit: &'static str,
    current: u64,
    maximum: u64,
}

impl Engine {
    /// Everything that could keep out one of the jobs, before the first is accepted.
    pub(super) fn admits(&mut self, jobs: &[NewJob]) -> Result<Terms, Obstacle> {
        let mut terms = Terms::default();
        if !self.has_limits(jobs) {
            return Ok(terms);
        }
        let load = Load::of(jobs, self.wall());
        terms.over = self.check_tenants(&load).map_err(Obstacle::No)?;
        self.check_keys(jobs).map_err(Obstacle::No)?;
        terms.drops = self.check_bounds(&load, jobs)?;
        Ok(terms)
    }

    /// The limits that jobs would cross and that only warn; what crosses others is refused.
    pub(super) fn check_tenants(&mut self, load: &Load<'_>) -> Result<Vec<Crossing>, Refusal> {
        let mut over = Vec::new();
        for (id, share) in &load.tenants {
            let Some(ix) = self.tenants.find(id) else {
                continue;
            };
            let soft = self.tenants.get(ix).quota() == Quota::Soft;
            for refusal in self.exceeded_by(ix, share) {
                let Refusal::TenantLimit { limit, current, maximum, .. } = refusal else {
                    continue;
                };
                let crossing = Crossing { tenant: (*id).clone(), limit, current, maximum };
                if !soft {
                    self.tell_crossed(crossing, false);
                    return Err(refusal);
                }
                over.push(crossing);
            }
        }
        Ok(over)
    }

    /// Says that a limit was crossed, once it is decided what that means. Gives its name.
    pub(super) fn tell_crossed(&mut self, crossing: Crossing, soft: bool) -> &'static str {
        let Crossing { tenant, limit, current, maximum } = crossing;
        self.emit(EventKind::TenantLimitExceeded { tenant, limit, current, maximum, soft });
        limit
    }

    /// Whether anything could keep one of the jobs out. Most servers have few limits, and this is
    /// asked for every job.
    fn has_limits(&self, jobs: &[NewJob]) -> bool {
        let (tenants, queues) = (self.tenants.any_configured(), self.queues.any_bounded());
        jobs.iter().any(|job| {
            let class = &job.class;
            let tenant = || self.tenants.find(&class.tenant).map(|ix| self.tenants.get(ix));
            let queue = || self.queues.find(&class.queue).map(|ix| self.queues.get(ix));
            class.policy.limit.is_some()
                || tenants && tenant().is_some_and(|one| one.origin() != crate::Origin::Default)
                || queues && queue().is_some_and(|one| one.row.settings.bounds.is_some())
        })
    }

    /// The limits of a tenant that these jobs would cross.
    fn exceeded_by(&mut self, ix: TenantIx, share: &Share) -> Vec<Refusal> {
        let tenant = self.tenants.get(ix);
        let (config, id) = (tenant.config(), tenant.id.clone());
        let (depth, scheduled) = (tenant.jobs.depth(), tenant.jobs.count(State::Scheduled));
        let rate = config.max_enqueue_rate;
        let refusal = |limit, current, maximum, retry_ms| Refusal::TenantLimit {
            tenant: id.clone(),
            limit,
            current,
            maximum,
            retry_ms,
        };
        let mut exceeded = Vec::new();
        let over = |most: Option<u64>, is, more| most.filter(|most| more > 0 && is + more > *most);
        let (jobs, later) = (share.jobs, share.scheduled);
        if let Some(most) = over(config.max_queue_depth, depth, jobs) {
            let wait = (jobs <= most).then(|| self.until_gone(ix, depth + jobs - most));
            exceeded.push(refusal("max_queue_depth", depth, most, wait));
        }
        if let Some(most) = over(config.max_scheduled, scheduled, later) {
            let wait = (later <= most).then(|| self.until_due(ix, scheduled + later - most));
            exceeded.push(refusal("max_scheduled", scheduled, most, wait));
        }
        let Some(rate) = rate else { return exceeded };
        let mono = self.now.mono as i64;
        let window = self.enqueue_window(ix, rate);
        let current = window.count(mono);
        if current + share.jobs > u64::from(rate.limit) {
            let opens = window.opens_at(rate.limit, share.jobs);
            let wait = opens.map(|at| at.saturating_sub(mono).max(1) as u64);
            exceeded.push(refusal("max_enqueue_rate", current, u64::from(rate.limit), wait));
        }
        exceeded
    }

    pub(crate) fn enqueue_window(&mut self, ix: TenantIx, rate: rota_model::Rate) -> &mut Window {
        let slot = &mut self.tenants.get_mut(ix).enqueued;
        let known = slot.take().filter(|window| window.period_ms() == rate.period_ms);
        let fresh = || Box::new(Window::new(rate.period_ms, rate.limit));
        let window = slot.insert(known.unwrap_or_else(fresh));
        window.admit(rate.limit);
        window
    }

    /// Counts jobs that came in against their tenant's rate.
    pub(crate) fn count_enqueued(&mut self, ix: TenantIx, n: u32, at: i64) {
        if let Some(rate) = self.tenants.get(ix).config().max_enqueue_rate {
            self.enqueue_window(ix, rate).record(at, n);
        }
    }

    fn check_keys(&self, jobs: &[NewJob]) -> Result<(), Refusal> {
        let cap = Cap { total: usize::MAX, per_tenant: self.config.caps.rate_keys_per_tenant };
        let mut fresh: BTreeMap<&TenantId, Vec<&rota_model::RateLimit>> = BTreeMap::new();
        for job in jobs {
            let Some(limit) = &job.class.policy.limit else { continue };
            if self.config.global_keys_declared && limit.scope == Scope::Global {
                let partition = Partition { key: limit.key.clone(), tenant: None };
                let limits = self.scheduler.limits();
                let known = limits.find(&partition).map(|ix| limits.limit(ix));
                if known.is_none_or(|limit| limit.row.declared.is_none()) {
                    return Err(Refusal::UndeclaredKey { key: limit.key.clone() });
                }
            }
            let known = self.classes.find(&job.class).map(|id| self.classes.slot(id));
            if known.is_none_or(|slot| slot.live == 0) {
                let all = fresh.entry(&job.class.tenant).or_default();
                if !all.contains(&limit) {
                    all.push(limit);
                }
            }
        }
        for (id, limits) in fresh {
            let tenant = self.tenants.find(id).map(|ix| self.tenants.get(ix));
            let own = tenant.map_or(0, |one| one.keys as usize);
            let used = InUse { own, all: own };
            used.check(cap, Capped::RateKeys, self.asker(Some(id)), limits.len())?;
        }
        Ok(())
    }
}

impl<'a> Load<'a> {
    pub(super) fn of(jobs: &'a [NewJob], now: rota_model::Millis) -> Self {
        let mut load = Self::default();
        for job in jobs {
            let scheduled = !job.pending && job.start_at.is_some_and(|at| at > now);
            let share = Share {
                jobs: 1,
                scheduled: u64::from(scheduled),
                bytes: Size::of(job.body.len() as u64).bytes(),
            };
            load.tenants.entry(&job.class.tenant).or_default().add(share);
            load.queues.entry(&job.class.queue).or_default().add(share);
            let part = (&job.class.queue, &job.class.tenant);
            load.parts.entry(part).or_default().add(share);
        }
        load
    }
}

impl Share {
    fn add(&mut self, other: Share) {
        self.jobs += other.jobs;
        self.scheduled += other.scheduled;
        self.bytes += other.bytes;
    }
}
