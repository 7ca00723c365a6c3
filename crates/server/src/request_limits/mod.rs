//! Limits on requests: which limit applies to a caller, and whether its next request is within it.

mod counts;
mod tenant_limits;

use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rota_identity::{Exceeded, Permission, RequestLimiter, RequestSource};
use rota_model::{RequestLimit, RequestLimits, RequestRate, TenantId};
use rota_settings::{LimitedBy, RequestLimits as Settings};

pub use counts::{RequestCount, RequestCounts};
pub use tenant_limits::TenantRequestLimits;

/// Decides about all requests of this process.
pub(crate) struct RequestLimiting {
    /// The server's own limits.
    defaults: RequestLimits,
    counted_by: LimitedBy,
    /// Those of tenants, which come first.
    of_tenants: Arc<TenantRequestLimits>,
    state: Mutex<State>,
}

struct State {
    limiter: RequestLimiter,
    counts: RequestCounts,
}

/// A request over its limit.
pub(crate) struct OverLimit {
    pub rate: RequestRate,
    pub retry_ms: u64,
}

impl RequestLimiting {
    /// `labels` is how many tenants have counts of their own.
    pub fn new(settings: &Settings, of_tenants: Arc<TenantRequestLimits>, labels: usize) -> Self {
        let defaults = RequestLimits {
            default: Some(settings.default),
            enqueue: settings.enqueue,
            dequeue: settings.dequeue,
            cancel: settings.cancel,
            inspect: settings.inspect,
            admin: settings.admin,
        };
        let state =
            State { limiter: RequestLimiter::default(), counts: RequestCounts::new(labels) };
        let counted_by = settings.per;
        Self { defaults, counted_by, of_tenants, state: Mutex::new(state) }
    }

    /// Whether any request may be limited. Without limits, nothing has to be looked up.
    pub fn is_active(&self) -> bool {
        let limits = RequestLimits::FIELDS.iter().filter_map(|name| self.defaults.get(name));
        limits.into_iter().any(|limit| limit != RequestLimit::Off) || !self.of_tenants.is_empty()
    }

    /// Counts a request of a tenant's caller. `now_ms` is monotonic.
    pub fn take(
        &self,
        permission: Permission,
        tenant: &TenantId,
        subject: Option<&Arc<str>>,
        now_ms: u64,
    ) -> Result<(), OverLimit> {
        let own = self.of_tenants.get(tenant);
        let own = own.and_then(|limits| limits.get(permission.name()));
        let limit = own.or_else(|| self.defaults.get(permission.name()));
        let Some(RequestLimit::Rate(rate)) = limit else { return Ok(()) };
        let subject = match self.counted_by {
            LimitedBy::Subject => subject.cloned(),
            LimitedBy::Tenant => None,
        };
        let source = RequestSource { tenant: Some(tenant.clone()), subject };
        let mut state = self.state();
        let taken = state.limiter.take(permission, &source, rate, now_ms);
        state.counts.count(tenant, taken.is_ok());
        taken.map(|_| ()).map_err(|Exceeded { retry_ms }| OverLimit { rate, retry_ms })
    }

    /// Requests that were counted, by tenant.
    pub fn counts(&self) -> RequestCounts {
        self.state().counts.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
