//! Endpoints that the specification or a public client knows and this server does not serve, in one table.
//!
//! They are refused by name, never with a 404 or 405 that speaks of something else. A route of the router
//! wins over this table, so an endpoint that gets a handler is only removed here.

use axum::http::{Method, Uri};

use super::error::ApiError;

/// An endpoint that is not served.
#[derive(Debug)]
pub struct Unserved {
    /// An HTTP method, or `*` for any.
    pub method: &'static str,
    /// `{name}` stands for one segment of a path, `*` at its end for any number of further ones.
    pub path: &'static str,
    /// What the message names.
    pub feature: &'static str,
    /// What to use in its place, if there is something.
    pub instead: Option<&'static str>,
}

const fn none(method: &'static str, path: &'static str, feature: &'static str) -> Unserved {
    Unserved { method, path, feature, instead: None }
}

const fn instead(
    method: &'static str,
    path: &'static str,
    feature: &'static str,
    instead: &'static str,
) -> Unserved {
    Unserved { method, path, feature, instead: Some(instead) }
}

/// By document of the specification.
pub const UNSERVED: &[Unserved] = &[
    // ojs-workflows, ojs-progress 7
    none("*", "/ojs/v1/workflows", "workflows"),
    none("*", "/ojs/v1/workflows/*", "workflows"),
    // ojs-http-binding, ojs-schema-registry, ojs-job-versioning
    none("*", "/ojs/v1/schemas", "schemas"),
    none("*", "/ojs/v1/schemas/*", "schemas"),
    none("*", "/ojs/v1/admin/schemas", "schemas"),
    none("*", "/ojs/v1/admin/schemas/*", "schemas"),
    none("*", "/ojs/v1/admin/routing/*", "routing by job version"),
    // ojs-webhooks
    none("*", "/ojs/v1/webhooks", "webhooks"),
    none("*", "/ojs/v1/webhooks/*", "webhooks"),
    // ojs-progress; the SDKs report progress to a path of their own
    none("POST", "/ojs/v1/workers/progress", "job progress"),
    none("*", "/ojs/v1/jobs/{id}/progress", "job progress"),
    none("GET", "/ojs/v1/jobs/{id}/progress/stream", "job progress"),
    // ojs-durable-execution; the SDKs use paths of their own, and JavaScript's has its prefix twice
    none("*", "/ojs/v1/jobs/{id}/checkpoint", "checkpoints"),
    none("*", "/ojs/v1/checkpoints/*", "checkpoints"),
    none("*", "/ojs/v1/ojs/v1/checkpoints/*", "checkpoints"),
    // ojs-execution-history
    instead("*", "/ojs/v1/jobs/{id}/history", "execution history", SEE_EVENTS),
    none("GET", "/ojs/v1/jobs/{id}/lineage", "execution history"),
    instead("*", "/ojs/v1/history", "execution history", SEE_EVENTS),
    instead("*", "/ojs/v1/history/*", "execution history", SEE_EVENTS),
    none("GET", "/ojs/v1/debug/*", "execution traces"),
    // ojs-results
    instead("POST", "/ojs/v1/jobs/results", "results of several jobs at once", SEE_JOB),
    none("GET", "/ojs/v1/jobs/{id}/result/stream", "streams of results"),
    instead("POST", "/ojs/v1/jobs/{id}/ack", "acks by path", "Use POST /ojs/v1/workers/ack."),
    // Not in the specification: serverless handlers of the JavaScript SDK
    instead("POST", "/ojs/v1/jobs/{id}/nack", "nacks by path", "Use POST /ojs/v1/workers/nack."),
    // ojs-bulk-operations
    instead("POST", "/ojs/v1/jobs/bulk", "bulk operations", "Use POST /ojs/v1/jobs/batch."),
    // ojs-priority, ojs-queue-config, ojs-realtime 9
    none("GET", "/ojs/v1/queues/{queue}/priority-stats", "statistics by priority"),
    instead(
        "GET",
        "/ojs/v1/queues/{name}/jobs",
        "lists of jobs at this path",
        "Use GET /ojs/v1/admin/jobs?queue={name}.",
    ),
    // ojs-federation
    none("*", "/ojs/federation/*", "federation"),
    none("*", "/v1/federation/*", "federation"),
    // ojs-encryption
    none("POST", "/codec/*", "encryption codecs"),
    // Not in the specification: pages of the admin UI
    none("GET", "/ojs/v1/unique-jobs", "lists of unique jobs"),
    none("GET", "/ojs/v1/middleware", "lists of middleware"),
    instead(
        "GET",
        "/ojs/v1/admin/stats/stream",
        "streams of statistics",
        "Use GET /ojs/v1/admin/stats or GET /ojs/v1/events/stream.",
    ),
    // Not in the specification: commands of ojs-cli
    instead(
        "GET",
        "/ojs/v1/jobs/{id}/retries",
        "lists of retries",
        "Use GET /ojs/v1/jobs/{id}, which has the job's errors.",
    ),
    none("GET", "/ojs/v1/admin/jobs/{id}/trace", "execution traces"),
    instead("GET", "/ojs/v1/events/{id}/history", "execution history", SEE_EVENTS),
    instead(
        "GET",
        "/ojs/v1/admin/observability/health",
        "health scores",
        "Use GET /ojs/v1/health.",
    ),
    instead(
        "POST",
        "/ojs/v1/admin/workers/directive",
        "directives to all workers at once",
        "Use POST /ojs/v1/admin/workers/{id}/quiet or resume.",
    ),
    // Not in the specification: agents of the JavaScript and Python SDKs
    none("*", "/v1/agent/*", "agents"),
    none("*", "/v1/agents/*", "agents"),
];

const SEE_EVENTS: &str = "Use GET /ojs/v1/events, which has the recent past.";
const SEE_JOB: &str = "Use GET /ojs/v1/jobs/{id}/result for each job.";

/// The error for a request without a route, if the table has it.
pub(super) fn error(method: &Method, uri: &Uri) -> Option<ApiError> {
    let is_asked = |entry: &&Unserved| {
        (entry.method == "*" || entry.method == method.as_str()) && matches(entry.path, uri.path())
    };
    let Unserved { feature, instead, .. } = UNSERVED.iter().find(is_asked)?;
    let error = ApiError::unsupported(format!("This server does not support {feature} yet."))
        .detail("feature", *feature);
    Some(match instead {
        Some(instead) => error.hint(*instead),
        None => error,
    })
}

fn matches(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    for part in pattern.split('/') {
        match (part, segments.next()) {
            ("*", rest) => return rest.is_some_and(|segment| !segment.is_empty()),
            (_, None) => return false,
            (part, Some(segment)) => {
                let is_name = part.starts_with('{') && !segment.is_empty();
                if !is_name && part != segment {
                    return false;
                }
            }
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_paths() {
        assert!(matches("/a/{id}/b", "/a/1/b"));
        assert!(matches("/a/*", "/a/b/c"));
        for path in ["/a", "/a/", "/a/1", "/a//b", "/a/1/b/c", "/a/1/c"] {
            assert!(!matches("/a/{id}/b", path), "{path}");
        }
        assert!(!matches("/a/*", "/a") && !matches("/a/*", "/a/"));
    }
}
