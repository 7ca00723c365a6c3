//! Routes for API keys.

use crate::http::openapi::operation::{Operation, operation};

/// A header of answers that have a key.
const NOT_STORED: &[(&str, &str)] =
    &[("Cache-Control", "no-store, because the answer has a secret.")];

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation("listKeys", "Lists API keys by id.", &["GET /ojs/v1/admin/keys"])
            .gives(200, "ApiKeyList"),
        operation("createKey", "Creates an API key.", &["POST /ojs/v1/admin/keys"])
            .takes("NewApiKey")
            .gives(201, "CreatedKey")
            .with_headers(NOT_STORED)
            .fails(&[409]),
        operation("getKey", "Shows the record of an API key.", &["GET /ojs/v1/admin/keys/{id}"])
            .gives(200, "ApiKey"),
        operation(
            "deleteKey",
            "Deletes the record of an API key that has ended.",
            &["DELETE /ojs/v1/admin/keys/{id}"],
        )
        .gives(200, "DeletedKey")
        .fails(&[409]),
        operation(
            "revokeKey",
            "Revokes an API key, which is refused from the next request on.",
            &["POST /ojs/v1/admin/keys/{id}/revoke"],
        )
        .gives(200, "ApiKey"),
        operation(
            "rotateKey",
            "Replaces an API key with a new one. The old one works for a while.",
            &["POST /ojs/v1/admin/keys/{id}/rotate"],
        )
        .may_take("KeyRotation")
        .gives(201, "CreatedKey")
        .with_headers(NOT_STORED)
        .fails(&[409]),
    ]
}
