//! The committed limits on requests of tenants that have their own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rota_engine::RequestLimitChange;
use rota_model::{RequestLimits, TenantId};

/// Follows the engine: the store thread applies each change when it is committed, before the answer to
/// its request is released.
#[derive(Default)]
pub struct TenantRequestLimits {
    by_tenant: RwLock<HashMap<TenantId, Arc<RequestLimits>>>,
    /// Whether any tenant has some, so that most servers need no lock.
    has_any: AtomicBool,
}

impl TenantRequestLimits {
    pub(crate) fn apply(&self, changes: Vec<RequestLimitChange>) {
        if changes.is_empty() {
            return;
        }
        let mut by_tenant = self.by_tenant.write().unwrap_or_else(PoisonError::into_inner);
        for RequestLimitChange { tenant, limits } in changes {
            match limits.is_empty() {
                true => by_tenant.remove(&tenant),
                false => by_tenant.insert(tenant, Arc::new(limits)),
            };
        }
        self.has_any.store(!by_tenant.is_empty(), Ordering::Release);
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_any.load(Ordering::Acquire)
    }

    pub(super) fn get(&self, tenant: &TenantId) -> Option<Arc<RequestLimits>> {
        if self.is_empty() {
            return None;
        }
        self.by_tenant.read().unwrap_or_else(PoisonError::into_inner).get(tenant).cloned()
    }
}
