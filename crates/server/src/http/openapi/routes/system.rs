//! Routes for health, statistics and settings.

use crate::http::openapi::operation::{Content, Operation, operation};

pub(super) fn operations() -> Vec<Operation> {
    let mut all = probes();
    all.extend(administration());
    all
}

fn probes() -> Vec<Operation> {
    vec![
        operation("getManifest", "Tells what this server supports.", &["GET /ojs/manifest"])
            .gives(200, "Manifest")
            .fails(&[403]),
        operation(
            "getHealth",
            "Tells whether the server is healthy.",
            &["GET /ojs/v1/health", "GET /health", "GET /v1/health"],
        )
        .gives(200, "Health")
        .gives(503, "Health | Error"),
        operation("getReadiness", "Tells whether the server is ready.", &["GET /ready"])
            .gives(200, "Ready"),
        operation(
            "getMetrics",
            "Metrics in the text format of Prometheus.",
            &["GET /metrics", "GET /ojs/v1/metrics"],
        )
        .answers_with(200, Content::Text("text/plain")),
        operation("getOpenApi", "This document.", &["GET /ojs/v1/openapi.json"])
            .header("If-None-Match", "string", "The ETag of a copy that the client has.")
            .answers_with(200, Content::Text("application/json"))
            .with_headers(&[("ETag", "Changes with the document.")])
            .answers_with(304, Content::None)
            .fails(&[403]),
    ]
}

fn administration() -> Vec<Operation> {
    vec![
        operation("listAuditLog", "Lists the audit log.", &["GET /ojs/v1/admin/audit"])
            .param("subject", "string(0..512)", "Only entries of this principal.")
            .param(
                "action",
                "string(0..512)",
                "Only this event type; 'queue' includes 'queue.pause'.",
            )
            .param("outcome", "'success' | 'failure'", "Only entries with this outcome.")
            .gives(200, "AuditLog"),
        operation("getStats", "Statistics of now.", &["GET /ojs/v1/admin/stats"])
            .param(
                "limit",
                "integer(1..)",
                "The most queues with 'detail': by default 10, at most 100.",
            )
            .gives(200, "Stats")
            .fails(&[404]),
        operation(
            "getStatsHistory",
            "Statistics of the past, in steps.",
            &["GET /ojs/v1/admin/stats/history"],
        )
        .param("since", "string", "A time, or a duration up to now such as 24h.")
        .gives(200, "StatsHistory"),
        operation(
            "getSchedulingStats",
            "Shows how often each queue and pool was served.",
            &["GET /ojs/v1/admin/scheduling/stats"],
        )
        .gives(200, "SchedulingStats"),
        operation(
            "getMaintenance",
            "Shows the maintenance mode.",
            &["GET /ojs/v1/admin/system/maintenance", "GET /ojs/v1/admin/maintenance"],
        )
        .gives(200, "Maintenance"),
        operation(
            "setMaintenance",
            "Switches the maintenance mode on or off.",
            &["POST /ojs/v1/admin/system/maintenance", "POST /ojs/v1/admin/maintenance"],
        )
        .takes("MaintenanceChange")
        .gives(200, "Maintenance"),
        operation(
            "getSettings",
            "Shows the settings that the server runs with.",
            &["GET /ojs/v1/admin/system/config", "GET /ojs/v1/admin/config"],
        )
        .gives(200, "ServerSettings"),
    ]
}
