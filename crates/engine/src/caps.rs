//! Caps on what all tenants share: no tenant, and no number of invented ones, can use it up.
//!
//! Without credentials anyone can invent tenants, so the last tenth of a total is reserved: the first half of it
//! for tenants that have none yet, then a quarter of it for tenants that an operator has configured, an eighth for
//! the first of each of these, and the rest for operators.

use std::collections::BTreeMap;

use rota_model::{Cap, TenantId};

use crate::tenant::Tenant;
use crate::{ConfigOrigin, Engine};

/// What a cap is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capped {
    /// Tenants that are known. One that is configured is never refused.
    Tenants,
    Queues,
    /// Classes of unfinished jobs.
    Classes,
    /// Classes of jobs, finished ones included.
    KeptClasses,
    /// Rate limits that a tenant's unfinished jobs carry. The total is that of classes.
    RateKeys,
    /// Keys with a declaration, an override or a pause.
    RateLimits,
    Pools,
    Workers,
    Schedules,
    /// Runs of schedules that have not finished.
    ScheduleRuns,
    WaitingFetches,
    WaitingEnqueues,
    EventStreams,
}

/// Who asks for more of something.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// `None` is an operator.
    pub tenant: Option<&'a TenantId>,
    /// An operator has configured the tenant, so nobody has just invented it.
    pub configured: bool,
}

impl Asker<'_> {
    pub const OPERATOR: Self = Asker { tenant: None, configured: true };
}

/// How many there are, of the asker's and of everyone's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InUse {
    pub own: usize,
    pub all: usize,
}

/// Why there cannot be more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapReached {
    pub capped: Capped,
    /// Who asked; `None` is an operator.
    pub tenant: Option<TenantId>,
    /// How many more it asked for.
    pub more: usize,
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
        self.tenant.is_some() && self.own + self.more > self.per_tenant
    }
}

impl InUse {
    /// Whether the asker may have `more` beside these, all at once.
    pub(crate) fn check(
        self,
        cap: Cap,
        capped: Capped,
        asker: Asker<'_>,
        more: usize,
    ) -> Result<(), CapReached> {
        let Cap { total, per_tenant } = cap;
        let InUse { own, all } = self;
        let first = own == 0 && more == 1;
        let kept_back = match (asker.tenant, asker.configured, first) {
            (None, ..) => 0,
            (Some(_), true, true) => total / 80,
            (Some(_), true, false) => total / 40,
            (Some(_), false, true) => total / 20,
            (Some(_), false, false) => total / 10,
        };
        let open = total - kept_back;
        if all + more <= open && (asker.tenant.is_none() || own + more <= per_tenant) {
            return Ok(());
        }
        let tenant = asker.tenant.cloned();
        Err(CapReached { capped, tenant, more, own, per_tenant, all, total })
    }
}

/// Counts things of one kind by their owners.
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

    /// Whether there may be one more of the asker's.
    pub fn check(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.check_many(asker, 0, 1)
    }

    /// Whether there may be so many more of the asker's, after some of others that are about to come.
    pub(crate) fn check_many(
        &self,
        asker: Asker<'_>,
        others: usize,
        more: usize,
    ) -> Result<(), CapReached> {
        let own = asker.tenant.map_or(0, |id| self.of(id));
        InUse { own, all: self.all + others }.check(self.cap, self.capped, asker, more)
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

    pub(crate) fn of(&self, tenant: &TenantId) -> usize {
        self.by_tenant.get(tenant).copied().unwrap_or(0)
    }
}

impl Engine {
    /// Who asks, for the caps.
    #[must_use]
    pub fn asker<'a>(&self, tenant: Option<&'a TenantId>) -> Asker<'a> {
        let ix = tenant.and_then(|id| self.tenants.find(id));
        let configured = match ix {
            Some(ix) => self.tenants.get(ix).asker().configured,
            None => tenant.is_some_and(is_default),
        };
        Asker { tenant, configured }
    }
}

