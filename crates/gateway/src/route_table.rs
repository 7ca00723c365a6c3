//! What happens to each request of the API.

use axum::http::Method;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// A new job goes to the region that is chosen for it.
    Routed,
    /// A batch goes to one region.
    RoutedBatch,
    /// It goes to the region of the job in the path.
    ToJob,
    /// Each report goes to the region of its job.
    Settled,
    /// Jobs come from the regions that workers are served from.
    Fetched,
    /// It goes to all regions that workers are served from.
    ToWorkers,
    /// A heartbeat goes to all regions that workers are served from, and their answers become one.
    Heartbeat,
    /// It goes to the home region.
    ToHome,
    /// A schedule goes to the home region, unless its jobs must run in another one.
    Schedule,
    /// A list of all regions: each item names its region.
    MergedList,
    /// Statistics of all regions: counts are added up, and each region's own are beside them.
    MergedFigures,
    /// The gateway answers itself.
    Own(Own),
    /// It is not served. The client can ask a region itself.
    Refused,
}

/// Requests that the gateway answers itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Whether enough regions are healthy.
    Health,
    /// Whether the gateway is ready.
    Ready,
    /// The regions and how they are doing.
    Regions,
    /// The regions as backends.
    Backends,
    /// Where a job would go.
    Route,
    /// The health of the federation.
    FederationHealth,
}

use Handling::{
    Fetched, Heartbeat, MergedFigures, MergedList, Refused, Routed, RoutedBatch, Schedule, Settled,
    ToHome, ToJob, ToWorkers,
};

