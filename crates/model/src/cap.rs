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
    /// Both bounds multiplied by `n`.
    #[must_use]
    pub fn times(self, n: usize) -> Self {
        let Cap { total, per_tenant } = self;
        Cap { total: total.saturating_mul(n), per_tenant: per_tenant.saturating_mul(n) }
    }
}
