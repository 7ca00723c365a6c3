//! A tenant's effective rules: its weight, cap and priorities, by configuration and throttle.

use rota_model::{State, Weight};

use super::TenantIx;
use crate::Engine;
use crate::config::FairStrategy;
use crate::scheduler::{Reconfigured, TenantRules};

/// A tenant with new rules, whose lanes are moved in slices.
pub(crate) struct RuleChange {
    tenant: TenantIx,
    /// Shards still to be updated, and classes after these.
    shards: usize,
    classes: usize,
}

impl Engine {
    /// The tenant's current cap on active jobs.
    pub(crate) fn cap_of(&self, tenant: TenantIx) -> Option<u32> {
        let now = self.wall();
        let throttle = self.tenants.get(tenant).row.throttle.as_ref().filter(|t| t.until > now);
        let lowered = throttle.and_then(|throttle| throttle.concurrency);
        lowered.map(|(_, lowered)| lowered).or_else(|| self.configured_cap(tenant))
    }

    /// The tenant's own limit on stored bytes, or that of all tenants.
    pub(crate) fn max_bytes_of(&self, tenant: TenantIx) -> Option<u64> {
        self.tenants.get(tenant).config().max_bytes.or(self.config.max_bytes)
    }

    /// The cap without a throttle.
    pub(crate) fn configured_cap(&self, tenant: TenantIx) -> Option<u32> {
        let max_concurrency = self.tenants.get(tenant).config().max_concurrency;
        match self.config.fairness.strategy {
            FairStrategy::Strict => {
                Some(max_concurrency.unwrap_or(self.config.fairness.default_concurrency))
            }
            FairStrategy::Weighted | FairStrategy::RoundRobin => max_concurrency,
        }
    }

    pub(crate) fn is_at_cap(&self, tenant: TenantIx) -> bool {
        let cap = self.cap_of(tenant);
        cap.is_some_and(|cap| self.tenants.get(tenant).jobs.count(State::Active) >= u64::from(cap))
    }

    /// The configured weight.
    pub(crate) fn weight_of(&self, tenant: TenantIx) -> Weight {
        if self.config.fairness.strategy == FairStrategy::RoundRobin {
            return Weight::ONE;
        }
        let weight = self.tenants.get(tenant).config().weight;
        weight.unwrap_or(self.config.fairness.default_weight)
    }

    /// The current weight, lowered by a throttle.
    pub(crate) fn effective_weight(&self, tenant: TenantIx) -> Weight {
        let throttled = self.tenants.get(tenant).throttled(self.wall());
        throttled.unwrap_or_else(|| self.weight_of(tenant))
    }

    /// The rules that the scheduler needs.
    pub(crate) fn rules_of(&self, tenant: TenantIx) -> TenantRules {
        let config = self.tenants.get(tenant).config();
        TenantRules {
            weight: self.effective_weight(tenant),
            cap: self.cap_of(tenant),
            boost: config.priority_boost,
            max_priority: config.max_priority,
        }
    }

    /// Passes a tenant's rules to the scheduler: at once, or in slices if the tenant has many
    /// classes.
    pub(crate) fn tenant_changed(&mut self, tenant: TenantIx) {
        let rules = self.rules_of(tenant);
        let state = self.tenants.get(tenant);
        if state.living_classes <= self.config.lanes_at_once {
            self.scheduler.reconfigured(Reconfigured::Tenant(tenant, rules));
            return;
        }
        let classes = state.classes.len();
        if self.scheduler.begin_rule_change(tenant, rules) {
            let shards = self.scheduler.shards_of(tenant).len();
            self.rule_changes.retain(|change| change.tenant != tenant);
            self.rule_changes.push_back(RuleChange { tenant, shards, classes });
        }
    }

    /// Updates one lane, or the turns of one shard, after a change of their tenant's rules; false
    /// if there is none. It runs backwards because removing a shard or class moves those behind it
    /// up.
    pub(crate) fn apply_rule_change(&mut self) -> bool {
        let Some(RuleChange { tenant, shards, classes }) = self.rule_changes.front_mut() else {
            return false;
        };
        let tenant = *tenant;
        let exists = self.tenants.contains(tenant);
        let all = if exists { self.scheduler.shards_of(tenant) } else { &[] };
        *shards = (*shards).min(all.len());
        if *shards > 0 {
            *shards -= 1;
            let shard = all[*shards];
            self.scheduler.apply_rules_to_shard(shard);
            return true;
        }
        let all = if exists { &self.tenants.get(tenant).classes[..] } else { &[] };
        *classes = (*classes).min(all.len());
        if *classes > 0 {
            *classes -= 1;
            self.scheduler.apply_rules_to_lane(all[*classes]);
            return true;
        }
        self.rule_changes.pop_front();
        self.scheduler.end_rule_change(tenant);
        true
    }
}
