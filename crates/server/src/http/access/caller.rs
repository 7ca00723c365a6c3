//! The caller: on whose behalf a request is carried out.

use axum::http::HeaderMap;
use rota_model::TenantId;

use super::App;
use crate::http::error::ApiError;

/// Documents of the specification and clients use different names for the same header.
const HEADERS: [&str; 3] = ["x-ojs-tenant", "x-ojs-tenant-id", "x-tenant-id"];

/// Who a request comes from: an operator, or a tenant, for whom other tenants do not exist.
#[derive(Debug, Clone)]
pub struct Caller {
    tenant: Option<TenantId>,
}

impl Caller {
    /// The caller that the headers name, which proves nothing. Whoever names no tenant is an operator.
    pub(in crate::http) fn from_headers(
        headers: &HeaderMap,
        path: &str,
        app: &App,
    ) -> Result<Self, ApiError> {
        let tenant = tenant_named(headers)?;
        if tenant.is_none() && app.is_namespaced() && needs_tenant(path) {
            return Err(ApiError::validation(
                "X-OJS-Tenant",
                "tenancy.isolation is 'namespace', so every request needs a tenant, and this one names none.",
            )
            .hint("Send the header X-OJS-Tenant; each tenant has its own queues."));
        }
        Ok(Self { tenant })
    }

    /// The tenant; `None` for an operator.
    #[must_use]
    pub fn tenant(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }
}

/// The tenant that the headers name. It applies to the whole request, whatever `tenancy.source` says
/// about new jobs.
fn tenant_named(headers: &HeaderMap) -> Result<Option<TenantId>, ApiError> {
    let mut named = None;
    for value in HEADERS.iter().flat_map(|name| headers.get_all(*name)) {
        let text = value.to_str().unwrap_or_default();
        let tenant = TenantId::parse(text).map_err(|e| {
            ApiError::invalid_request(format!("The header X-OJS-Tenant {e}."))
                .hint("Send the id of one tenant, such as acme-corp.")
                .detail("field", "X-OJS-Tenant")
        })?;
        if named.as_ref().is_some_and(|first| *first != tenant) {
            return Err(ApiError::invalid_request("The request names two tenants.")
                .hint("Send the header X-OJS-Tenant once.")
                .detail("field", "X-OJS-Tenant"));
        }
        named = Some(tenant);
    }
    Ok(named)
}

/// Whether a request needs a tenant under namespace isolation. An enqueue may name the tenant in each
/// job, and admin requests are about all tenants.
fn needs_tenant(path: &str) -> bool {
    let path = path.strip_prefix("/ojs").unwrap_or(path);
    let Some(rest) = path.strip_prefix("/v1/") else { return false };
    let first = rest.split('/').next().unwrap_or(rest);
    !(matches!(first, "admin" | "rate-limits")
        || matches!(rest, "health" | "metrics" | "jobs" | "jobs/batch"))
}
