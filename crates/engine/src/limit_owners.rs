//! Whose rate limits are that have a row on disk, for the cap on them.

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

    /// Whether one more of the asker's keys may have a row.
    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    /// The limit has a row from now on, of this tenant's or of the operator's.
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

    /// The tenant has a key with a row.
    pub fn any_of(&self, tenant: &TenantId) -> bool {
        self.owned.of(tenant) > 0
    }

    /// Keys of this tenant that have a row: as many as the cap allows.
    pub fn of(&self, tenant: &TenantId) -> Vec<LimitIx> {
        let from = (tenant.clone(), LimitIx(0))..=(tenant.clone(), LimitIx(u32::MAX));
        self.by_tenant.range(from).map(|(_, limit)| *limit).collect()
    }
}
