//! Caps on what all tenants share, so that neither one tenant nor many invented ones can use it up.
//!
//! Without credentials anybody can invent tenants, so the last tenth of a total is reserved: the
//! first half of it for tenants that have none yet, then a quarter for tenants that an operator
//! configured, an eighth for the first of each of these, and the rest for operators.

use std::collections::BTreeMap;

use rota_model::{Cap, TenantId};

use crate::tenant::Tenant;
use crate::{ConfigOrigin, Engine};

/// What a cap counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capped {
    /// Tenants. Configured ones are never refused.
    Tenants,
    Queues,
    /// Classes with unfinished jobs.
    Classes,
    /// Classes including those with finished jobs only.
    KeptClasses,
    /// Rate-limit keys that a tenant's unfinished jobs use. The total is covered by that of
    /// classes.
    RateKeys,
    /// Keys with a declaration, an override or a pause.
    RateLimits,
    Pools,
    Workers,
    /// Bytes of what workers say about themselves.
    WorkerBytes,
    Schedules,
    /// Bytes of schedules.
    ScheduleBytes,
    /// Unfinished runs of schedules.
    ScheduleRuns,
    WaitingFetches,
    WaitingEnqueues,
    EventStreams,
    /// Types of errors that are counted for a dead letter. Further ones are counted together.
    ErrorTypes,
    /// API keys, including those that have ended and are not forgotten yet.
    Keys,
}

/// Who asks for more of what is capped.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// `None` for an operator.
    pub tenant: Option<&'a TenantId>,
    /// An operator configured the tenant, so it was not just invented.
    pub configured: bool,
}

impl Asker<'_> {
    pub const OPERATOR: Self = Asker { tenant: None, configured: true };
}

/// How many are in use, by the asker and by all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InUse {
    pub own: usize,
    pub all: usize,
}

/// A cap that is reached, for the refusal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapReached {
    pub capped: Capped,
    /// Who asked; `None` for an operator.
    pub tenant: Option<TenantId>,
    /// How many more were asked for.
    pub more: usize,
    /// How many the tenant has, and its cap.
    pub own: usize,
    pub per_tenant: usize,
    /// How many all have together, and the total cap.
    pub all: usize,
    pub total: usize,
    /// Whether the refusal is for an operator, who may see the figures of all.
    pub for_operator: bool,
}

impl CapReached {
    /// Whether the tenant's own cap is reached, rather than the total or the part of it that is
    /// open to this tenant.
    #[must_use]
    pub fn is_tenants(&self) -> bool {
        self.tenant.is_some() && self.own + self.more > self.per_tenant
    }
}

impl InUse {
    /// Whether the asker may have `more` in addition, all at once.
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
        let for_operator = tenant.is_none();
        Err(CapReached { capped, tenant, more, own, per_tenant, all, total, for_operator })
    }
}

/// Counts what is capped, by owner.
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

    /// Whether the asker may have one more.
    pub fn check(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.check_many(asker, 0, 1)
    }

    /// Whether the asker may have `more` in addition, after `others` that are about to be added for
    /// other owners.
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
        self.add_many(tenant, 1);
    }

    pub(crate) fn add_many(&mut self, tenant: Option<&TenantId>, more: usize) {
        if more == 0 {
            return;
        }
        self.all += more;
        let Some(tenant) = tenant else { return };
        match self.by_tenant.get_mut(tenant) {
            Some(count) => *count += more,
            None => {
                self.by_tenant.insert(tenant.clone(), more);
            }
        }
    }

    pub fn remove(&mut self, tenant: Option<&TenantId>) {
        self.remove_many(tenant, 1);
    }

    pub(crate) fn remove_many(&mut self, tenant: Option<&TenantId>, fewer: usize) {
        debug_assert!(self.all >= fewer, "only what was added is removed");
        self.all -= fewer;
        let Some(tenant) = tenant else { return };
        let Some(count) = self.by_tenant.get_mut(tenant) else { return };
        *count -= fewer;
        if *count == 0 {
            self.by_tenant.remove(tenant);
        }
    }

    pub(crate) fn of(&self, tenant: &TenantId) -> usize {
        self.by_tenant.get(tenant).copied().unwrap_or(0)
    }
}

impl Engine {
    /// The asker for a tenant, or an operator.
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

/// Jobs without a tenant are the operator's, so the default tenant counts as configured.
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
