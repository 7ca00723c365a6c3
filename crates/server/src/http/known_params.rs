//! The query parameters of each route. Any other parameter, and one that is repeated, is an error.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

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
const PURGE: &[&str] = &["purge", "confirm"];

/// Methods, path, and groups of parameters. HEAD has those of GET.
const ROUTES: &[(&str, &str, &[&[&str]])] = &[
    ("GET", "/ojs/manifest", &[]),
    ("GET", "/health", &[]),
    ("GET", "/v1/health", &[]),
    ("GET", "/v1/queues", &[PAGES]),
    ("GET", "/v1/dead-letter", &[JOBS, DEAD_LETTER, PAGES]),
    ("GET", "/v1/workers", &[PAGES]),
    ("GET", "/ready", &[]),
    ("GET", "/metrics", &[&["format"]]),
    ("GET", "/ojs/v1/metrics", &[&["format"]]),
    ("GET", "/ojs/v1/health", &[]),
    ("GET", "/ojs/v1/jobs", &[JOBS, PAGES, &["exclude_terminal"]]),
    ("POST", "/ojs/v1/jobs", &[]),
    ("POST", "/ojs/v1/jobs/bulk/{action}", &[]),
    ("POST", "/ojs/v1/jobs/batch", &[]),
    ("GET PATCH", "/ojs/v1/jobs/{id}", &[]),
    ("DELETE", "/ojs/v1/jobs/{id}", &[&["mode"]]),
    ("GET", "/ojs/v1/jobs/{id}/result", &[&["wait", "timeout"]]),
    ("POST", "/ojs/v1/jobs/{id}/activate", &[]),
    ("POST", "/ojs/v1/jobs/{id}/cancel", &[&["mode"]]),
    ("GET", "/ojs/v1/jobs/{id}/events", &[EVENTS]),
    ("POST", "/ojs/v1/workers", &[]),
    ("POST", "/ojs/v1/workers/ack", &[]),
    ("POST", "/ojs/v1/workers/deregister", &[]),
    ("POST", "/ojs/v1/workers/fetch", &[]),
    ("POST", "/ojs/v1/workers/heartbeat", &[]),
    ("POST", "/ojs/v1/workers/nack", &[]),
    ("POST", "/ojs/v1/workers/register", &[]),
    ("DELETE", "/ojs/v1/workers/{id}", &[]),
    ("GET", "/ojs/v1/queues", &[PAGES]),
    ("POST", "/ojs/v1/queues", &[]),
    ("GET", "/ojs/v1/queues/{name}", &[]),
    ("DELETE", "/ojs/v1/queues/{name}", &[PURGE]),
    ("GET PUT", "/ojs/v1/queues/{name}/config", &[]),
    ("POST", "/ojs/v1/queues/{name}/purge", &[]),
    ("GET", "/ojs/v1/queues/{name}/stats", &[]),
    ("GET", "/ojs/v1/queues/{name}/events", &[EVENTS]),
    ("POST", "/ojs/v1/queues/{name}/pause", &[]),
    ("POST", "/ojs/v1/queues/{name}/resume", &[]),
    ("GET", "/ojs/v1/dead-letter", &[JOBS, DEAD_LETTER, PAGES]),
    ("DELETE", "/ojs/v1/dead-letter", &[]),
    ("POST", "/ojs/v1/dead-letter/purge", &[&["older_than"]]),
    ("POST", "/ojs/v1/dead-letter/retry", &[]),
    ("GET", "/ojs/v1/dead-letter/stats", &[]),
    ("GET DELETE", "/ojs/v1/dead-letter/{id}", &[]),
    ("POST", "/ojs/v1/dead-letter/{id}/retry", &[]),
    ("GET", "/ojs/v1/cron", &[PAGES, TENANT, &["enabled"]]),
    ("POST", "/ojs/v1/cron", &[]),
    ("GET DELETE PATCH", "/ojs/v1/cron/{name}", &[TENANT]),
    ("GET", "/ojs/v1/cron/{name}/history", &[TENANT, NUMBERED_PAGES, &["limit"]]),
    ("POST", "/ojs/v1/cron/{name}/pause", &[TENANT]),
    ("POST", "/ojs/v1/cron/{name}/resume", &[TENANT]),
    ("POST", "/ojs/v1/cron/{name}/trigger", &[TENANT]),
    ("GET", "/ojs/v1/crons", &[PAGES, TENANT, &["enabled"]]),
    ("POST", "/ojs/v1/crons", &[]),
    ("GET DELETE PATCH", "/ojs/v1/crons/{name}", &[TENANT]),
    ("GET", "/ojs/v1/crons/{name}/history", &[TENANT, NUMBERED_PAGES, &["limit"]]),
    ("POST", "/ojs/v1/crons/{name}/pause", &[TENANT]),
    ("POST", "/ojs/v1/crons/{name}/resume", &[TENANT]),
    ("POST", "/ojs/v1/crons/{name}/trigger", &[TENANT]),
    ("GET", "/ojs/v1/events", &[EVENTS, &["limit", "since", "page", "per_page", "channel"]]),
    ("GET", "/ojs/v1/events/stream", &[EVENTS, &["channel"]]),
    ("GET", "/ojs/v1/ws", &[]),
    ("GET", "/ojs/v1/rate-limits", &[PAGES, &["prefix"]]),
    ("GET PUT DELETE", "/ojs/v1/rate-limits/{key}", &[TENANT]),
    ("PUT DELETE", "/ojs/v1/rate-limits/{key}/override", &[TENANT]),
    ("GET", "/ojs/v1/pools", &[PAGES]),
    ("GET", "/ojs/v1/pools/{name}", &[]),
    ("GET", "/ojs/v1/admin/queues", &[PAGES]),
    ("POST", "/ojs/v1/admin/queues", &[]),
    ("GET", "/ojs/v1/admin/queues/{name}", &[]),
    ("DELETE", "/ojs/v1/admin/queues/{name}", &[PURGE]),
    ("POST", "/ojs/v1/admin/queues/{name}/pause", &[]),
    ("POST", "/ojs/v1/admin/queues/{name}/resume", &[]),
    ("DELETE", "/ojs/v1/admin/queues/{name}/jobs", &[]),
    ("GET PUT", "/ojs/v1/admin/queues/{name}/config", &[]),
    ("GET PUT DELETE", "/ojs/v1/admin/queues/{name}/rate-limit", &[]),
    ("GET PUT DELETE", "/ojs/v1/admin/job-types/{type}/rate-limit", &[]),
    ("GET", "/ojs/v1/admin/pools", &[PAGES]),
    ("GET PUT DELETE", "/ojs/v1/admin/pools/{name}", &[]),
    ("GET", "/ojs/v1/admin/scheduling/stats", &[]),
    ("GET", "/ojs/v1/admin/jobs", &[JOBS, PAGES, &["exclude_terminal"]]),
    ("GET PATCH", "/ojs/v1/admin/jobs/{id}", &[]),
    ("POST", "/ojs/v1/admin/jobs/{id}/cancel", &[&["mode"]]),
    ("POST", "/ojs/v1/admin/jobs/{id}/retry", &[]),
    ("GET", "/ojs/v1/admin/jobs/{id}/explain", &[]),
    ("POST", "/ojs/v1/admin/jobs/bulk/{action}", &[]),
    ("GET", "/ojs/v1/admin/tenants", &[&["page", "per_page", "cursor", "sort"]]),
    ("GET PUT", "/ojs/v1/admin/tenants/{id}", &[]),
    ("DELETE", "/ojs/v1/admin/tenants/{id}", &[PURGE]),
    ("GET PUT", "/ojs/v1/admin/tenants/{id}/limits", &[]),
    ("GET", "/ojs/v1/admin/tenants/{id}/stats", &[]),
    ("GET", "/ojs/v1/admin/tenants/{id}/usage", &[NUMBERED_PAGES, &["per", "from", "to"]]),
    ("GET", "/ojs/v1/admin/tenants/{id}/jobs", &[JOBS, PAGES, &["exclude_terminal"]]),
    ("GET", "/ojs/v1/admin/tenants/{id}/changes", &[NUMBERED_PAGES]),
    ("POST", "/ojs/v1/admin/tenants/{id}/release", &[]),
    ("GET", "/ojs/v1/admin/fairness", &[&["limit"]]),
    ("GET", "/ojs/v1/admin/workers", &[PAGES]),
    ("GET DELETE", "/ojs/v1/admin/workers/{id}", &[]),
    ("POST", "/ojs/v1/admin/workers/{id}/quiet", &[]),
    ("POST", "/ojs/v1/admin/workers/{id}/terminate", &[]),
    ("POST", "/ojs/v1/admin/workers/{id}/resume", &[]),
    ("GET", "/ojs/v1/admin/stats", &[&["queue", "detail", "limit"]]),
    ("GET", "/ojs/v1/admin/stats/history", &[&["period", "since", "until", "queue"]]),
    ("GET", "/ojs/v1/admin/dead-letter", &[JOBS, DEAD_LETTER, PAGES]),
    ("DELETE", "/ojs/v1/admin/dead-letter", &[]),
    ("POST", "/ojs/v1/admin/dead-letter/retry", &[]),
    ("GET", "/ojs/v1/admin/dead-letter/stats", &[]),
    ("GET DELETE", "/ojs/v1/admin/dead-letter/{id}", &[]),
    ("POST", "/ojs/v1/admin/dead-letter/{id}/retry", &[]),
    ("GET POST", "/ojs/v1/admin/system/maintenance", &[]),
    ("GET", "/ojs/v1/admin/system/config", &[]),
    ("GET POST", "/ojs/v1/admin/maintenance", &[]),
    ("GET", "/ojs/v1/admin/config", &[]),
];

