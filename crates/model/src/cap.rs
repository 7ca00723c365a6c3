//! Caps on resources that tenants share.

/// The maximum number of something, in total and per tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    /// For all tenants together.
    pub total: usize,
    /// For any one tenant.
    pub per_tenant: usize,
}

impl Cap {
    /// For labels of metrics: one tenant may have half of them.
    #[must_use]
    pub fn of_labels(total: usize) -> Self {
        Cap { total, per_tenant: total.div_ceil(2) }
    }

    /// Both bounds multiplied by `n`.
    #[must_use]
    pub fn times(self, n: usize) -> Self {
        let Cap { total, per_tenant } = self;
        Cap { total: total.saturating_mul(n), per_tenant: per_tenant.saturating_mul(n) }
    }
}
