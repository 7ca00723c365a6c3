//! Administrative acts: the routes that go into the audit log, and the name of the event of each.

use std::sync::LazyLock;

use axum::http::Method;
use rota_identity::KEY_PREFIX;

use super::route_table;

/// Methods, path and event. All other routes only read, or are the ordinary work of producers and workers,
/// which is in [`ORDINARY`].
const ACTS: &[(&str, &str, &str)] = &[
    ("POST", "/ojs/v1/jobs/bulk/{action}", "job.bulk"),
    ("POST", "/ojs/v1/admin/jobs/bulk/{action}", "job.bulk"),
    ("PATCH", "/ojs/v1/jobs/{id}", "job.reprioritize"),
    ("PATCH", "/ojs/v1/admin/jobs/{id}", "job.reprioritize"),
    ("DELETE", "/ojs/v1/jobs/{id}", "job.cancel"),
    ("POST", "/ojs/v1/jobs/{id}/cancel", "job.cancel"),
    ("POST", "/ojs/v1/admin/jobs/{id}/cancel", "job.cancel"),
    ("POST", "/ojs/v1/admin/jobs/{id}/retry", "job.retry"),
    ("POST", "/ojs/v1/queues", "queue.create"),
    ("POST", "/ojs/v1/admin/queues", "queue.create"),
    ("DELETE", "/ojs/v1/queues/{name}", "queue.delete"),
    ("DELETE", "/ojs/v1/admin/queues/{name}", "queue.delete"),
    ("PUT", "/ojs/v1/queues/{name}/config", "queue.configure"),
    ("PUT", "/ojs/v1/admin/queues/{name}/config", "queue.configure"),
    ("POST", "/ojs/v1/queues/{name}/purge", "queue.purge"),
    ("DELETE", "/ojs/v1/admin/queues/{name}/jobs", "queue.purge"),
    ("POST", "/ojs/v1/queues/{name}/pause", "queue.pause"),
    ("POST", "/ojs/v1/admin/queues/{name}/pause", "queue.pause"),
    ("POST", "/ojs/v1/queues/{name}/resume", "queue.resume"),
    ("POST", "/ojs/v1/admin/queues/{name}/resume", "queue.resume"),
    ("DELETE", "/ojs/v1/dead-letter", "dead_letter.purge"),
    ("POST", "/ojs/v1/dead-letter/purge", "dead_letter.purge"),
    ("DELETE", "/ojs/v1/admin/dead-letter", "dead_letter.purge"),
    ("POST", "/ojs/v1/dead-letter/retry", "dead_letter.retry"),
    ("POST", "/ojs/v1/admin/dead-letter/retry", "dead_letter.retry"),
    ("DELETE", "/ojs/v1/dead-letter/{id}", "dead_letter.delete"),
    ("DELETE", "/ojs/v1/admin/dead-letter/{id}", "dead_letter.delete"),
    ("POST", "/ojs/v1/dead-letter/{id}/retry", "dead_letter.retry"),
    ("POST", "/ojs/v1/admin/dead-letter/{id}/retry", "dead_letter.retry"),
    ("POST", "/ojs/v1/cron", "cron.create"),
    ("POST", "/ojs/v1/crons", "cron.create"),
    ("DELETE", "/ojs/v1/cron/{name}", "cron.delete"),
    ("DELETE", "/ojs/v1/crons/{name}", "cron.delete"),
    ("PATCH", "/ojs/v1/cron/{name}", "cron.change"),
    ("PATCH", "/ojs/v1/crons/{name}", "cron.change"),
    ("POST", "/ojs/v1/cron/{name}/pause", "cron.pause"),
    ("POST", "/ojs/v1/crons/{name}/pause", "cron.pause"),
    ("POST", "/ojs/v1/cron/{name}/resume", "cron.resume"),
    ("POST", "/ojs/v1/crons/{name}/resume", "cron.resume"),
    ("POST", "/ojs/v1/cron/{name}/trigger", "cron.trigger"),
    ("POST", "/ojs/v1/crons/{name}/trigger", "cron.trigger"),
    ("PUT", "/ojs/v1/rate-limits/{key}", "rate_limit.set"),
    ("DELETE", "/ojs/v1/rate-limits/{key}", "rate_limit.clear"),
    ("PUT", "/ojs/v1/rate-limits/{key}/override", "rate_limit.set"),
    ("DELETE", "/ojs/v1/rate-limits/{key}/override", "rate_limit.clear"),
    ("PUT", "/ojs/v1/admin/queues/{name}/rate-limit", "rate_limit.set"),
    ("DELETE", "/ojs/v1/admin/queues/{name}/rate-limit", "rate_limit.clear"),
    ("PUT", "/ojs/v1/admin/job-types/{type}/rate-limit", "rate_limit.set"),
    ("DELETE", "/ojs/v1/admin/job-types/{type}/rate-limit", "rate_limit.clear"),
    ("PUT", "/ojs/v1/admin/pools/{name}", "pool.configure"),
    ("DELETE", "/ojs/v1/admin/pools/{name}", "pool.delete"),
    ("PUT", "/ojs/v1/admin/tenants/{id}", "tenant.configure"),
    ("PUT", "/ojs/v1/admin/tenants/{id}/limits", "tenant.configure"),
    ("DELETE", "/ojs/v1/admin/tenants/{id}", "tenant.delete"),
    ("POST", "/ojs/v1/admin/tenants/{id}/release", "tenant.release"),
    ("POST", "/ojs/v1/admin/keys", "key.create"),
    ("DELETE", "/ojs/v1/admin/keys/{id}", "key.delete"),
    ("POST", "/ojs/v1/admin/keys/{id}/revoke", "key.revoke"),
    ("POST", "/ojs/v1/admin/keys/{id}/rotate", "key.rotate"),
    ("DELETE", "/ojs/v1/admin/workers/{id}", "worker.remove"),
    ("POST", "/ojs/v1/admin/workers/{id}/quiet", "worker.quiet"),
    ("POST", "/ojs/v1/admin/workers/{id}/terminate", "worker.terminate"),
    ("POST", "/ojs/v1/admin/workers/{id}/resume", "worker.resume"),
    ("POST", "/ojs/v1/admin/system/maintenance", "system.maintenance"),
    ("POST", "/ojs/v1/admin/maintenance", "system.maintenance"),
];

