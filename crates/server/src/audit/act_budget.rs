//! How many entries of its own each tenant's acts still get, so that one tenant cannot displace the
//! entries of others.

use std::collections::HashMap;

use rota_model::TenantId;

/// The most tenants that are counted. Acts of further ones get no entries of their own in this interval.
const MAX_TENANTS: usize = 10_000;

pub(super) struct ActBudget {
    per_tenant: usize,
    used: HashMap<TenantId, usize>,
}

impl ActBudget {
    pub fn new(per_tenant: usize) -> Self {
        Self { per_tenant, used: HashMap::new() }
    }

    /// Whether one more act gets an entry of its own. Acts of operators always do.
    pub fn take(&mut self, tenant: Option<&TenantId>) -> bool {
        let Some(tenant) = tenant else { return true };
        if let Some(used) = self.used.get_mut(tenant) {
            *used += 1;
            return *used <= self.per_tenant;
        }
        if self.used.len() == MAX_TENANTS {
            return false;
        }
        self.used.insert(tenant.clone(), 1);
        self.per_tenant > 0
    }

    /// A new interval begins.
    pub fn renew(&mut self) {
        self.used.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(id: &str) -> TenantId {
        TenantId::parse(id).unwrap()
    }

    #[test]
    fn each_tenant_has_its_own_budget_and_operators_have_no_bound() {
        let mut budget = ActBudget::new(2);
        let mut take = |id| budget.take(Some(&tenant(id)));
        assert_eq!([take("a"), take("a"), take("a"), take("b")], [true, true, false, true]);
        assert!((0..100).all(|_| budget.take(None)));
        budget.renew();
        assert!(budget.take(Some(&tenant("a"))));
    }

    #[test]
    fn the_number_of_tenants_is_bounded() {
        let mut budget = ActBudget::new(1);
        assert!((0..MAX_TENANTS).all(|n| budget.take(Some(&tenant(&format!("t{n}"))))));
        assert!(!budget.take(Some(&tenant("one-more"))));
        assert_eq!(budget.used.len(), MAX_TENANTS);
    }
}
