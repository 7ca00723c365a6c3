//! `rota tenants changes`: shows the history of a tenant's configuration.

use rota_client::{Client, TenantChange};
use serde_json::Value;

use crate::Failure;
use crate::output::{List, Table, relative};

const LONGEST_PAGE: u32 = 100;

pub(super) async fn list(client: &Client, id: &str, as_json: bool) -> Result<(), Failure> {
    let list = List {
        name: "changes",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&["WHEN", "WHAT", "REASON", "CHANGE"]).with_text(),
        tenants_in: None,
        if_empty: "nothing was changed yet",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.tenant_changes(id, limit, at).await).await
}

fn cells(change: &TenantChange) -> Vec<String> {
    let mut differences = Vec::new();
    compare("", &change.before, &change.after, &mut differences);
    vec![
        change.at.as_deref().map(relative).unwrap_or_default(),
        change.what.clone(),
        change.reason.clone().unwrap_or_default(),
        differences.join(", "),
    ]
}

/// `limits.max_concurrency 10 -> 5`, for each member that differs.
fn compare(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    if before == after {
        return;
    }
    let (Some(old), Some(new)) = (members(before), members(after)) else {
        let name = if path.is_empty() { String::new() } else { format!("{path} ") };
        return found.push(format!("{name}{} -> {}", shown(before), shown(after)));
    };
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let at = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        compare(&inner, &at(&old), &at(&new), found);
    }
}

/// An added or removed object counts as having no members.
fn members(value: &Value) -> Option<serde_json::Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members.clone()),
        Value::Null => Some(serde_json::Map::new()),
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn differences(before: Value, after: Value) -> String {
        let mut found = Vec::new();
        compare("", &before, &after, &mut found);
        found.join(", ")
    }

    #[test]
    fn only_what_differs_is_told() {
        let before = json!({"limits": {"a": 1, "b": 2}, "weight": 5, "quota": "hard"});
        let after = json!({"limits": {"a": 3, "b": 2, "c": 4}, "weight": 5});
        assert_eq!(
            differences(before.clone(), after),
            "limits.a 1 -> 3, limits.c none -> 4, quota hard -> none"
        );
        assert_eq!(differences(before.clone(), before.clone()), "");
        assert_eq!(differences(Value::Null, json!({"weight": 5})), "weight none -> 5");
        assert_eq!(differences(json!({"weight": 5}), Value::Null), "weight 5 -> none");
    }
}