/// The ordinary work of producers and workers, which changes jobs and is not in the audit log.
#[cfg(test)]
const ORDINARY: &[(&str, &str)] = &[
    ("POST", "/ojs/v1/jobs"),
    ("POST", "/ojs/v1/jobs/batch"),
    ("POST", "/ojs/v1/jobs/{id}/activate"),
    ("POST", "/ojs/v1/workers"),
    ("POST", "/ojs/v1/workers/ack"),
    ("POST", "/ojs/v1/workers/deregister"),
    ("POST", "/ojs/v1/workers/fetch"),
    ("POST", "/ojs/v1/workers/heartbeat"),
    ("POST", "/ojs/v1/workers/nack"),
    ("POST", "/ojs/v1/workers/register"),
    ("DELETE", "/ojs/v1/workers/{id}"),
];

/// The route of a request that matches none.
const NO_ROUTE: &str = "(no route)";
/// The most characters of a name in a path that are taken over.
const MAX_NAME: usize = 128;

/// A path, by the pattern that it matches.
pub(super) struct Matched {
    pub route: &'static str,
    /// The last name in the path.
    pub name: Option<String>,
}

/// The pattern that a path matches.
pub(super) fn matched(path: &str) -> Matched {
    static ROUTES: LazyLock<matchit::Router<&'static str>> = LazyLock::new(|| {
        let mut routes = matchit::Router::new();
        for route in route_table::paths() {
            // A path with several entries is inserted once.
            let _ = routes.insert(route, route);
        }
        routes
    });
    let Ok(found) = ROUTES.at(path) else { return Matched { route: NO_ROUTE, name: None } };
    let name = found.params.iter().last().map(|(_, value)| {
        let decoded = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
        // Somebody may take a whole key for its id.
        match decoded.contains(KEY_PREFIX) {
            true => "(hidden)".to_owned(),
            false => decoded.chars().take(MAX_NAME).collect(),
        }
    });
    Matched { route: found.value, name }
}

/// The event of an administrative act; `None` for all other requests.
pub(super) fn event_of(method: &Method, route: &str) -> Option<&'static str> {
    let act = ACTS.iter().find(|(name, path, _)| *name == method.as_str() && *path == route);
    act.map(|(.., event)| *event)
}

#[cfg(test)]
mod tests {
    use super::super::fast_path::FastRoute;
    use super::*;

    #[test]
    fn every_route_that_changes_something_is_an_act_or_ordinary_work() {
        for (method, path, _) in route_table::routes() {
            if method == "GET" {
                continue;
            }
            let is_act = ACTS.iter().any(|(name, route, _)| *name == method && *route == path);
            let is_ordinary = ORDINARY.contains(&(method, path));
            assert!(is_act != is_ordinary, "{method} {path} needs an entry in ACTS or in ORDINARY");
        }
        let routes: Vec<_> =
            route_table::routes().map(|(method, path, _)| (method, path)).collect();
        for (method, path, _) in ACTS {
            assert!(routes.contains(&(*method, *path)), "{method} {path} is no route");
        }
    }

    #[test]
    fn requests_of_the_fast_path_are_no_acts() {
        for route in FastRoute::ALL {
            assert_eq!(event_of(&Method::POST, route.path()), None, "{route:?}");
        }
    }

    #[test]
    fn a_path_is_matched_with_the_name_in_it() {
        let matched = |path| {
            let Matched { route, name } = matched(path);
            (route, name)
        };
        assert_eq!(
            matched("/ojs/v1/queues/reports/pause"),
            ("/ojs/v1/queues/{name}/pause", Some("reports".to_owned()))
        );
        assert_eq!(matched("/ojs/v1/queues/a%20b").1.as_deref(), Some("a b"));
        assert_eq!(matched("/ojs/v1/jobs"), ("/ojs/v1/jobs", None));
        let key = "/ojs/v1/admin/keys/rota_abc_secret";
        assert_eq!(matched(key).1.as_deref(), Some("(hidden)"));
        assert_eq!(matched("/secret/of/mine"), (NO_ROUTE, None));
        let long = format!("/ojs/v1/queues/{}", "x".repeat(1_000));
        assert_eq!(matched(&long).1.map(|name| name.len()), Some(MAX_NAME));
    }
}