impl Tenant {
    pub(crate) fn asker(&self) -> Asker<'_> {
        let configured = self.origin() != ConfigOrigin::Default || is_default(&self.id);
        Asker { tenant: Some(&self.id), configured }
    }
}

/// Jobs without a tenant are the operator's own.
fn is_default(tenant: &TenantId) -> bool {
    *tenant == TenantId::default_tenant()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: usize) -> TenantId {
        TenantId::parse(&format!("t{number}")).unwrap()
    }

    fn invented(tenant: &TenantId) -> Asker<'_> {
        Asker { tenant: Some(tenant), configured: false }
    }

    fn configured(tenant: &TenantId) -> Asker<'_> {
        Asker { tenant: Some(tenant), configured: true }
    }

    #[test]
    fn the_last_tenth_is_kept_back_for_those_who_have_none_and_for_the_configured() {
        let mut counter = CapCounter::new(Capped::Workers, Cap { total: 100, per_tenant: 1_000 });
        let greedy = tenant(0);
        while counter.check(invented(&greedy)).is_ok() {
            counter.add(Some(&greedy));
        }
        assert_eq!(counter.all, 90);
        let mut number = 1;
        while counter.check(invented(&tenant(number))).is_ok() {
            counter.add(Some(&tenant(number)));
            number += 1;
        }
        assert_eq!(counter.all, 95);
        let reached = counter.check(invented(&greedy)).unwrap_err();
        assert!(!reached.is_tenants());
        assert_eq!((reached.own, reached.all, reached.total), (90, 95, 100));
        for asker in [configured(&greedy), configured(&greedy), configured(&greedy)] {
            counter.check(asker).unwrap();
            counter.add(asker.tenant);
        }
        counter.check(configured(&greedy)).unwrap_err();
        let late = tenant(1_000);
        counter.check(configured(&late)).unwrap();
        counter.add(Some(&late));
        counter.check(configured(&tenant(1_001))).unwrap_err();
        counter.check(Asker::OPERATOR).unwrap();
        counter.add(None);
        counter.check(Asker::OPERATOR).unwrap_err();
        counter.remove(Some(&tenant(1)));
        counter.check(Asker::OPERATOR).unwrap();
        counter.check(invented(&tenant(1))).unwrap_err();
    }

    #[test]
    fn several_at_once_fit_as_a_whole_or_not_at_all() {
        let mut counter = CapCounter::new(Capped::Queues, Cap { total: 100, per_tenant: 5 });
        counter.check_many(invented(&tenant(0)), 0, 5).unwrap();
        let reached = counter.check_many(invented(&tenant(0)), 0, 6).unwrap_err();
        assert!(reached.is_tenants());
        assert_eq!((reached.own, reached.more), (0, 6));
        (0..88).for_each(|_| counter.add(None));
        counter.check_many(invented(&tenant(0)), 0, 2).unwrap();
        counter.check_many(invented(&tenant(0)), 0, 3).unwrap_err();
        counter.check_many(configured(&tenant(0)), 5, 5).unwrap();
        counter.check_many(configured(&tenant(0)), 6, 5).unwrap_err();
    }

    #[test]
    fn a_tenant_at_its_cap_leaves_the_rest_to_others() {
        let mut counter = CapCounter::new(Capped::Workers, Cap { total: 9, per_tenant: 2 });
        for _ in 0..2 {
            counter.check(configured(&tenant(0))).unwrap();
            counter.add(Some(&tenant(0)));
        }
        let reached = counter.check(configured(&tenant(0))).unwrap_err();
        assert!(reached.is_tenants());
        assert_eq!((reached.own, reached.per_tenant), (2, 2));
        counter.check(invented(&tenant(1))).unwrap();
        counter.remove(Some(&tenant(0)));
        counter.check(invented(&tenant(0))).unwrap();
        (1..9).for_each(|number| counter.add(Some(&tenant(number))));
        counter.check(invented(&tenant(9))).unwrap_err();
        counter.remove(None);
        counter.check(invented(&tenant(9))).unwrap();
    }
}
