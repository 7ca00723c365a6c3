//! `rota keys show`: shows the record of a key.

use rota_client::ApiKey;

use crate::output::{Table, moment};

pub(super) fn describe(key: &ApiKey) -> String {
    let time = |time: &Option<String>| time.as_deref().map(moment);
    let names = |names: &Option<Vec<String>>| names.as_ref().map(|names| names.join(", "));
    let mut table = Table::of_fields();
    table.field("key", &key.id);
    table.field("name", &key.name);
    table.field("tenant", key.tenant_id.as_deref().unwrap_or("all: an operator's key"));
    table.field("scopes", scopes(key));
    table.field_if("queues", names(&key.queues));
    table.field_if("job types", names(&key.job_types));
    table.field("state", &key.state);
    table.field_if("created", time(&key.created_at));
    table.field_if("expires", time(&key.expires_at));
    table.field_if("revoked", time(&key.revoked_at));
    table.field("last used", time(&key.last_used_at).unwrap_or_else(|| "never".to_owned()));
    table.field_if("replaces", key.rotated_from.as_ref());
    table.field_if("replaced by", key.successor.as_ref());
    table.take()
}

pub(super) fn scopes(key: &ApiKey) -> String {
    key.scopes.join(",")
}
