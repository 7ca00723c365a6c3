//! On whose behalf a request comes.

use axum::http::{HeaderMap, StatusCode};
use rota_model::{QueueName, TenantId, WorkerId};
use rota_store::Record;

use super::App;
use super::error::ApiError;
use crate::runtime::{Answer, Ask};
use rota_settings::Isolation;

const HEADERS: [&str; 2] = ["x-ojs-tenant", "x-ojs-tenant-id"];

tokio::task_local! {
    /// Not an argument of every handler: one that forgot to pass it on would cross the boundary.
    static CALLER: Option<TenantId>;
}

/// The tenant of the request that is being served, if it has one.
pub(super) fn caller() -> Option<TenantId> {
    CALLER.try_with(Clone::clone).unwrap_or_default()
}

/// Serves a request on behalf of its tenant.
pub(super) async fn on_behalf_of<F: Future>(tenant: Option<TenantId>, serve: F) -> F::Output {
    CALLER.scope(tenant, serve).await
}

/// What all tenants share is not for one of them to change, nor to know of the others.
pub(super) fn only_operators(what: &str) -> Result<(), ApiError> {
    let Some(tenant) = caller() else { return Ok(()) };
    let text = format!("{what}: this is for operators only, and the request comes from a tenant.");
    Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
        .hint("An operator's requests come without the header X-OJS-Tenant.")
        .detail("tenant_id", tenant.to_string()))
}

/// The tenant that a request names, and that it is held to whatever `tenancy.source` says of new jobs.
/// Credentials will name one too, and must then agree.
pub(super) fn tenant_of(
    headers: &HeaderMap,
    path: &str,
    app: &App,
) -> Result<Option<TenantId>, ApiError> {
    let mut named = None;
    for value in HEADERS.iter().flat_map(|name| headers.get_all(*name)) {
        let text = value.to_str().unwrap_or_default();
        let tenant = TenantId::parse(text).map_err(|e| {
            ApiError::invalid_request(format!("The header X-OJS-Tenant {e}."))
                .hint("Send the id of one tenant, such as acme-corp.")
                .detail("field", "X-OJS-Tenant")
        })?;
        if named.as_ref().is_some_and(|known| *known != tenant) {
            return Err(ApiError::invalid_request("The request names two tenants.")
                .hint("Send the header X-OJS-Tenant once.")
                .detail("field", "X-OJS-Tenant"));
        }
        named = Some(tenant);
    }
    if named.is_none() && app.is_namespaced() && needs_tenant(path) {
        return Err(ApiError::validation(
            "X-OJS-Tenant",
            "Every request belongs to a tenant here, and this one names none.",
        )
        .hint("Send the header X-OJS-Tenant; queues exist for each tenant apart."));
    }
    Ok(named)
}

/// Each tenant has a queue of the name that the request gives.
pub(super) fn whose_queue() -> ApiError {
    ApiError::validation(
        "X-OJS-Tenant",
        "A queue belongs to a tenant here, and the request names none.",
    )
    .hint("Send the header X-OJS-Tenant with the tenant whose queue is meant.")
}

/// Enqueueing may name its tenants in the jobs; operators speak of all tenants.
fn needs_tenant(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("/ojs/v1/") else { return false };
    let first = rest.split('/').next().unwrap_or(rest);
    !(matches!(first, "admin" | "rate-limits")
        || matches!(rest, "health" | "metrics" | "jobs" | "jobs/batch"))
}

impl App {
    /// Asks the engine on behalf of the caller.
    pub(super) async fn ask(&self, ask: impl Into<Ask>) -> Answer {
        self.handle.ask_as(caller(), ask.into()).await
    }

    /// A job, unless it belongs to somebody else than the caller.
    pub(super) async fn record(&self, id: rota_model::JobId) -> Result<Option<Record>, ApiError> {
        let Some(record) = self.handle.record(id).await? else { return Ok(None) };
        let Some(caller) = caller() else { return Ok(Some(record)) };
        Ok((self.owner_of(&record).await? == Some(caller)).then_some(record))
    }

    /// Whose a job is.
    pub(super) async fn owner_of(&self, record: &Record) -> Result<Option<TenantId>, ApiError> {
        let class = record.row.class();
        Ok(self.handle.look(move |engine| engine.owner_of(class).cloned()).await?)
    }

    /// A queue as the engine knows it, from how the caller calls it. An operator's name for a queue
    /// means none where each tenant has its own.
    pub(super) fn queue(&self, name: &QueueName) -> Result<QueueName, ApiError> {
        match caller() {
            _ if !self.is_namespaced() => Ok(name.clone()),
            Some(tenant) => Ok(name.in_namespace(&tenant)),
            None => Err(whose_queue()),
        }
    }

    /// A worker as the engine knows it, from how the caller calls it.
    pub(super) fn worker(&self, id: WorkerId) -> WorkerId {
        match caller() {
            Some(tenant) if self.is_namespaced() => id.in_namespace(&tenant),
            _ => id,
        }
    }

    /// The same, for what each tenant has to itself in namespaces.
    pub(super) fn only_operators_share(&self, what: &str) -> Result<(), ApiError> {
        if self.is_namespaced() { Ok(()) } else { only_operators(what) }
    }

    pub(super) fn is_namespaced(&self) -> bool {
        self.settings.tenancy.isolation == Isolation::Namespace
    }
}
