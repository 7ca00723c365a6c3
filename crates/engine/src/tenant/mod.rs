//! Tenants: their configuration, rules, counters and stored rows.

mod counters;
mod request_limits;
mod row;
mod rules;
mod table;

pub(crate) use counters::Counters;
pub use counters::Tally;
pub use request_limits::RequestLimitChange;
pub(crate) use request_limits::RequestLimitChanges;
pub(crate) use row::{ApiConfig, TenantRow, TenantState};
pub use row::{Change, Throttle};
pub(crate) use rules::RuleChange;
pub(crate) use table::{Tenant, TenantIx, Tenants};

/// Where a tenant's or pool's configuration comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigOrigin {
    Default,
    File,
    Api,
}

impl ConfigOrigin {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ConfigOrigin::Default => "default",
            ConfigOrigin::File => "file",
            ConfigOrigin::Api => "api",
        }
    }
}