/// Methods, path and what happens.
const ROUTES: &[(&str, &str, Handling)] = &[
    ("GET", "/ojs/manifest", ToHome),
    ("GET", "/health", Handling::Own(Own::Health)),
    ("GET", "/v1/health", Handling::Own(Own::Health)),
    ("GET", "/ojs/v1/health", Handling::Own(Own::Health)),
    ("GET", "/ready", Handling::Own(Own::Ready)),
    ("GET", "/ojs/v1/openapi.json", ToHome),
    ("GET", "/ojs/v1/admin/regions", Handling::Own(Own::Regions)),
    ("GET", "/ojs/v1/federation/regions", Handling::Own(Own::Regions)),
    ("GET", "/v1/federation/regions", Handling::Own(Own::Regions)),
    ("POST", "/ojs/v1/federation/route", Handling::Own(Own::Route)),
    ("POST", "/v1/federation/route", Handling::Own(Own::Route)),
    ("GET", "/ojs/v1/federation/health", Handling::Own(Own::FederationHealth)),
    ("GET", "/v1/federation/health", Handling::Own(Own::FederationHealth)),
    ("GET", "/ojs/federation/backends", Handling::Own(Own::Backends)),
    ("GET", "/ojs/federation/stats", MergedFigures),
    ("GET", "/metrics", Refused),
    ("GET", "/ojs/v1/metrics", Refused),
    ("GET", "/v1/queues", MergedList),
    ("GET", "/v1/dead-letter", MergedList),
    ("GET", "/v1/workers", MergedList),
    ("POST", "/ojs/v1/jobs", Routed),
    ("POST", "/ojs/v1/jobs/batch", RoutedBatch),
    ("GET", "/ojs/v1/jobs", MergedList),
    ("POST", "/ojs/v1/jobs/bulk/{action}", Refused),
    ("GET PATCH DELETE", "/ojs/v1/jobs/{id}", ToJob),
    ("GET", "/ojs/v1/jobs/{id}/result", ToJob),
    ("POST", "/ojs/v1/jobs/{id}/activate", ToJob),
    ("POST", "/ojs/v1/jobs/{id}/cancel", ToJob),
    ("GET", "/ojs/v1/jobs/{id}/events", Refused),
    ("POST", "/ojs/v1/workers", ToWorkers),
    ("POST", "/ojs/v1/workers/register", ToWorkers),
    ("POST", "/ojs/v1/workers/deregister", ToWorkers),
    ("DELETE", "/ojs/v1/workers/{id}", ToWorkers),
    ("POST", "/ojs/v1/workers/ack", Settled),
    ("POST", "/ojs/v1/workers/nack", Settled),
    ("POST", "/ojs/v1/workers/fetch", Fetched),
    ("POST", "/ojs/v1/workers/heartbeat", Heartbeat),
    ("GET", "/ojs/v1/queues", MergedList),
    ("POST", "/ojs/v1/queues", ToHome),
    ("GET", "/ojs/v1/queues/{name}", MergedFigures),
    ("GET", "/ojs/v1/queues/{name}/stats", MergedFigures),
    ("DELETE", "/ojs/v1/queues/{name}", ToHome),
    ("GET PUT", "/ojs/v1/queues/{name}/config", ToHome),
    ("POST", "/ojs/v1/queues/{name}/purge", ToHome),
    ("POST", "/ojs/v1/queues/{name}/pause", ToHome),
    ("POST", "/ojs/v1/queues/{name}/resume", ToHome),
    ("GET", "/ojs/v1/queues/{name}/events", Refused),
    ("GET", "/ojs/v1/dead-letter", MergedList),
    ("DELETE", "/ojs/v1/dead-letter", Refused),
    ("POST", "/ojs/v1/dead-letter/purge", Refused),
    ("POST", "/ojs/v1/dead-letter/retry", Refused),
    ("GET", "/ojs/v1/dead-letter/stats", MergedFigures),
    ("GET DELETE", "/ojs/v1/dead-letter/{id}", ToJob),
    ("POST", "/ojs/v1/dead-letter/{id}/retry", ToJob),
    ("GET", "/ojs/v1/cron", ToHome),
    ("POST", "/ojs/v1/cron", Schedule),
    ("GET DELETE", "/ojs/v1/cron/{name}", ToHome),
    ("PATCH", "/ojs/v1/cron/{name}", Schedule),
    ("GET", "/ojs/v1/cron/{name}/history", ToHome),
    ("POST", "/ojs/v1/cron/{name}/pause", ToHome),
    ("POST", "/ojs/v1/cron/{name}/resume", ToHome),
    ("POST", "/ojs/v1/cron/{name}/trigger", ToHome),
    ("GET", "/ojs/v1/crons", ToHome),
    ("POST", "/ojs/v1/crons", Schedule),
    ("GET DELETE", "/ojs/v1/crons/{name}", ToHome),
    ("PATCH", "/ojs/v1/crons/{name}", Schedule),
    ("GET", "/ojs/v1/crons/{name}/history", ToHome),
    ("POST", "/ojs/v1/crons/{name}/pause", ToHome),
    ("POST", "/ojs/v1/crons/{name}/resume", ToHome),
    ("POST", "/ojs/v1/crons/{name}/trigger", ToHome),
    ("GET", "/ojs/v1/events", MergedList),
    ("GET", "/ojs/v1/events/stream", Refused),
    ("GET", "/ojs/v1/ws", Refused),
    ("GET", "/ojs/v1/rate-limits", ToHome),
    ("GET PUT DELETE", "/ojs/v1/rate-limits/{key}", ToHome),
    ("PUT DELETE", "/ojs/v1/rate-limits/{key}/override", ToHome),
    ("GET", "/ojs/v1/pools", ToHome),
    ("GET", "/ojs/v1/pools/{name}", ToHome),
    ("GET", "/ojs/v1/admin/queues", MergedList),
    ("POST", "/ojs/v1/admin/queues", ToHome),
    ("GET", "/ojs/v1/admin/queues/{name}", MergedFigures),
    ("DELETE", "/ojs/v1/admin/queues/{name}", ToHome),
    ("POST", "/ojs/v1/admin/queues/{name}/pause", ToHome),
    ("POST", "/ojs/v1/admin/queues/{name}/resume", ToHome),
    ("DELETE", "/ojs/v1/admin/queues/{name}/jobs", Refused),
    ("GET PUT", "/ojs/v1/admin/queues/{name}/config", ToHome),
    ("GET PUT DELETE", "/ojs/v1/admin/queues/{name}/rate-limit", ToHome),
    ("GET PUT DELETE", "/ojs/v1/admin/job-types/{type}/rate-limit", ToHome),
    ("GET POST", "/ojs/v1/admin/keys", ToHome),
    ("GET DELETE", "/ojs/v1/admin/keys/{id}", ToHome),
    ("POST", "/ojs/v1/admin/keys/{id}/revoke", ToHome),
    ("POST", "/ojs/v1/admin/keys/{id}/rotate", ToHome),
    ("GET", "/ojs/v1/admin/pools", ToHome),
    ("GET PUT DELETE", "/ojs/v1/admin/pools/{name}", ToHome),
    ("GET", "/ojs/v1/admin/scheduling/stats", ToHome),
    ("GET", "/ojs/v1/admin/jobs", MergedList),
    ("GET PATCH", "/ojs/v1/admin/jobs/{id}", ToJob),
    ("POST", "/ojs/v1/admin/jobs/{id}/cancel", ToJob),
    ("POST", "/ojs/v1/admin/jobs/{id}/retry", ToJob),
    ("GET", "/ojs/v1/admin/jobs/{id}/explain", ToJob),
    ("POST", "/ojs/v1/admin/jobs/bulk/{action}", Refused),
    ("GET", "/ojs/v1/admin/tenants", ToHome),
    ("GET PUT DELETE", "/ojs/v1/admin/tenants/{id}", ToHome),
    ("GET PUT", "/ojs/v1/admin/tenants/{id}/limits", ToHome),
    ("GET", "/ojs/v1/admin/tenants/{id}/stats", ToHome),
    ("GET", "/ojs/v1/admin/tenants/{id}/usage", ToHome),
    ("GET", "/ojs/v1/admin/tenants/{id}/jobs", MergedList),
    ("GET", "/ojs/v1/admin/tenants/{id}/changes", ToHome),
    ("POST", "/ojs/v1/admin/tenants/{id}/release", ToHome),
    ("GET", "/ojs/v1/admin/fairness", ToHome),
    ("GET", "/ojs/v1/admin/workers", MergedList),
    ("GET", "/ojs/v1/admin/workers/{id}", ToHome),
    ("DELETE", "/ojs/v1/admin/workers/{id}", ToWorkers),
    ("POST", "/ojs/v1/admin/workers/{id}/quiet", ToWorkers),
    ("POST", "/ojs/v1/admin/workers/{id}/terminate", ToWorkers),
    ("POST", "/ojs/v1/admin/workers/{id}/resume", ToWorkers),
    ("GET", "/ojs/v1/admin/audit", ToHome),
    ("GET", "/ojs/v1/admin/stats", MergedFigures),
    ("GET", "/ojs/v1/admin/stats/history", ToHome),
    ("GET", "/ojs/v1/admin/dead-letter", MergedList),
    ("DELETE", "/ojs/v1/admin/dead-letter", Refused),
    ("POST", "/ojs/v1/admin/dead-letter/retry", Refused),
    ("GET", "/ojs/v1/admin/dead-letter/stats", MergedFigures),
    ("GET DELETE", "/ojs/v1/admin/dead-letter/{id}", ToJob),
    ("POST", "/ojs/v1/admin/dead-letter/{id}/retry", ToJob),
    ("GET POST", "/ojs/v1/admin/system/maintenance", ToHome),
    ("GET", "/ojs/v1/admin/system/config", ToHome),
    ("GET POST", "/ojs/v1/admin/maintenance", ToHome),
    ("GET", "/ojs/v1/admin/config", ToHome),
];

