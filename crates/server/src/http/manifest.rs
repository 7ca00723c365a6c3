//! The manifest, which tells clients what this server supports.

use serde_json::json;

use super::{Access, reply};
use crate::http::error::ApiResult;

pub(super) async fn manifest(app: Access) -> ApiResult {
    let limits = &app.settings.limits;
    let streams = app.events().are_kept();
    Ok(reply::ok(&json!({
        "specversion": "1.0",
        "ojs_version": "1.0",
        "implementation": {
            "name": "rota",
            "version": env!("CARGO_PKG_VERSION"),
            "language": "rust",
        },
        "conformance_level": 2,
        "protocols": ["http"],
        "backend": "sqlite",
        "capabilities": {
            "batch_enqueue": true,
            "cron_jobs": true,
            "dead_letter": true,
            "delayed_jobs": true,
            "job_ttl": true,
            "priority_queues": true,
            "pause_resume": true,
            "events": streams,
            "event_streams": streams,
            "websocket": streams,
            "long_polling": true,
            "multi_tenancy": true,
            "batch_ack": true,
            "rate_limiting": true,
            "multi_tenancy": true,
            "fair_scheduling": true,
            "worker_pools": true,
            "backpressure": true,
            "metrics": true,
            "schema_validation": false,
            "unique_jobs": false,
            "workflows": false,
        },
        "extensions": extensions(streams),
        // Events are kept in memory: a restart, or a reader that is too slow, loses some.
        "event_delivery": "best-effort",
        "isolation": app.settings.tenancy.isolation,
        "limits": {
            "body_bytes": limits.body_bytes,
            "job_bytes": limits.job_bytes,
            "result_bytes": limits.result_bytes,
            "batch_jobs": limits.batch_jobs,
            "fetch_jobs": limits.fetch_jobs,
            "json_depth": limits.json_depth,
        },
        "endpoints": {
            "base_url": "/ojs/v1",
            "manifest": "/ojs/manifest",
            "health": "/ojs/v1/health",
            "metrics": "/metrics",
            "events": "/ojs/v1/events/stream",
            "websocket": "/ojs/v1/ws",
        },
    })))
}

fn extensions(streams: bool) -> Vec<&'static str> {
    let mut extensions = vec![
        "urn:ojs:ext:admin-api",
        "urn:ojs:ext:backpressure",
        "urn:ojs:ext:dead-letter",
        "urn:ojs:ext:experimental:multi-tenancy",
        "urn:ojs:ext:fair-scheduling",
        "urn:ojs:ext:multi-tenancy",
        "urn:ojs:ext:rate-limiting",
    ];
    if streams {
        extensions.push("urn:ojs:ext:experimental:realtime");
    }
    extensions
}
