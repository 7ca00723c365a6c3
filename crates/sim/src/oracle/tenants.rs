//! Tracks the configuration of tenants, and what it implies for their jobs.

use std::collections::BTreeSet;

use rota_engine::{Command, FairStrategy, PriorityScope};
use rota_model::{Class, Millis, QueueName, TenantConfig, TenantId};

use super::stored_time::Moment;
use super::world::World;

#[derive(Clone, Default)]
pub struct Tenant {
    pub config: TenantConfig,
    /// Queues in which its jobs are kept back.
    pub paused: BTreeSet<QueueName>,
    pub active: u64,
    /// When jobs came in, since its present rate was first said.
    pub arrivals: Vec<Moment>,
    /// It is throttled.
    pub lowered: Option<super::throttles::Lowered>,
    /// It was released by hand, and is not throttled again before this.
    pub spared_until: Option<Millis>,
}

impl World {
    pub(super) fn tenant(&self, id: &TenantId) -> &TenantConfig {
        static NOTHING: std::sync::LazyLock<TenantConfig> =
            std::sync::LazyLock::new(TenantConfig::default);
        self.tenants.get(id).map_or(&*NOTHING, |tenant| &tenant.config)
    }

    /// How many active jobs a tenant may have.
    pub(super) fn given_cap(&self, id: &TenantId) -> Option<u32> {
        let own = self.tenant(id).max_concurrency;
        match self.config.fairness.strategy {
            FairStrategy::Strict => own.or(Some(self.config.fairness.default_concurrency)),
            FairStrategy::Weighted | FairStrategy::RoundRobin => own,
        }
    }

    /// Whether a tenant may have one more job of this queue.
    pub(super) fn tenant_is_open(&self, id: &TenantId, queue: &QueueName) -> bool {
        let cap = self.cap_of(id);
        let tenant = self.tenants.get(id);
        let active = tenant.map_or(0, |tenant| tenant.active);
        let paused = tenant.is_some_and(|tenant| tenant.paused.contains(queue));
        !paused && cap.is_none_or(|cap| active < u64::from(cap))
    }

    pub(super) fn priority_of(&self, class: &Class) -> i16 {
        let most = self.tenant(&class.tenant).max_priority;
        most.map_or(class.priority, |most| class.priority.min(most))
    }

    /// The level at which jobs of this class compete with those of other tenants.
    pub(super) fn level_of(&self, class: &Class) -> i32 {
        let boost = self.tenant(&class.tenant).priority_boost;
        match self.config.fairness.priority_scope {
            PriorityScope::Global => i32::from(self.priority_of(class)) + boost,
            PriorityScope::Tenant => boost,
        }
    }

    pub(super) fn control_tenants(&mut self, command: &Command) {
        match command {
            Command::PutTenant(id, change) => {
                let weight = self.weight_of(id);
                let tenant = self.tenants.entry(id.clone()).or_default();
                let period = |config: &TenantConfig| config.max_enqueue_rate.map(|r| r.period_ms);
                if period(&tenant.config) != period(&change.config) {
                    tenant.arrivals.iter_mut().for_each(Moment::need_not_count);
                }
                tenant.config = change.config.clone();
                if weight != self.weight_of(id) {
                    let new = self.weight_of(id);
                    self.turns.disturbed(id, new);
                }
            }
            Command::DeleteTenant(id, _) => {
                let tenant = self.tenants.entry(id.clone()).or_default();
                tenant.config = TenantConfig::default();
                tenant.paused.clear();
                tenant.arrivals.iter_mut().for_each(Moment::need_not_count);
                (tenant.lowered, tenant.spared_until) = (None, None);
                self.forget_limits_of(id);
                let new = self.weight_of(id);
                self.turns.disturbed(id, new);
            }
            Command::PauseShard(id, queue) => {
                self.tenants.entry(id.clone()).or_default().paused.insert(queue.clone());
            }
            Command::ResumeShard(id, queue) => {
                self.tenants.entry(id.clone()).or_default().paused.remove(queue);
            }
            _ => {}
        }
    }
}
