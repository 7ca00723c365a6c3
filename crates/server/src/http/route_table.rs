//! The table of routes: the permission that each needs, and its query parameters. Any other parameter, and
//! one that is repeated, is an error.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use rota_identity::Permission;

use super::Caller;
use super::error::ApiError;
use super::params::Params;

/// Pages of a list, by number, by offset or by cursor.
const PAGES: &[&str] = &["page", "per_page", "limit", "offset", "cursor"];
/// Pages of a short list.
const NUMBERED_PAGES: &[&str] = &["page", "per_page"];
/// The tenant that an operator means.
const TENANT: &[&str] = &["tenant", "tenant_id"];
/// Conditions of a list of jobs.
const JOBS: &[&str] =
    &["tenant", "tenant_id", "queue", "type", "state", "since", "until", "order", "sort"];
/// Further conditions on jobs of the dead letter.
const DEAD_LETTER: &[&str] = &["error_type"];
/// Conditions on events.
const EVENTS: &[&str] = &[
    "types",
    "event_types",
    "type",
    "queues",
    "queue",
    "job_types",
    "job_type",
    "tenants",
    "tenant",
    "tenant_id",
    "after",
    "cursor",
    "last_event_id",
];
/// Conditions on entries of the audit log, and its pages.
const AUDIT: &[&str] = &[
    "since",
    "until",
    "subject",
    "tenant",
    "tenant_id",
    "action",
    "outcome",
    "order",
    "limit",
    "per_page",
    "cursor",
];
const PURGE: &[&str] = &["purge", "confirm"];

/// What a caller needs to be allowed to use a route; `None` if anybody may.
type Needs = Option<Permission>;

const NOTHING: Needs = None;
const ENQUEUE: Needs = Some(Permission::Enqueue);
const DEQUEUE: Needs = Some(Permission::Dequeue);
const CANCEL: Needs = Some(Permission::Cancel);
const INSPECT: Needs = Some(Permission::Inspect);
const ADMIN: Needs = Some(Permission::Admin);
const SERVER: Needs = Some(Permission::Server);

