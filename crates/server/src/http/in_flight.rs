//! Caps the requests of each tenant that are handled at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::RandomState;
use axum::http::StatusCode;
use rota_model::{Cap, TenantId};

use super::error::ApiError;
use crate::runtime::Source;

/// Counts the requests that are being handled. The last tenth of the total is for those who have none.
#[derive(Clone)]
pub(super) struct InFlight {
    cap: Cap,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    all: usize,
    by_source: HashMap<Source, usize, RandomState>,
}

/// A request that is being handled, until this is dropped.
pub(super) struct Handled {
    in_flight: InFlight,
    source: Source,
}

impl InFlight {
    pub fn new(cap: Cap) -> Self {
        Self { cap, counts: Arc::default() }
    }

    /// Counts a request of the caller, or refuses it.
    pub fn begin(&self, caller: Option<&TenantId>) -> Result<Handled, ApiError> {
        let source = Source::of(caller);
        let mut counts = self.counts();
        let own = counts.by_source.get(&source).copied().unwrap_or(0);
        let Cap { total, per_tenant } = self.cap;
        if let Some(tenant) = caller.filter(|_| own >= per_tenant) {
            return Err(tenant_is_busy(tenant, per_tenant));
        }
        let open = if own == 0 { total } else { total - total / 10 };
        if counts.all >= open {
            return Err(ApiError::busy("Too many requests are being handled.").retry_after(1));
        }
        counts.all += 1;
        *counts.by_source.entry(source.clone()).or_default() += 1;
        drop(counts);
        Ok(Handled { in_flight: self.clone(), source })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        let mut counts = self.in_flight.counts();
        counts.all -= 1;
        if let Some(count) = counts.by_source.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                counts.by_source.remove(&self.source);
            }
        }
    }
}

fn tenant_is_busy(tenant: &TenantId, most: usize) -> ApiError {
    let text = format!(
        "Tenant '{tenant}' has {most} requests under way, and that is the most for a tenant."
    );
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TENANT_LIMIT_EXCEEDED", text)
        .hint(
            "Wait for earlier requests to be answered; an operator can raise limits.requests_per_tenant.",
        )
        .member("tenant_id", tenant.to_string())
        .member("limit", "requests_per_tenant")
        .member("current", most)
        .member("maximum", most)
        .retry_after(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(in_flight: &InFlight, tenant: Option<&str>) -> Vec<Handled> {
        let tenant = tenant.map(|name| TenantId::parse(name).unwrap());
        std::iter::from_fn(|| in_flight.begin(tenant.as_ref()).ok()).collect()
    }

    #[test]
    fn a_tenant_at_its_cap_leaves_room_for_others() {
        let in_flight = InFlight::new(Cap { total: 100, per_tenant: 60 });
        let flood = fill(&in_flight, Some("a"));
        assert_eq!(flood.len(), 60);
        let error = in_flight.begin(Some(&TenantId::parse("a").unwrap())).err().unwrap();
        assert_eq!(error.status(), StatusCode::TOO_MANY_REQUESTS);
        let second = fill(&in_flight, Some("b"));
        assert_eq!(second.len(), 30, "all but a tenth");
        let others: Vec<Handled> =
            (0..9).flat_map(|n| fill(&in_flight, Some(&format!("c{n}")))).collect();
        assert_eq!(others.len(), 9, "one for each who has none");
        let operator = fill(&in_flight, None);
        assert_eq!(operator.len(), 1);
        assert!(fill(&in_flight, Some("d")).is_empty());
        drop((flood, second, others, operator));
        assert!(in_flight.counts().by_source.is_empty());
        assert_eq!(in_flight.counts().all, 0);
    }
}
