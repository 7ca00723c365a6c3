//! The audit log names the credentials of a caller, and counts those that were not accepted.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::secured::{Secured, id_of, operator_key, text_of};

/// Asks until there are entries of this event whose counts add up to `count`.
#[track_caller]
fn wait_for(secured: &Secured, event: &str, count: u64) -> Vec<Value> {
    let path = format!("/ojs/v1/admin/audit?limit=1000&order=asc&action={event}");
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let body = secured.get(secured.operator(), &path).expect(200);
        let items = body["items"].as_array().unwrap().clone();
        let counted = |item: &Value| item["detail"]["count"].as_u64().unwrap_or(1);
        if items.iter().map(counted).sum::<u64>() == count {
            return items;
        }
        assert!(Instant::now() < until, "still {items:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn acts_name_the_key_and_its_tenant() {
    let secured = Secured::start();
    let created = secured.create(json!({"name": "a", "tenant_id": "acme", "role": "admin"}));
    let key = text_of(&created);
    let cron = json!({"name": "n", "expression": "@daily", "type": "a.b"});
    secured.post(&key, "/ojs/v1/cron", cron).expect(201);
    let entries = wait_for(&secured, "cron", 1);
    assert_eq!(entries[0]["principal"], id_of(&created));
    assert_eq!(entries[0]["auth_method"], "api_key");
    assert_eq!(entries[0]["tenant_id"], "acme");
    let entries = wait_for(&secured, "key.create", 1);
    assert_eq!(entries[0]["detail"]["resource"], id_of(&created));
    assert_eq!(entries[0]["principal"], operator_key().id().as_str());
    assert!(entries[0].get("tenant_id").is_none());
    let revoke = format!("/ojs/v1/admin/keys/{}/revoke", id_of(&created));
    secured.post(secured.operator(), &revoke, json!({})).expect(200);
    assert_eq!(wait_for(&secured, "key.revoke", 1)[0]["detail"]["resource"], id_of(&created));
}

#[test]
fn credentials_that_are_not_accepted_are_counted_with_the_reason() {
    let secured = Secured::start_with(&["--audit-interval", "1s"]);
    for _ in 0..5 {
        secured.get("rota_nonsense", "/ojs/v1/queues").expect(401);
        secured.server.get("/ojs/v1/queues").expect(401);
        secured.server.get("/no/such/secret-path").expect(401);
    }
    let entries = wait_for(&secured, "auth.login_failure", 15);
    let mut reasons: Vec<_> =
        entries.iter().map(|entry| entry["detail"]["reason"].as_str().unwrap()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!(reasons, ["The request has no credentials.", "There is no such API key."]);
    let text = serde_json::to_string(&entries).unwrap();
    assert!(!text.contains("nonsense") && !text.contains("secret-path"), "{text}");
    assert!(entries.iter().all(|entry| entry["principal"] == "unknown"));
}

#[test]
fn a_key_has_one_sign_in_per_hour() {
    let secured = Secured::start();
    let key = secured.key("acme", &["inspect"]);
    for _ in 0..20 {
        secured.get(&key, "/ojs/v1/queues").expect(200);
    }
    // The operator's own sign-in is the other one.
    let entries = wait_for(&secured, "auth.login_success", 2);
    let tenants: Vec<_> = entries.iter().map(|entry| entry["tenant_id"].as_str()).collect();
    assert!(tenants.contains(&Some("acme")), "{tenants:?}");
}

#[test]
fn only_the_scope_admin_reads_the_log() {
    let secured = Secured::start();
    let inspect = secured.key("acme", &["inspect"]);
    secured.get(&inspect, "/ojs/v1/admin/audit").expect_error(403, "forbidden");
    let admin = secured.key("acme", &["admin"]);
    let own = secured.get(&admin, "/ojs/v1/admin/audit").expect(200);
    let entries = own["items"].as_array().unwrap();
    assert!(entries.iter().all(|entry| entry["tenant_id"] == "acme"), "{own}");
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let secured = Secured::start_with(&["--audit-interval", "1s"]);
    let key = secured.key("acme", &["inspect"]);
    let revoke = format!("/ojs/v1/admin/keys/{key}/revoke");
    secured.post(secured.operator(), &revoke, json!({})).expect(404);
    let entries = wait_for(&secured, "key.revoke", 1);
    assert_eq!(entries[0]["detail"]["resource"], "(hidden)");
    let log = secured.get(secured.operator(), "/ojs/v1/admin/audit?limit=1000").text;
    assert!(!log.contains(key.rsplit('_').next().unwrap()), "{log}");
}
