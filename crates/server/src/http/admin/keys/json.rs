//! The JSON of an API key.

use rota_identity::{ApiKey, Permission};
use rota_model::Millis;
use serde_json::{Value, json};

use crate::http::Access;

pub(super) fn key(app: &Access, key: &ApiKey) -> Value {
    let scopes: Vec<&str> = key.permissions.iter().map(Permission::name).collect();
    let time = |at: Option<Millis>| at.map(|at| at.to_string());
    json!({
        "id": key.id,
        "name": key.name,
        "tenant_id": key.tenant,
        "scopes": scopes,
        "queues": key.queues,
        "job_types": key.job_types,
        "state": key.state(app.wall_clock()).name(),
        "created_at": key.created.to_string(),
        "expires_at": time(key.expires),
        "revoked_at": time(key.revoked),
        "last_used_at": time(app.key_last_used(key)),
        "rotated_from": key.rotated_from,
        "successor": key.successor,
    })
}
