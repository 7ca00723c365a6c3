//! Credentials that would turn into more, or outlive what they belong to.

use serde_json::json;

use crate::secured::{Secured, id_of, text_of};

const KEYS: &str = "/ojs/v1/admin/keys";

#[test]
fn a_key_does_not_outlive_the_credentials_that_made_it() {
    let secured = Secured::start();
    let short = json!({
        "name": "short", "tenant_id": "acme", "role": "admin", "expires_at": "+PT1H",
    });
    let short = secured.create(short);
    let make = |more: serde_json::Value| {
        let mut about = json!({"name": "made", "scopes": ["enqueue"]});
        about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        secured.post(&text_of(&short), KEYS, about)
    };
    let error = make(json!({"expires_at": "+PT2H"})).expect_error(403, "forbidden");
    assert_eq!(error["details"]["field"], "expires_at");
    assert_eq!(make(json!({})).expect(201)["expires_at"], short["expires_at"]);
    assert_ne!(
        make(json!({"expires_at": "+PT10M"})).expect(201)["expires_at"],
        short["expires_at"]
    );
    let lasting = secured.create(json!({"name": "l", "tenant_id": "acme", "scopes": ["enqueue"]}));
    let path = format!("{KEYS}/{}/rotate", id_of(&lasting));
    let rotated = secured.send(&text_of(&short), "POST", &path, None).expect(201);
    assert_eq!(rotated["expires_at"], short["expires_at"]);
    let unbound = secured.post(
        secured.operator(),
        KEYS,
        json!({"name": "o", "tenant_id": "acme", "scopes": ["enqueue"]}),
    );
    assert!(unbound.expect(201)["expires_at"].is_null());
}

#[test]
fn the_keys_of_a_tenant_without_jobs_end_with_it() {
    let secured = Secured::start();
    let key = secured.key("zed", &["admin", "inspect", "enqueue"]);
    secured.get(&key, "/ojs/v1/queues").expect(200);
    let confirm = json!({"confirm": true});
    let path = "/ojs/v1/admin/tenants/zed?purge=true";
    secured.send(secured.operator(), "DELETE", path, Some(confirm.clone())).expect(200);
    secured.get(&key, "/ojs/v1/queues").expect_error(401, "unauthorized");
    secured
        .send(secured.operator(), "DELETE", path, Some(confirm.clone()))
        .expect_error(404, "not_found");

    let scheduler = secured.key("cron-only", &["admin", "inspect", "enqueue"]);
    let schedule = json!({"name": "c", "cron": "0 0 1 1 *", "type": "a.b", "args": []});
    secured.post(&scheduler, "/ojs/v1/cron", schedule).expect(201);
    let path = "/ojs/v1/admin/tenants/cron-only?purge=true";
    secured.send(secured.operator(), "DELETE", path, Some(confirm)).expect(200);
    secured.get(&scheduler, "/ojs/v1/queues").expect_error(401, "unauthorized");
    let left = secured.get(secured.operator(), "/ojs/v1/cron").expect(200);
    assert_eq!(left["items"].as_array().map_or(0, Vec::len), 0, "{left}");
}

#[test]
fn a_key_for_some_job_types_triggers_no_schedule_of_another() {
    let secured = Secured::start();
    let admin = secured.key("acme", &["admin", "enqueue", "inspect"]);
    let bound = json!({
        "name": "t", "tenant_id": "acme", "role": "admin", "job_types": ["a.b"],
    });
    let bound = text_of(&secured.create(bound));
    for kind in ["a.b", "c.d"] {
        let schedule = json!({"name": kind, "cron": "0 0 1 1 *", "type": kind, "args": []});
        secured.post(&admin, "/ojs/v1/cron", schedule).expect(201);
    }
    secured.send(&bound, "POST", "/ojs/v1/cron/a.b/trigger", None).expect(201);
    let denied = secured.send(&bound, "POST", "/ojs/v1/cron/c.d/trigger", None);
    denied.expect_error(403, "forbidden");
}

#[test]
fn a_key_for_some_queues_neither_sees_nor_changes_limits_of_others() {
    let secured = Secured::start();
    let admin = secured.key("acme", &["admin", "enqueue", "inspect", "dequeue"]);
    let bound = json!({"name": "q", "tenant_id": "acme", "role": "admin", "queues": ["mail"]});
    let bound = text_of(&secured.create(bound));
    let job = json!({"type": "a.b", "args": [], "queue": "sms",
        "rate_limit": {"key": "kk", "concurrency": 5}});
    secured.post(&admin, "/ojs/v1/jobs", job).expect(201);
    secured.get(&admin, "/ojs/v1/rate-limits/kk").expect(200);
    secured.get(&bound, "/ojs/v1/rate-limits/kk").expect_error(404, "not_found");
    let zero = json!({"concurrency": 0});
    for key in ["kk", "not-yet"] {
        let path = format!("/ojs/v1/rate-limits/{key}");
        secured.send(&bound, "PUT", &path, Some(zero.clone())).expect_error(404, "not_found");
    }
    let fetched = secured.post(&admin, "/ojs/v1/workers/fetch", json!({"queues": ["sms"]}));
    assert_eq!(fetched.expect(200)["jobs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_key_for_some_queues_moves_no_job_into_another() {
    let secured = Secured::start();
    let admin = secured.key("acme", &["admin", "enqueue", "inspect", "dequeue", "cancel"]);
    let bound = json!({"name": "q", "tenant_id": "acme", "role": "admin", "queues": ["mine"]});
    let bound = text_of(&secured.create(bound));
    let job = json!({"type": "a.b", "args": [], "queue": "mine",
        "retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}});
    let id = secured.post(&admin, "/ojs/v1/jobs", job).expect(201)["job"]["id"].clone();
    secured.post(&admin, "/ojs/v1/workers/fetch", json!({"queues": ["mine"]})).expect(200);
    let nack = json!({"job_id": id, "error": {"code": "x", "message": "x"}});
    secured.post(&admin, "/ojs/v1/workers/nack", nack).expect(200);
    let path = format!("/ojs/v1/dead-letter/{}/retry", id.as_str().unwrap());
    let moved = json!({"override": {"queue": "payroll"}});
    secured.post(&bound, &path, moved).expect_error(403, "forbidden");
    secured.post(&bound, &path, json!({"override": {"args": [1]}})).expect(200);
}
