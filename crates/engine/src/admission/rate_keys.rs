//! The cap on rate-limit keys per tenant, and the requirement that shared keys are declared.

use std::collections::BTreeMap;

use rota_model::envelope::NewJob;
use rota_model::{Class, RateLimit, Scope, TenantId};

use crate::caps::InUse;
use crate::scheduler::limits::Partition;
use crate::{Cap, Capped, Engine, Refusal};

impl Engine {
    /// A key that all tenants share must be declared, where each tenant has its own queues and for
    /// callers whose credentials prove their tenant. Otherwise one tenant could use up or pause what is
    /// another's.
    pub(crate) fn check_shared_key(&self, class: &Class, proven: bool) -> Result<(), Refusal> {
        let Some(limit) = &class.policy.limit else { return Ok(()) };
        if limit.scope == Scope::Tenant || !(proven || self.config.queues_per_tenant) {
            return Ok(());
        }
        let partition = Partition { key: limit.key.clone(), tenant: None };
        let limits = self.scheduler.limits();
        let shared = limits.find(&partition).map(|ix| limits.limit(ix));
        match shared.is_some_and(|limit| limit.settings.declared.is_some()) {
            true => Ok(()),
            false => Err(Refusal::UndeclaredKey { key: limit.key.clone() }),
        }
    }

    pub(super) fn check_rate_keys(&self, jobs: &[NewJob]) -> Result<(), Refusal> {
        let cap = Cap { total: usize::MAX, per_tenant: self.config.caps.rate_keys_per_tenant };
        let mut fresh: BTreeMap<&TenantId, Vec<&RateLimit>> = BTreeMap::new();
        for job in jobs {
            let Some(limit) = &job.class.policy.limit else { continue };
            self.check_shared_key(&job.class, job.proven)?;
            let slot = self.classes.find(&job.class).map(|id| self.classes.slot(id));
            if slot.is_none_or(|slot| slot.live == 0) {
                let all = fresh.entry(&job.class.tenant).or_default();
                if !all.contains(&limit) {
                    all.push(limit);
                }
            }
        }
        for (id, limits) in fresh {
            let tenant = self.tenants.find(id).map(|ix| self.tenants.get(ix));
            let own = tenant.map_or(0, |tenant| tenant.limited_classes as usize);
            let used = InUse { own, all: own };
            used.check(cap, Capped::RateKeys, self.asker(Some(id)), limits.len())?;
        }
        Ok(())
    }
}
