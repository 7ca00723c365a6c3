//! The owners of rate limits with settings, for the cap on these.

use std::collections::BTreeSet;

use rota_model::TenantId;

use crate::scheduler::limits::LimitIx;
use crate::{Asker, Cap, CapCounter, CapReached, Capped};

pub(crate) struct LimitOwners {
    owned: CapCounter,
    by_tenant: BTreeSet<(TenantId, LimitIx)>,
}

impl LimitOwners {
    pub fn new(cap: Cap) -> Self {
        Self { owned: CapCounter::new(Capped::RateLimits, cap), by_tenant: BTreeSet::new() }
    }

    /// Whether the asker may have one more limit with settings.
    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    /// Counts a limit that now has a row, for a tenant or the operator.
    pub fn add(&mut self, owner: Option<&TenantId>, limit: LimitIx) {
        self.owned.add(owner);
        self.by_tenant.extend(owner.map(|id| (id.clone(), limit)));
    }

    pub fn remove(&mut self, owner: Option<&TenantId>, limit: LimitIx) {
        self.owned.remove(owner);
        if let Some(id) = owner {
            self.by_tenant.remove(&(id.clone(), limit));
        }
    }

    /// Whether the tenant owns a limit with settings.
    pub fn any_of(&self, tenant: &TenantId) -> bool {
        self.owned.of(tenant) > 0
    }

    /// Limits with settings that this tenant owns.
    pub fn of(&self, tenant: &TenantId) -> Vec<LimitIx> {
        let from = (tenant.clone(), LimitIx(0))..=(tenant.clone(), LimitIx(u32::MAX));
        self.by_tenant.range(from).map(|(_, limit)| *limit).collect()
    }
}
