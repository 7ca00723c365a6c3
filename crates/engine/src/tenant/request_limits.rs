//! Tenants' own limits on requests. The engine stores them; requests are counted before they reach it.

use rota_model::{RequestLimits, TenantId};

use super::TenantIx;
use crate::Engine;

/// The limits on requests that a tenant has from now on, which may be none of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLimitChange {
    pub tenant: TenantId,
    pub limits: RequestLimits,
}

/// Changes that were not taken yet.
#[derive(Default)]
pub(crate) struct RequestLimitChanges(Vec<RequestLimitChange>);

impl Engine {
    /// All tenants with limits on requests of their own.
    pub fn request_limits(&self) -> impl Iterator<Item = RequestLimitChange> {
        self.tenants.iter().filter_map(|(_, tenant)| {
            let limits = tenant.config().request_limits.clone();
            let change = RequestLimitChange { tenant: tenant.id.clone(), limits };
            (!change.limits.is_empty()).then_some(change)
        })
    }

    /// Takes the changes by the commands since the last call. They take effect with the commit of the
    /// mutations, before the replies are released.
    pub fn take_request_limit_changes(&mut self) -> Vec<RequestLimitChange> {
        std::mem::take(&mut self.request_limit_changes.0)
    }

    /// Notes that the configuration of a tenant is a new one.
    pub(crate) fn note_request_limits(&mut self, tenant: TenantIx, before: &RequestLimits) {
        let tenant = self.tenants.get(tenant);
        let limits = &tenant.config().request_limits;
        if limits != before {
            let change = RequestLimitChange { tenant: tenant.id.clone(), limits: limits.clone() };
            self.request_limit_changes.0.push(change);
        }
    }

    /// Notes that a tenant is gone.
    pub(crate) fn drop_request_limits(&mut self, tenant: &TenantId) {
        let limits = RequestLimits::default();
        self.request_limit_changes.0.push(RequestLimitChange { tenant: tenant.clone(), limits });
    }
}
