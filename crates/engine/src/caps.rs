//! Caps on what all tenants share: no tenant, and no number of invented ones, can use it up.

use std::collections::BTreeMap;

use rota_model::TenantId;

use crate::{Engine, Origin};

/// How many of one kind there may be, in all and for each tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    pub total: usize,
    pub per_tenant: usize,
}

/// What a cap is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capped {
    Workers,
    Schedules,
    /// Runs of schedules that have not finished.
    ScheduleRuns,
    WaitingFetches,
    WaitingEnqueues,
    EventStreams,
}

/// Why there cannot be one more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapReached {
    pub capped: Capped,
    /// Who asked; `None` is an operator.
    pub tenant: Option<TenantId>,
    /// What it has, and what it may have.
    pub own: usize,
    pub per_tenant: usize,
    /// What all have together, and may have.
    pub all: usize,
    pub total: usize,
}

impl CapReached {
    /// The tenant's own cap is reached. Otherwise it is the total, or the part of it that is open to
    /// this tenant.
    #[must_use]
    pub fn is_tenants(&self) -> bool {
        self.tenant.is_some() && self.own >= self.per_tenant
    }
}

/// Counts things of one kind by their owners.
///
/// Anyone can invent tenants where there are no credentials, so the last tenth of the total is kept
/// back: the first half of it for tenants that have none yet, the rest for tenants that an operator
/// has configured, and for operators.
#[derive(Debug)]
pub struct CapCounter {
    capped: Capped,
    cap: Cap,
    all: usize,
    by_tenant: BTreeMap<TenantId, usize>,
}

impl CapCounter {
    #[must_use]
    pub fn new(capped: Capped, cap: Cap) -> Self {
        Self { capped, cap, all: 0, by_tenant: BTreeMap::new() }
    }

    /// Whether there may be one more of this tenant's, or of the operator's.
    pub fn check(&self, tenant: Option<&TenantId>, configured: bool) -> Result<(), CapReached> {
        let Cap { total, per_tenant } = self.cap;
        let own = self.of(tenant);
        let open = match tenant {
            None => total,
            Some(_) if configured => total,
            Some(_) if own == 0 => total - total / 20,
            Some(_) => total - total / 10,
        };
        if self.all < open && (tenant.is_none() || own < per_tenant) {
            return Ok(());
        }
        let (capped, tenant, all) = (self.capped, tenant.cloned(), self.all);
        Err(CapReached { capped, tenant, own, per_tenant, all, total })
    }

    pub fn add(&mut self, tenant: Option<&TenantId>) {
        self.all += 1;
        let Some(tenant) = tenant else { return };
        match self.by_tenant.get_mut(tenant) {
            Some(own) => *own += 1,
            None => {
                self.by_tenant.insert(tenant.clone(), 1);
            }
        }
    }

    pub fn remove(&mut self, tenant: Option<&TenantId>) {
        debug_assert!(self.all > 0, "only what was added is removed");
        self.all -= 1;
        let Some(tenant) = tenant else { return };
        let Some(own) = self.by_tenant.get_mut(tenant) else { return };
        *own -= 1;
        if *own == 0 {
            self.by_tenant.remove(tenant);
        }
    }

    fn of(&self, tenant: Option<&TenantId>) -> usize {
        tenant.and_then(|id| self.by_tenant.get(id)).copied().unwrap_or(0)
    }
}

impl Engine {
    /// An operator has configured this tenant, so that it is not invented.
    #[must_use]
    pub fn is_configured(&self, tenant: Option<&TenantId>) -> bool {
        let known = tenant.and_then(|id| self.tenants.find(id));
        known.is_some_and(|ix| self.tenants.get(ix).origin() != Origin::Default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: usize) -> TenantId {
        TenantId::parse(&format!("t{number}")).unwrap()
    }

    #[test]
    fn the_last_tenth_is_for_the_first_of_a_tenant_and_the_last_twentieth_for_the_configured() {
        let mut counter = CapCounter::new(Capped::Workers, Cap { total: 100, per_tenant: 1_000 });
        let greedy = tenant(0);
        while counter.check(Some(&greedy), false).is_ok() {
            counter.add(Some(&greedy));
        }
        assert_eq!(counter.all, 90);
        let mut invented = 1;
        while counter.check(Some(&tenant(invented)), false).is_ok() {
            counter.add(Some(&tenant(invented)));
            invented += 1;
        }
        assert_eq!(counter.all, 95);
        let reached = counter.check(Some(&greedy), false).unwrap_err();
        assert!(!reached.is_tenants());
        assert_eq!((reached.own, reached.all, reached.total), (90, 95, 100));
        for one in 0..5 {
            let (asks, configured) = if one < 3 { (Some(&greedy), true) } else { (None, false) };
            counter.check(asks, configured).unwrap();
            counter.add(asks);
        }
        counter.check(None, false).unwrap_err();
        counter.remove(Some(&tenant(1)));
        counter.check(None, false).unwrap();
        counter.check(Some(&tenant(1)), false).unwrap_err();
    }

    #[test]
    fn a_tenant_at_its_cap_leaves_the_rest_to_others() {
        let mut counter = CapCounter::new(Capped::Workers, Cap { total: 9, per_tenant: 2 });
        for _ in 0..2 {
            counter.check(Some(&tenant(0)), true).unwrap();
            counter.add(Some(&tenant(0)));
        }
        let reached = counter.check(Some(&tenant(0)), true).unwrap_err();
        assert!(reached.is_tenants());
        assert_eq!((reached.own, reached.per_tenant), (2, 2));
        counter.check(Some(&tenant(1)), false).unwrap();
        counter.remove(Some(&tenant(0)));
        counter.check(Some(&tenant(0)), false).unwrap();
        (1..9).for_each(|number| counter.add(Some(&tenant(number))));
        counter.check(Some(&tenant(9)), false).unwrap_err();
        counter.remove(None);
        counter.check(Some(&tenant(9)), false).unwrap();
    }
}
