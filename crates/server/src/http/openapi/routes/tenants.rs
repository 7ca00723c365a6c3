//! Routes for tenants and fairness.

use crate::http::openapi::operation::{Operation, operation};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation("listTenants", "Lists tenants.", &["GET /ojs/v1/admin/tenants"])
            .param("sort", "'id' | 'depth' | 'active' | 'enqueued'", "By default 'id'.")
            .gives(200, "TenantList"),
        operation("getTenant", "Shows a tenant.", &["GET /ojs/v1/admin/tenants/{id}"])
            .gives(200, "TenantAnswer"),
        operation(
            "putTenant",
            "Replaces the configuration of a tenant.",
            &["PUT /ojs/v1/admin/tenants/{id}"],
        )
        .takes("TenantChange")
        .gives(200, "TenantAnswer")
        .gives(201, "TenantAnswer"),
        operation(
            "deleteTenant",
            "Deletes a tenant, with its unfinished jobs if asked to.",
            &["DELETE /ojs/v1/admin/tenants/{id}"],
        )
        .may_take("TenantDeletion")
        .gives(200, "DeletedTenant")
        .fails(&[409]),
        operation(
            "getTenantLimits",
            "Shows the limits of a tenant and their current use.",
            &["GET /ojs/v1/admin/tenants/{id}/limits"],
        )
        .gives(200, "TenantLimitsAnswer"),
        operation(
            "changeTenantLimits",
            "Changes some of the limits of a tenant.",
            &["PUT /ojs/v1/admin/tenants/{id}/limits"],
        )
        .takes("TenantChange")
        .gives(200, "TenantAnswer"),
        operation(
            "getTenantStats",
            "Shows the figures of a tenant.",
            &["GET /ojs/v1/admin/tenants/{id}/stats"],
        )
        .gives(200, "TenantStats"),
        operation(
            "getTenantUsage",
            "Shows what a tenant has used, per hour or day.",
            &["GET /ojs/v1/admin/tenants/{id}/usage"],
        )
        .gives(200, "Usage"),
        operation(
            "listTenantChanges",
            "Lists changes to the configuration of a tenant, the newest first.",
            &["GET /ojs/v1/admin/tenants/{id}/changes"],
        )
        .gives(200, "TenantChanges"),
        operation(
            "releaseTenant",
            "Ends the throttle of a tenant that was noisy.",
            &["POST /ojs/v1/admin/tenants/{id}/release"],
        )
        .may_take("ThrottleRelease")
        .gives(200, "TenantAnswer")
        .fails(&[409]),
        operation(
            "getFairness",
            "Compares the share that each tenant is entitled to with the share it gets.",
            &["GET /ojs/v1/admin/fairness"],
        )
        .param("limit", "integer(1..)", "The most tenants: by default 100, at most 1000.")
        .gives(200, "Fairness"),
    ]
}
