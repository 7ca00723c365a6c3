//! The caller: on whose behalf a request is carried out.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use rota_identity::{ClientCertificate, Identity, Method, Permission, Permissions};
use rota_model::TenantId;
use rota_model::audit::AuditActor;
use rota_model::envelope::Sender;

use super::authentication::Authenticated;
use super::{App, authentication};
use crate::http::error::ApiError;
use crate::identity::Credential;

/// Documents of the specification and clients use different names for the same header.
const HEADERS: [&str; 3] = ["x-ojs-tenant", "x-ojs-tenant-id", "x-tenant-id"];

/// The most characters of a subject in the audit log. Issuers of tokens choose its length.
const MAX_PRINCIPAL: usize = 128;

/// Who a request comes from: an operator, or a tenant, for whom other tenants do not exist.
#[derive(Debug, Clone)]
pub struct Caller {
    tenant: Option<TenantId>,
    permissions: Permissions,
    /// What the credentials prove; `None` where none are asked for.
    identity: Option<Arc<Identity>>,
    credential: Option<Credential>,
}

impl Caller {
    /// Finds out who sends a request. The tenant of the credentials wins; naming another one is an error.
    pub(in crate::http) async fn of_request(
        headers: &HeaderMap,
        certificate: Option<&ClientCertificate>,
        path: &str,
        app: &App,
    ) -> Result<Self, ApiError> {
        let authenticated = authentication::identity(headers, certificate, path, app).await?;
        let Some(Authenticated { identity, credential }) = authenticated else {
            return Self::from_headers(headers, path, app);
        };
        let tenant = match &identity.tenant {
            Some(own) => match tenant_named(headers)? {
                Some(named) if named != *own => return Err(another_tenant(&named, own)),
                _ => Some(own.clone()),
            },
            // Credentials without a tenant are an operator's or nobody's.
            None if !identity.permissions.allow(Permission::Server) => {
                return Err(ApiError::no_caller());
            }
            // An operator may act for a tenant.
            None => Self::from_headers(headers, path, app)?.tenant,
        };
        let permissions = match (identity.permissions.allow(Permission::Server), &tenant) {
            (false, _) => identity.permissions,
            (true, Some(_)) => Permissions::of_tenant(),
            (true, None) => Permissions::of_operator(),
        };
        Ok(Self { tenant, permissions, identity: Some(identity), credential })
    }

    /// The caller that the headers name, which proves nothing. Whoever names no tenant is an operator.
    fn from_headers(headers: &HeaderMap, path: &str, app: &App) -> Result<Self, ApiError> {
        let tenant = tenant_named(headers)?;
        if tenant.is_none() && app.is_namespaced() && needs_tenant(path) {
            return Err(ApiError::validation(
                "X-OJS-Tenant",
                "tenancy.isolation is 'namespace', so every request needs a tenant, and this one names none.",
            )
            .hint("Send the header X-OJS-Tenant; each tenant has its own queues."));
        }
        let permissions = match tenant {
            // On the routes that need no credentials, whoever shows none is nobody.
            _ if app.authenticator.is_required() => Permissions::NONE,
            Some(_) => Permissions::of_tenant(),
            None => Permissions::of_operator(),
        };
        Ok(Self { tenant, permissions, identity: None, credential: None })
    }

    /// The caller, as the audit log names it.
    pub(in crate::http) fn actor(&self, address: Option<IpAddr>) -> AuditActor {
        let (principal, method) = match (&self.identity, &self.tenant) {
            (Some(identity), _) => {
                let subject: String = identity.subject.chars().take(MAX_PRINCIPAL).collect();
                (subject.into(), identity.method.name())
            }
            (None, Some(tenant)) => (tenant.to_string().into(), Method::None.name()),
            (None, None) => ("operator".into(), Method::None.name()),
        };
        AuditActor { principal, method: method.into(), tenant: self.tenant.clone(), address }
    }

    /// Whether the caller is an operator, even one that acts for a tenant.
    pub(in crate::http) fn has_server_permission(&self) -> bool {
        self.identity.as_ref().map_or(self.tenant.is_none(), |identity| identity.tenant.is_none())
    }

    /// The tenant; `None` for an operator.
    #[must_use]
    pub fn tenant(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    /// What the credentials prove; `None` where none are asked for.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// The key or token that was accepted, if it was one.
    pub(super) fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// What the caller may do.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// On whose behalf the caller's jobs are parsed. An operator that acts for a tenant is no less an
    /// operator, so its jobs are not taken for the tenant's own.
    pub(in crate::http) fn sender(&self) -> Sender<'_> {
        match self.identity.as_ref().and_then(|identity| identity.tenant.as_ref()) {
            Some(tenant) => Sender::Proven(tenant),
            None => self.tenant().into(),
        }
    }

    /// An error if the caller lacks a permission.
    pub(in crate::http) fn check(&self, permission: Permission) -> Result<(), ApiError> {
        if self.permissions.allow(permission) {
            return Ok(());
        }
        if let (Permission::Server, Some(tenant)) = (permission, &self.tenant) {
            return Err(only_operators("This request", tenant));
        }
        let name = permission.name();
        let text = format!("This request needs the scope '{name}', which its credentials lack.");
        Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
            .hint("Use other credentials, or have an operator create a key with this scope.")
            .detail("required_scope", name)
            .detail("scopes", self.permissions.to_string()))
    }
}

/// The error for a tenant's request that is reserved for operators. `what` is the subject of the message.
pub(super) fn only_operators(what: &str, tenant: &TenantId) -> ApiError {
    let text =
        format!("{what} is reserved for operators, and the request comes from tenant '{tenant}'.");
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
        .hint("An operator's requests come without the header X-OJS-Tenant.")
        .detail("tenant_id", tenant.to_string())
}

fn another_tenant(named: &TenantId, own: &TenantId) -> ApiError {
    ApiError::invalid_request(format!(
        "The header X-OJS-Tenant names '{named}', and the credentials belong to '{own}'."
    ))
    .hint("Leave the header out: the tenant follows from the credentials.")
    .detail("field", "X-OJS-Tenant")
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
        || matches!(rest, "health" | "metrics" | "openapi.json" | "jobs" | "jobs/batch"))
}
