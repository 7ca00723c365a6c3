//! The caller: the tenant that a request comes from, and what that tenant may see.

use axum::http::{HeaderMap, StatusCode};
use rota_model::{QueueName, TenantId, WorkerId};
use rota_store::Record;

use super::App;
use super::error::ApiError;
use crate::runtime::{Answer, Ask};
use rota_settings::Isolation;

/// Documents of the specification and clients use different names for the same header.
const HEADERS: [&str; 3] = ["x-ojs-tenant", "x-ojs-tenant-id", "x-tenant-id"];

tokio::task_local! {
    /// Task-local rather than an argument: a handler that forgot to pass the argument on would expose
    /// one tenant's jobs to another.
    static CALLER: Option<TenantId>;
}

/// The tenant that the current request comes from; `None` for operators.
pub(super) fn caller() -> Option<TenantId> {
    CALLER.try_with(Clone::clone).unwrap_or_default()
}

/// Runs `serve` with `tenant` as its caller.
pub(super) async fn with_caller<F: Future>(tenant: Option<TenantId>, serve: F) -> F::Output {
    CALLER.scope(tenant, serve).await
}

/// Refuses a tenant's request to see or change what all tenants share. `what` is the subject of the
/// message.
pub(super) fn only_operators(what: &str) -> Result<(), ApiError> {
    let Some(tenant) = caller() else { return Ok(()) };
    let text =
        format!("{what} is reserved for operators, and the request comes from tenant '{tenant}'.");
    Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
        .hint("An operator's requests come without the header X-OJS-Tenant.")
        .detail("tenant_id", tenant.to_string()))
}

/// The tenant that the headers name. It applies to the whole request, whatever `tenancy.source` says
/// about new jobs.
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
        if named.as_ref().is_some_and(|first| *first != tenant) {
            return Err(ApiError::invalid_request("The request names two tenants.")
                .hint("Send the header X-OJS-Tenant once.")
                .detail("field", "X-OJS-Tenant"));
        }
        named = Some(tenant);
    }
    if named.is_none() && app.is_namespaced() && needs_tenant(path) {
        return Err(ApiError::validation(
            "X-OJS-Tenant",
            "tenancy.isolation is 'namespace', so every request needs a tenant, and this one names none.",
        )
        .hint("Send the header X-OJS-Tenant; each tenant has its own queues."));
    }
    Ok(named)
}

/// The error for a queue's name without a tenant, where each tenant may have a queue of that name.
pub(super) fn queue_needs_tenant() -> ApiError {
    ApiError::validation(
        "X-OJS-Tenant",
        "tenancy.isolation is 'namespace', so a queue belongs to a tenant, and the request names none.",
    )
    .hint("Send the header X-OJS-Tenant with the tenant that the queue belongs to.")
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

/// The engine's id of a worker, from the id that the caller uses. Each tenant has names of its own, and
/// so have operators.
pub(super) fn worker_of_caller(id: WorkerId) -> WorkerId {
    match caller() {
        Some(tenant) => id.in_namespace(&tenant),
        None => id,
    }
}

impl App {
    /// Asks the engine on behalf of the caller.
    pub(super) async fn ask(&self, ask: impl Into<Ask>) -> Answer {
        self.handle.ask_as(caller(), ask.into()).await
    }

    /// The job with this id; `None` if it belongs to another tenant than the caller.
    pub(super) async fn record(&self, id: rota_model::JobId) -> Result<Option<Record>, ApiError> {
        let Some(record) = self.handle.record(id).await? else { return Ok(None) };
        let Some(caller) = caller() else { return Ok(Some(record)) };
        Ok((self.owner_of(&record).await? == Some(caller)).then_some(record))
    }

    /// The tenant that a job belongs to.
    pub(super) async fn owner_of(&self, record: &Record) -> Result<Option<TenantId>, ApiError> {
        let class = record.row.class();
        Ok(self.handle.look(move |engine| engine.owner_of(class).cloned()).await?)
    }

    /// The engine's name of a queue, from the name that the caller uses. Under namespace isolation it
    /// depends on the tenant, so an operator must name one.
    pub(super) fn queue(&self, name: &QueueName) -> Result<QueueName, ApiError> {
        match caller() {
            _ if !self.is_namespaced() => Ok(name.clone()),
            Some(tenant) => Ok(name.in_namespace(&tenant)),
            None => Err(queue_needs_tenant()),
        }
    }

    /// Like [`only_operators`], but for what each tenant has to itself under namespace isolation.
    pub(super) fn only_operators_if_shared(&self, what: &str) -> Result<(), ApiError> {
        if self.is_namespaced() { Ok(()) } else { only_operators(what) }
    }

    pub(super) fn is_namespaced(&self) -> bool {
        self.settings.tenancy.isolation == Isolation::Namespace
    }
}
