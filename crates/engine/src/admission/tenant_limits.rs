//! The limits of a tenant: queue depth, scheduled jobs, stored bytes, enqueue rate.

use rota_model::{Quota, Rate, State, TenantId};

use super::batch::{BatchLoad, Load};
use super::retry_after::MS_UNTIL_FREED;
use crate::scheduler::limits::Window;
use crate::tenant::TenantIx;
use crate::{Engine, EventKind, Refusal};

/// A tenant's limit that a batch exceeds.
pub(super) struct ExceededLimit {
    tenant: TenantId,
    limit: &'static str,
    current: u64,
    maximum: u64,
}

impl ExceededLimit {
    /// `None` for a refusal for another reason.
    pub(super) fn of(refusal: &Refusal) -> Option<Self> {
        match refusal {
            Refusal::TenantLimit { tenant, limit, current, maximum, .. } => {
                Some(Self { tenant: tenant.clone(), limit, current: *current, maximum: *maximum })
            }
            _ => None,
        }
    }
}

impl Engine {
    /// Refuses a batch that exceeds a hard limit; returns the soft limits that it exceeds.
    pub(super) fn check_tenant_limits(
        &mut self,
        load: &BatchLoad<'_>,
    ) -> Result<Vec<ExceededLimit>, Refusal> {
        let mut soft_limits = Vec::new();
        for (id, load) in &load.tenants {
            let (soft, refusals) = match self.tenants.find(id) {
                Some(ix) => {
                    let soft = self.tenants.get(ix).quota() == Quota::Soft;
                    (soft, self.limits_exceeded_by(ix, load))
                }
                // These are the tenant's first jobs: only the default applies.
                None => {
                    let exceeded = self.bytes_exceeded_by(id, self.config.max_bytes, load);
                    (false, exceeded.into_iter().collect())
                }
            };
            for refusal in refusals {
                let Some(exceeded) = ExceededLimit::of(&refusal) else { continue };
                if !soft {
                    self.emit_tenant_limit_exceeded(exceeded, false);
                    return Err(refusal);
                }
                soft_limits.push(exceeded);
            }
        }
        Ok(soft_limits)
    }

    /// Emits the event for an exceeded limit and returns the limit's name.
    pub(super) fn emit_tenant_limit_exceeded(
        &mut self,
        exceeded: ExceededLimit,
        soft: bool,
    ) -> &'static str {
        let ExceededLimit { tenant, limit, current, maximum } = exceeded;
        self.emit(EventKind::TenantLimitExceeded { tenant, limit, current, maximum, soft });
        limit
    }

    /// A refusal for each of the tenant's limits that these jobs would exceed.
    fn limits_exceeded_by(&mut self, ix: TenantIx, load: &Load) -> Vec<Refusal> {
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
            job_too_large: false,
        };
        let mut exceeded = Vec::new();
        let exceeds = |most: Option<u64>, current, more| {
            most.filter(|most| more > 0 && current + more > *most)
        };
        let (jobs, later) = (load.jobs, load.scheduled);
        if let Some(most) = exceeds(config.max_queue_depth, depth, jobs) {
            let wait = (jobs <= most).then(|| self.ms_until_started(ix, depth + jobs - most));
            exceeded.push(refusal("max_queue_depth", depth, most, wait));
        }
        if let Some(most) = exceeds(config.max_scheduled, scheduled, later) {
            let wait = (later <= most).then(|| self.ms_until_due(ix, scheduled + later - most));
            exceeded.push(refusal("max_scheduled", scheduled, most, wait));
        }
        exceeded.extend(self.bytes_exceeded_by(&id, self.max_bytes_of(ix), load));
        let Some(rate) = rate else { return exceeded };
        let mono = self.now.mono as i64;
        let window = self.enqueue_window(ix, rate);
        let current = window.count(mono);
        if current + load.jobs > u64::from(rate.limit) {
            let opens = window.opens_at(rate.limit, load.jobs);
            let wait = opens.map(|at| at.saturating_sub(mono).max(1) as u64);
            exceeded.push(refusal("max_enqueue_rate", current, u64::from(rate.limit), wait));
        }
        exceeded
    }

    /// A refusal, if what is to be stored would exceed the tenant's stored bytes.
    pub(super) fn bytes_exceeded_by(
        &self,
        id: &TenantId,
        maximum: Option<u64>,
        load: &Load,
    ) -> Option<Refusal> {
        let (maximum, current) = (maximum?, self.stored_bytes(id));
        (current + load.stored > maximum).then(|| Refusal::TenantLimit {
            tenant: id.clone(),
            limit: "max_bytes",
            current,
            maximum,
            retry_ms: (load.stored <= maximum).then_some(MS_UNTIL_FREED),
            job_too_large: load.largest > maximum,
        })
    }

    pub(crate) fn enqueue_window(&mut self, ix: TenantIx, rate: Rate) -> &mut Window {
        let slot = &mut self.tenants.get_mut(ix).enqueued;
        let same_period = slot.take().filter(|window| window.period_ms() == rate.period_ms);
        let fresh = || Box::new(Window::new(rate.period_ms, rate.limit));
        let window = slot.insert(same_period.unwrap_or_else(fresh));
        window.admit(rate.limit);
        window
    }

    /// Counts accepted jobs against their tenant's enqueue rate. `at` is monotonic, in ms.
    pub(crate) fn count_enqueued(&mut self, ix: TenantIx, n: u32, at: i64) {
        if let Some(rate) = self.tenants.get(ix).config().max_enqueue_rate {
            self.enqueue_window(ix, rate).record(at, n);
        }
    }
}