/// Checks the query string before the handler runs.
pub(super) async fn check(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    if let (Some(query), Some(path)) = (request.uri().query(), path)
        && let Some(known) = known_params(request.method(), path)
        && let Err(error) = Params::parse(query).and_then(|params| params.only(&known))
    {
        return error.into_response();
    }
    next.run(request).await
}

/// The parameters of a route; `None` if it does not serve the method.
fn known_params(method: &Method, path: &str) -> Option<Vec<&'static str>> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let serves = |methods: &str| methods.split(' ').any(|name| name == method.as_str());
    let (.., groups) =
        ROUTES.iter().find(|(methods, route, _)| *route == path && serves(methods))?;
    Some(groups.concat())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

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
    fn every_route_declares_its_parameters_and_every_declaration_has_a_route() {
        let served = served_routes();
        assert!(served.len() > 80, "{served:?}");
        let declared: Vec<(String, String)> = ROUTES
            .iter()
            .flat_map(|(methods, path, _)| {
                methods.split(' ').map(|method| (method.to_owned(), (*path).to_owned()))
            })
            .collect();
        let missing: Vec<_> = served.iter().filter(|route| !declared.contains(route)).collect();
        let extra: Vec<_> = declared.iter().filter(|route| !served.contains(route)).collect();
        assert!(missing.is_empty(), "routes without an entry in known_params.rs: {missing:?}");
        assert!(extra.is_empty(), "entries of known_params.rs without a route: {extra:?}");
    }
}