impl Handling {
    /// In words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Routed => "routed to the region that is chosen",
            RoutedBatch => "routed to one region, or refused",
            ToJob => "to the job's region",
            Settled => "each report to its job's region",
            Fetched => "from the regions in `gateway.fetch_regions`",
            ToWorkers => "to all regions in `gateway.fetch_regions`",
            Heartbeat => "to all regions in `gateway.fetch_regions`, merged",
            ToHome => "to the home region",
            Schedule => "to the home region; refused if its jobs must run elsewhere",
            MergedList => "merged, with the region of each item",
            MergedFigures => "counts added up, with each region's own",
            Handling::Own(_) => "answered by the gateway",
            Refused => "refused; ask the region",
        }
    }
}

/// Each request of the API and what happens to it.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str, Handling)> {
    ROUTES.iter().flat_map(|(methods, path, handling)| {
        methods.split(' ').map(move |method| (method, *path, *handling))
    })
}

/// The table in Markdown, for `docs/federation.md`.
#[must_use]
pub fn handling_table() -> String {
    let mut table = String::from("| request | what happens |\n| --- | --- |\n");
    for (methods, path, handling) in ROUTES {
        let methods = methods.replace(' ', ", ");
        table.push_str(&format!("| `{methods} {path}` | {} |\n", handling.describe()));
    }
    table
}

/// Finds what happens to a request.
pub(crate) struct RouteTable {
    paths: matchit::Router<Vec<(&'static str, Handling)>>,
}

/// What was found for a request.
pub(crate) enum Found {
    /// This happens, with the job's id if the path names one.
    Handled(Handling, Option<String>),
    /// The path serves other methods.
    OtherMethod,
    /// There is no such path.
    Nothing,
}

impl RouteTable {
    pub fn new() -> Self {
        let mut by_path: Vec<(&str, Vec<(&'static str, Handling)>)> = Vec::new();
        for (method, path, handling) in routes() {
            match by_path.iter_mut().find(|(known, _)| *known == path) {
                Some((_, methods)) => methods.push((method, handling)),
                None => by_path.push((path, vec![(method, handling)])),
            }
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in by_path {
            paths.insert(path, methods).expect("the table has no conflicting paths");
        }
        Self { paths }
    }

    pub fn find(&self, method: &Method, path: &str) -> Found {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let Ok(found) = self.paths.at(path) else { return Found::Nothing };
        let handling = found.value.iter().find(|(known, _)| *known == method.as_str());
        match handling {
            Some((_, handling)) => {
                Found::Handled(*handling, found.params.get("id").map(str::to_owned))
            }
            None => Found::OtherMethod,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_of_the_server_has_an_entry() {
        let missing: Vec<_> = rota_server::http::routes()
            .filter(|(method, path, _)| {
                !routes().any(|(known, at, _)| known == *method && at == *path)
            })
            .map(|(method, path, _)| (method, path))
            .collect();
        assert!(missing.is_empty(), "requests without an entry: {missing:?}");
    }

    #[test]
    fn requests_are_found_by_method_and_path() {
        let table = RouteTable::new();
        let found = table.find(&Method::GET, "/ojs/v1/jobs/abc");
        assert!(matches!(found, Found::Handled(ToJob, Some(id)) if id == "abc"));
        assert!(matches!(table.find(&Method::PUT, "/ojs/v1/jobs"), Found::OtherMethod));
        assert!(matches!(table.find(&Method::GET, "/nowhere"), Found::Nothing));
    }
}
