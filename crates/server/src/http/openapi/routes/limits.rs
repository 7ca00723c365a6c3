//! Routes for rate limits and pools.

use crate::http::openapi::operation::{Operation, operation};

pub(super) fn operations() -> Vec<Operation> {
    let mut all = rate_limits();
    all.extend(pools());
    all
}

fn rate_limits() -> Vec<Operation> {
    vec![
        operation("listRateLimits", "Lists rate limits by key.", &["GET /ojs/v1/rate-limits"])
            .gives(200, "RateLimitList"),
        operation(
            "getRateLimit",
            "Shows a rate limit.",
            &[
                "GET /ojs/v1/rate-limits/{key}",
                "GET /ojs/v1/admin/queues/{name}/rate-limit",
                "GET /ojs/v1/admin/job-types/{type}/rate-limit",
            ],
        )
        .gives(200, "RateLimit"),
        operation(
            "changeRateLimit",
            "Declares, overrides or pauses a rate limit.",
            &[
                "PUT /ojs/v1/rate-limits/{key}",
                "PUT /ojs/v1/rate-limits/{key}/override",
                "PUT /ojs/v1/admin/queues/{name}/rate-limit",
                "PUT /ojs/v1/admin/job-types/{type}/rate-limit",
            ],
        )
        .takes("RateLimitChange")
        .gives(200, "LimitPart"),
        operation(
            "clearRateLimit",
            "Removes what was declared or overridden, and ends a pause.",
            &[
                "DELETE /ojs/v1/rate-limits/{key}",
                "DELETE /ojs/v1/rate-limits/{key}/override",
                "DELETE /ojs/v1/admin/queues/{name}/rate-limit",
                "DELETE /ojs/v1/admin/job-types/{type}/rate-limit",
            ],
        )
        .gives(200, "LimitPart"),
    ]
}

fn pools() -> Vec<Operation> {
    vec![
        operation(
            "listPools",
            "Lists pools by name.",
            &["GET /ojs/v1/admin/pools", "GET /ojs/v1/pools"],
        )
        .gives(200, "PoolList"),
        operation(
            "getPool",
            "Shows a pool.",
            &["GET /ojs/v1/admin/pools/{name}", "GET /ojs/v1/pools/{name}"],
        )
        .gives(200, "PoolAnswer"),
        operation("putPool", "Creates or replaces a pool.", &["PUT /ojs/v1/admin/pools/{name}"])
            .takes("NewPool")
            .gives(200, "PoolAnswer")
            .gives(201, "PoolAnswer"),
        operation(
            "deletePool",
            "Deletes a pool that was defined through the API.",
            &["DELETE /ojs/v1/admin/pools/{name}"],
        )
        .gives(200, "DeletedPool")
        .fails(&[409]),
    ]
}