/// Methods, path, permission, and groups of parameters. HEAD has those of GET. Where operators and tenants
/// may do different things on one route, the table has what a tenant needs, and the handler does the rest.
const ROUTES: &[(&str, &str, Needs, &[&[&str]])] = &[
    ("GET", "/ojs/manifest", NOTHING, &[]),
    ("GET", "/health", NOTHING, &[]),
    ("GET", "/v1/health", NOTHING, &[]),
    ("GET", "/v1/queues", INSPECT, &[PAGES]),
    ("GET", "/v1/dead-letter", INSPECT, &[JOBS, DEAD_LETTER, PAGES]),
    ("GET", "/v1/workers", INSPECT, &[PAGES]),
    ("GET", "/ready", NOTHING, &[]),
    ("GET", "/metrics", SERVER, &[&["format"]]),
    ("GET", "/ojs/v1/metrics", SERVER, &[&["format"]]),
    ("GET", "/ojs/v1/health", NOTHING, &[]),
    ("GET", "/ojs/v1/openapi.json", NOTHING, &[]),
    ("GET", "/ojs/v1/jobs", INSPECT, &[JOBS, PAGES, &["exclude_terminal"]]),
    ("POST", "/ojs/v1/jobs", ENQUEUE, &[]),
    ("POST", "/ojs/v1/jobs/bulk/{action}", ADMIN, &[]),
    ("POST", "/ojs/v1/jobs/batch", ENQUEUE, &[]),
    ("GET", "/ojs/v1/jobs/{id}", INSPECT, &[]),
    ("PATCH", "/ojs/v1/jobs/{id}", CANCEL, &[]),
    ("DELETE", "/ojs/v1/jobs/{id}", CANCEL, &[&["mode"]]),
    ("GET", "/ojs/v1/jobs/{id}/result", INSPECT, &[&["wait", "timeout"]]),
    ("POST", "/ojs/v1/jobs/{id}/activate", CANCEL, &[]),
    ("POST", "/ojs/v1/jobs/{id}/cancel", CANCEL, &[&["mode"]]),
    ("GET", "/ojs/v1/jobs/{id}/events", INSPECT, &[EVENTS]),
    ("POST", "/ojs/v1/workers", DEQUEUE, &[]),
    ("POST", "/ojs/v1/workers/ack", DEQUEUE, &[]),
    ("POST", "/ojs/v1/workers/deregister", DEQUEUE, &[]),
    ("POST", "/ojs/v1/workers/fetch", DEQUEUE, &[]),
    ("POST", "/ojs/v1/workers/heartbeat", DEQUEUE, &[]),
    ("POST", "/ojs/v1/workers/nack", DEQUEUE, &[]),
    ("POST", "/ojs/v1/workers/register", DEQUEUE, &[]),
    ("DELETE", "/ojs/v1/workers/{id}", DEQUEUE, &[]),
    ("GET", "/ojs/v1/queues", INSPECT, &[PAGES]),
    ("POST", "/ojs/v1/queues", ADMIN, &[]),
    ("GET", "/ojs/v1/queues/{name}", INSPECT, &[]),
    ("DELETE", "/ojs/v1/queues/{name}", ADMIN, &[PURGE]),
    ("GET", "/ojs/v1/queues/{name}/config", INSPECT, &[]),
    ("PUT", "/ojs/v1/queues/{name}/config", ADMIN, &[]),
    ("POST", "/ojs/v1/queues/{name}/purge", ADMIN, &[]),
    ("GET", "/ojs/v1/queues/{name}/stats", INSPECT, &[]),
    ("GET", "/ojs/v1/queues/{name}/events", INSPECT, &[EVENTS]),
    ("POST", "/ojs/v1/queues/{name}/pause", ADMIN, &[]),
    ("POST", "/ojs/v1/queues/{name}/resume", ADMIN, &[]),
    ("GET", "/ojs/v1/dead-letter", INSPECT, &[JOBS, DEAD_LETTER, PAGES]),
    ("DELETE", "/ojs/v1/dead-letter", ADMIN, &[]),
    ("POST", "/ojs/v1/dead-letter/purge", ADMIN, &[&["older_than"]]),
    ("POST", "/ojs/v1/dead-letter/retry", ADMIN, &[]),
    ("GET", "/ojs/v1/dead-letter/stats", INSPECT, &[]),
    ("GET", "/ojs/v1/dead-letter/{id}", INSPECT, &[]),
    ("DELETE", "/ojs/v1/dead-letter/{id}", CANCEL, &[]),
    ("POST", "/ojs/v1/dead-letter/{id}/retry", CANCEL, &[]),
    ("GET", "/ojs/v1/cron", INSPECT, &[PAGES, TENANT, &["enabled"]]),
    ("POST", "/ojs/v1/cron", ADMIN, &[]),
    ("GET", "/ojs/v1/cron/{name}", INSPECT, &[TENANT]),
    ("DELETE PATCH", "/ojs/v1/cron/{name}", ADMIN, &[TENANT]),
    ("GET", "/ojs/v1/cron/{name}/history", INSPECT, &[TENANT, NUMBERED_PAGES, &["limit"]]),
    ("POST", "/ojs/v1/cron/{name}/pause", ADMIN, &[TENANT]),
    ("POST", "/ojs/v1/cron/{name}/resume", ADMIN, &[TENANT]),
    ("POST", "/ojs/v1/cron/{name}/trigger", ADMIN, &[TENANT]),
    ("GET", "/ojs/v1/crons", INSPECT, &[PAGES, TENANT, &["enabled"]]),
    ("POST", "/ojs/v1/crons", ADMIN, &[]),
    ("GET", "/ojs/v1/crons/{name}", INSPECT, &[TENANT]),
    ("DELETE PATCH", "/ojs/v1/crons/{name}", ADMIN, &[TENANT]),
    ("GET", "/ojs/v1/crons/{name}/history", INSPECT, &[TENANT, NUMBERED_PAGES, &["limit"]]),
    ("POST", "/ojs/v1/crons/{name}/pause", ADMIN, &[TENANT]),
    ("POST", "/ojs/v1/crons/{name}/resume", ADMIN, &[TENANT]),
    ("POST", "/ojs/v1/crons/{name}/trigger", ADMIN, &[TENANT]),
    (
        "GET",
        "/ojs/v1/events",
        INSPECT,
        &[EVENTS, &["limit", "since", "page", "per_page", "channel"]],
    ),
    ("GET", "/ojs/v1/events/stream", INSPECT, &[EVENTS, &["channel"]]),
    ("GET", "/ojs/v1/ws", INSPECT, &[]),
    ("GET", "/ojs/v1/rate-limits", INSPECT, &[PAGES, &["prefix"]]),
    ("GET", "/ojs/v1/rate-limits/{key}", INSPECT, &[TENANT]),
    ("PUT DELETE", "/ojs/v1/rate-limits/{key}", ADMIN, &[TENANT]),
    ("PUT DELETE", "/ojs/v1/rate-limits/{key}/override", ADMIN, &[TENANT]),
    ("GET", "/ojs/v1/pools", INSPECT, &[PAGES]),
    ("GET", "/ojs/v1/pools/{name}", INSPECT, &[]),
    ("GET", "/ojs/v1/admin/queues", INSPECT, &[PAGES]),
    ("POST", "/ojs/v1/admin/queues", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/queues/{name}", INSPECT, &[]),
    ("DELETE", "/ojs/v1/admin/queues/{name}", ADMIN, &[PURGE]),
    ("POST", "/ojs/v1/admin/queues/{name}/pause", ADMIN, &[]),
    ("POST", "/ojs/v1/admin/queues/{name}/resume", ADMIN, &[]),
    ("DELETE", "/ojs/v1/admin/queues/{name}/jobs", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/queues/{name}/config", INSPECT, &[]),
    ("PUT", "/ojs/v1/admin/queues/{name}/config", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/queues/{name}/rate-limit", INSPECT, &[]),
    ("PUT DELETE", "/ojs/v1/admin/queues/{name}/rate-limit", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/job-types/{type}/rate-limit", INSPECT, &[]),
    ("PUT DELETE", "/ojs/v1/admin/job-types/{type}/rate-limit", SERVER, &[]),
    ("GET", "/ojs/v1/admin/keys", ADMIN, &[PAGES, TENANT]),
    ("POST", "/ojs/v1/admin/keys", ADMIN, &[]),
    ("GET DELETE", "/ojs/v1/admin/keys/{id}", ADMIN, &[]),
    ("POST", "/ojs/v1/admin/keys/{id}/revoke", ADMIN, &[]),
    ("POST", "/ojs/v1/admin/keys/{id}/rotate", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/pools", INSPECT, &[PAGES]),
    ("GET", "/ojs/v1/admin/pools/{name}", INSPECT, &[]),
    ("PUT DELETE", "/ojs/v1/admin/pools/{name}", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/scheduling/stats", INSPECT, &[]),
    ("GET", "/ojs/v1/admin/jobs", INSPECT, &[JOBS, PAGES, &["exclude_terminal"]]),
    ("GET", "/ojs/v1/admin/jobs/{id}", INSPECT, &[]),
    ("PATCH", "/ojs/v1/admin/jobs/{id}", CANCEL, &[]),
    ("POST", "/ojs/v1/admin/jobs/{id}/cancel", CANCEL, &[&["mode"]]),
    ("POST", "/ojs/v1/admin/jobs/{id}/retry", CANCEL, &[]),
    ("GET", "/ojs/v1/admin/jobs/{id}/explain", INSPECT, &[]),
    ("POST", "/ojs/v1/admin/jobs/bulk/{action}", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/tenants", INSPECT, &[&["page", "per_page", "cursor", "sort"]]),
    ("GET", "/ojs/v1/admin/tenants/{id}", INSPECT, &[]),
    ("PUT", "/ojs/v1/admin/tenants/{id}", SERVER, &[]),
    ("DELETE", "/ojs/v1/admin/tenants/{id}", SERVER, &[PURGE]),
    ("GET", "/ojs/v1/admin/tenants/{id}/limits", INSPECT, &[]),
    ("PUT", "/ojs/v1/admin/tenants/{id}/limits", SERVER, &[]),
    ("GET", "/ojs/v1/admin/tenants/{id}/stats", INSPECT, &[]),
    ("GET", "/ojs/v1/admin/tenants/{id}/usage", INSPECT, &[NUMBERED_PAGES, &["per", "from", "to"]]),
    ("GET", "/ojs/v1/admin/tenants/{id}/jobs", INSPECT, &[JOBS, PAGES, &["exclude_terminal"]]),
    ("GET", "/ojs/v1/admin/tenants/{id}/changes", INSPECT, &[NUMBERED_PAGES]),
    ("POST", "/ojs/v1/admin/tenants/{id}/release", SERVER, &[]),
    ("GET", "/ojs/v1/admin/fairness", INSPECT, &[&["limit"]]),
    ("GET", "/ojs/v1/admin/workers", INSPECT, &[PAGES]),
    ("GET", "/ojs/v1/admin/workers/{id}", INSPECT, &[]),
    ("DELETE", "/ojs/v1/admin/workers/{id}", ADMIN, &[]),
    ("POST", "/ojs/v1/admin/workers/{id}/quiet", ADMIN, &[]),
    ("POST", "/ojs/v1/admin/workers/{id}/terminate", ADMIN, &[]),
    ("POST", "/ojs/v1/admin/workers/{id}/resume", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/audit", ADMIN, &[AUDIT]),
    ("GET", "/ojs/v1/admin/stats", INSPECT, &[&["queue", "detail", "limit"]]),
    ("GET", "/ojs/v1/admin/stats/history", INSPECT, &[&["period", "since", "until", "queue"]]),
    ("GET", "/ojs/v1/admin/dead-letter", INSPECT, &[JOBS, DEAD_LETTER, PAGES]),
    ("DELETE", "/ojs/v1/admin/dead-letter", ADMIN, &[]),
    ("POST", "/ojs/v1/admin/dead-letter/retry", ADMIN, &[]),
    ("GET", "/ojs/v1/admin/dead-letter/stats", INSPECT, &[]),
    ("GET", "/ojs/v1/admin/dead-letter/{id}", INSPECT, &[]),
    ("DELETE", "/ojs/v1/admin/dead-letter/{id}", CANCEL, &[]),
    ("POST", "/ojs/v1/admin/dead-letter/{id}/retry", CANCEL, &[]),
    ("GET", "/ojs/v1/admin/system/maintenance", INSPECT, &[]),
    ("POST", "/ojs/v1/admin/system/maintenance", SERVER, &[]),
    ("GET", "/ojs/v1/admin/system/config", SERVER, &[]),
    ("GET", "/ojs/v1/admin/maintenance", INSPECT, &[]),
    ("POST", "/ojs/v1/admin/maintenance", SERVER, &[]),
    ("GET", "/ojs/v1/admin/config", SERVER, &[]),
];

/// The permission that a route needs; `None` if it needs none or does not serve the method.
pub(super) fn permission(method: &Method, path: &str) -> Needs {
    find(method, path).and_then(|(needs, _)| needs)
}

/// Paths of all routes. A path may be there twice.
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().map(|(_, path, ..)| *path)
}

/// Checks the caller's permission and the query string before the handler runs.
pub(super) async fn check(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = path.and_then(|path| find(request.method(), path));
    // The router answers other methods itself.
    let Some((needs, groups)) = route else { return next.run(request).await };
    let checked = check_caller(request.extensions().get::<Caller>(), needs).and_then(|()| {
        let Some(query) = request.uri().query() else { return Ok(()) };
        Params::parse(query).and_then(|params| params.only(&groups.concat()))
    });
    match checked {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn check_caller(caller: Option<&Caller>, needs: Needs) -> Result<(), ApiError> {
    match (caller, needs) {
        (_, None) => Ok(()),
        (Some(caller), Some(permission)) => caller.check(permission),
        (None, Some(_)) => Err(ApiError::no_caller()),
    }
}

/// The permission and the parameters of a route; `None` if it does not serve the method.
fn find(method: &Method, path: &str) -> Option<(Needs, &'static [&'static [&'static str]])> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let serves = |methods: &str| methods.split(' ').any(|name| name == method.as_str());
    let route = ROUTES.iter().find(|(methods, route, ..)| *route == path && serves(methods));
    route.map(|(_, _, needs, params)| (*needs, *params))
}

/// Each route's method, path and permission.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str, Option<Permission>)> {
    routes_with_params().map(|(method, path, needs, _)| (method, path, needs))
}

/// Each route's method, path, permission and query parameters.
pub(super) fn routes_with_params()
-> impl Iterator<Item = (&'static str, &'static str, Needs, Vec<&'static str>)> {
    ROUTES.iter().flat_map(|(methods, path, needs, groups)| {
        methods.split(' ').map(move |method| (method, *path, *needs, groups.concat()))
    })
}

/// The routes as rows of a table in Markdown, for `docs/security.md`.
#[must_use]
pub fn permission_table() -> String {
    let mut table = String::from("| request | scope |\n| --- | --- |\n");
    for (methods, path, needs, _) in ROUTES {
        let scope = needs.map_or("none".to_owned(), |needs| format!("`{}`", needs.name()));
        table.push_str(&format!("| `{} {path}` | {scope} |\n", methods.replace(' ', ", ")));
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::http::fast_path::FastRoute;

    /// Method and path of each route, from the router's own description, because axum lists them
    /// nowhere else.
    fn served_routes() -> Vec<(String, String)> {
        let described = format!("{:?}", super::super::served());
        let (endpoints, rest) = described.split_once("node: Node").expect("axum's description");
        let paths = by_id(rest.split("fallback_router").next().unwrap_or_default(), ": \"");
        let methods = by_id(endpoints, "allow_header: Bytes(b\"");
        assert!(paths.keys().eq(methods.keys()));
        let served = paths.into_values().zip(methods.into_values()).flat_map(|(path, methods)| {
            let methods = methods.split(',').filter(|method| *method != "HEAD");
            methods.map(|method| (method.to_owned(), path.to_owned())).collect::<Vec<_>>()
        });
        served.collect()
    }

    /// For each route id, the text that follows `mark` up to the next quotation mark.
    fn by_id<'a>(described: &'a str, mark: &str) -> BTreeMap<&'a str, &'a str> {
        let entries = described.split("RouteId(").skip(1).filter_map(|entry| {
            let (id, rest) = entry.split_once(')')?;
            Some((id, rest.split_once(mark)?.1.split('"').next()?))
        });
        entries.collect()
    }

    #[test]
    fn every_route_has_an_entry_and_every_entry_has_a_route() {
        let served = served_routes();
        assert!(served.len() > 80, "{served:?}");
        let declared: Vec<(String, String)> = ROUTES
            .iter()
            .flat_map(|(methods, path, ..)| {
                methods.split(' ').map(|method| (method.to_owned(), (*path).to_owned()))
            })
            .collect();
        let missing: Vec<_> = served.iter().filter(|route| !declared.contains(route)).collect();
        let extra: Vec<_> = declared.iter().filter(|route| !served.contains(route)).collect();
        assert!(missing.is_empty(), "routes without an entry in route_table.rs: {missing:?}");
        assert!(extra.is_empty(), "entries of route_table.rs without a route: {extra:?}");
    }

    #[test]
    fn the_fast_path_asks_for_the_same_permissions_as_the_router() {
        for route in FastRoute::ALL {
            let path = route.path();
            let (needs, params) = find(&Method::POST, path).expect("the router has it too");
            assert_eq!(needs, Some(route.permission()), "{path}");
            assert!(params.is_empty(), "{path} has parameters, which the fast path does not check");
        }
    }

    #[test]
    fn only_probes_and_descriptions_of_the_server_need_no_permission() {
        let open: Vec<&str> =
            ROUTES.iter().filter(|(_, _, needs, _)| needs.is_none()).map(|route| route.1).collect();
        let expected = [
            "/ojs/manifest",
            "/health",
            "/v1/health",
            "/ready",
            "/ojs/v1/health",
            "/ojs/v1/openapi.json",
        ];
        assert_eq!(open, expected);
    }
}
