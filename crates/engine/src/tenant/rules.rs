//! What a tenant may have, by its configuration and by what was done about its noise.

use rota_model::{State, Weight};

use super::TenantIx;
use crate::Engine;
use crate::config::FairStrategy;
use crate::scheduler::{Reconfigured, TenantRules};

impl Engine {
    /// The most jobs of a tenant that may be active now.
    pub(crate) fn cap_of(&self, tenant: TenantIx) -> Option<u32> {
        let now = self.wall();
        let throttle = self.tenants.get(tenant).row.throttle.as_ref().filter(|t| t.until > now);
        let lowered = throttle.and_then(|throttle| throttle.concurrency);
        lowered.map(|(_, lowered)| lowered).or_else(|| self.given_cap(tenant))
    }

    /// The same without a throttle.
    pub(crate) fn given_cap(&self, tenant: TenantIx) -> Option<u32> {
        let own = self.tenants.get(tenant).config().max_concurrency;
        match self.config.fairness.strategy {
            FairStrategy::Strict => Some(own.unwrap_or(self.config.fairness.default_concurrency)),
            FairStrategy::Weighted | FairStrategy::RoundRobin => own,
        }
    }

    /// A tenant has as many active jobs as it may have.
    pub(crate) fn is_at_cap(&self, tenant: TenantIx) -> bool {
        let cap = self.cap_of(tenant);
        cap.is_some_and(|cap| self.tenants.get(tenant).jobs.count(State::Active) >= u64::from(cap))
    }

    /// The weight that an operator gave a tenant.
    pub(crate) fn weight_of(&self, tenant: TenantIx) -> Weight {
        if self.config.fairness.strategy == FairStrategy::RoundRobin {
            return Weight::ONE;
        }
        let own = self.tenants.get(tenant).config().weight;
        own.unwrap_or(self.config.fairness.default_weight)
    }

    /// The weight by which a tenant is served now.
    pub(crate) fn effective_weight(&self, tenant: TenantIx) -> Weight {
        let throttled = self.tenants.get(tenant).throttled(self.wall());
        throttled.unwrap_or_else(|| self.weight_of(tenant))
    }

    /// What the scheduler should know of a tenant.
    pub(crate) fn rules_of(&self, tenant: TenantIx) -> TenantRules {
        let config = self.tenants.get(tenant).config();
        TenantRules {
            weight: self.effective_weight(tenant),
            cap: self.cap_of(tenant),
            boost: config.priority_boost,
            max_priority: config.max_priority,
        }
    }

    /// Something has changed that the scheduler should know of a tenant.
    pub(crate) fn tenant_changed(&mut self, tenant: TenantIx) {
        let rules = self.rules_of(tenant);
        self.scheduler.reconfigured(Reconfigured::Tenant(tenant, rules));
    }
}
