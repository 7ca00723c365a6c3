//! Who creates and looks after API keys.

use serde_json::{Value, json};

use crate::secured::{Secured, id_of, text_of};

const KEYS: &str = "/ojs/v1/admin/keys";

#[test]
fn a_key_is_shown_once() {
    let secured = Secured::start();
    let about = json!({
        "name": "orders", "tenant_id": "acme", "role": "producer", "scopes": ["inspect"],
        "queues": ["mail"], "job_types": ["email.send"], "expires_at": "2999-01-01T00:00:00Z",
    });
    let reply = secured.post(secured.operator(), KEYS, about);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let created = reply.expect(201);
    assert_eq!(created["scopes"], json!(["enqueue", "inspect"]));
    assert_eq!((&created["tenant_id"], &created["state"]), (&json!("acme"), &json!("active")));
    assert!(text_of(&created).starts_with(&format!("rota_{}_", id_of(&created))));
    let path = format!("{KEYS}/{}", id_of(&created));
    let shown = secured.get(secured.operator(), &path).expect(200);
    let mut without_key = created.clone();
    without_key.as_object_mut().unwrap().remove("key");
    assert_eq!(shown, without_key);
    let list = secured.get(secured.operator(), KEYS).text;
    assert!(!list.contains(text_of(&created).rsplit('_').next().unwrap()), "{list}");
}

#[test]
fn lists_come_in_pages_and_by_tenant() {
    let secured = Secured::start();
    for tenant in ["acme", "acme", "acme", "other"] {
        secured.key(tenant, &["enqueue"]);
    }
    let all = secured.get(secured.operator(), &format!("{KEYS}?limit=2")).expect(200);
    assert_eq!(all["pagination"]["total"], 5);
    assert_eq!(all["keys"].as_array().unwrap().len(), 2);
    let cursor = all["pagination"]["next_cursor"].as_str().unwrap();
    let rest = secured.get(secured.operator(), &format!("{KEYS}?limit=9&cursor={cursor}"));
    assert_eq!(rest.expect(200)["keys"].as_array().unwrap().len(), 3);
    let acme = secured.get(secured.operator(), &format!("{KEYS}?tenant=acme")).expect(200);
    assert_eq!(acme["pagination"]["total"], 3);
}

#[test]
fn an_admin_of_a_tenant_looks_after_its_own_keys_only() {
    let secured = Secured::start();
    let admin = secured.key("acme", &["admin", "enqueue"]);
    let others = secured.create(json!({"name": "x", "tenant_id": "other", "scopes": ["inspect"]}));
    let own = secured.post(&admin, KEYS, json!({"name": "own", "scopes": ["enqueue"]})).expect(201);
    assert_eq!(own["tenant_id"], "acme");
    let list = secured.get(&admin, KEYS).expect(200);
    assert_eq!(list["pagination"]["total"], 2, "{list}");
    secured.get(&admin, &format!("{KEYS}?tenant=other")).expect_error(403, "forbidden");
    for (method, rest) in [("GET", ""), ("DELETE", ""), ("POST", "/revoke"), ("POST", "/rotate")] {
        let path = format!("{KEYS}/{}{rest}", id_of(&others));
        secured.send(&admin, method, &path, None).expect_error(404, "not_found");
        let unknown = format!("{KEYS}/{}{rest}", id_of(&others).chars().rev().collect::<String>());
        secured.send(&admin, method, &unknown, None).expect_error(404, "not_found");
    }
    secured.get(&text_of(&others), "/ojs/v1/queues").expect(200);
    let path = format!("{KEYS}/{}/revoke", id_of(&own));
    secured.send(&admin, "POST", &path, None).expect(200);
    secured.get(&text_of(&own), "/ojs/v1/queues").expect_error(401, "unauthorized");
}

#[test]
fn nobody_gives_away_more_than_they_have() {
    let secured = Secured::start();
    let about = json!({
        "name": "a", "tenant_id": "acme", "scopes": ["admin", "enqueue"],
        "queues": ["mail", "sms"], "job_types": ["email.send"],
    });
    let admin = text_of(&secured.create(about));
    let new = |more: Value| {
        let mut about = json!({"name": "b", "queues": ["mail"], "job_types": ["email.send"]});
        about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        secured.post(&admin, KEYS, about)
    };
    let own = new(json!({"scopes": ["enqueue"]})).expect(201);
    for more in [
        json!({"scopes": ["server"]}),
        json!({"scopes": ["enqueue", "dequeue"]}),
        json!({"role": "admin"}),
        json!({"scopes": ["enqueue"], "queues": null}),
        json!({"scopes": ["enqueue"], "queues": ["mail", "secret"]}),
        json!({"scopes": ["enqueue"], "job_types": null}),
    ] {
        let reply = new(more.clone());
        assert_eq!(reply.status, 403, "{more}: {}", reply.text);
    }
    new(json!({"scopes": ["enqueue"], "tenant_id": "other"})).expect_error(400, "invalid_request");
    // Rotating a key shows the new one, so it needs the same rights.
    let create = |queues: Value| {
        let about = json!({"name": "w", "tenant_id": "acme", "role": "worker", "queues": queues});
        secured.create(about)
    };
    let rotate = |key: &Value| format!("{KEYS}/{}/rotate", id_of(key));
    let stronger = create(json!(["mail"]));
    secured.send(&admin, "POST", &rotate(&stronger), None).expect_error(403, "forbidden");
    // Keys for other queues do not exist for it.
    for hidden in [create(json!(["mail", "secret"])), create(json!(null))] {
        secured.send(&admin, "POST", &rotate(&hidden), None).expect_error(404, "not_found");
    }
    secured.send(&admin, "POST", &rotate(&own), None).expect(201);
    // Without `admin` nobody looks after keys at all.
    let producer = secured.key("acme", &["enqueue", "inspect"]);
    secured.get(&producer, KEYS).expect_error(403, "forbidden");
    let about = json!({"name": "c", "scopes": ["enqueue"]});
    secured.post(&producer, KEYS, about).expect_error(403, "forbidden");
}

#[test]
fn an_operator_who_acts_for_a_tenant_makes_keys_of_that_tenant() {
    let secured = Secured::start();
    let send = |about| {
        let headers = [("X-OJS-Tenant", "acme")];
        secured.send_with(secured.operator(), &headers, "POST", KEYS, Some(about))
    };
    let created = send(json!({"name": "a", "role": "admin"})).expect(201);
    assert_eq!(created["tenant_id"], "acme");
    send(json!({"name": "a", "scopes": ["server"]})).expect_error(403, "forbidden");
}

#[test]
fn after_a_rotation_both_keys_work_for_a_while() {
    let secured = Secured::start();
    let created = secured.create(json!({"name": "a", "tenant_id": "acme", "role": "admin"}));
    let path = format!("{KEYS}/{}/rotate", id_of(&created));
    let rotated = secured.send(secured.operator(), "POST", &path, None).expect(201);
    for key in [&created, &rotated] {
        secured.get(&text_of(key), "/ojs/v1/queues").expect(200);
    }
    assert_eq!(rotated["rotated_from"], created["id"]);
    assert_eq!(rotated["previous"]["successor"], rotated["id"]);
    assert!(rotated["previous"]["expires_at"].is_string());
    assert_eq!(rotated["scopes"], created["scopes"]);
    secured.send(secured.operator(), "POST", &path, None).expect_error(409, "conflict");
    // Without an overlap, the old key ends at once.
    let path = format!("{KEYS}/{}/rotate", id_of(&rotated));
    let last = secured.post(secured.operator(), &path, json!({"overlap": "0"})).expect(201);
    secured.get(&text_of(&rotated), "/ojs/v1/queues").expect_error(401, "unauthorized");
    secured.get(&text_of(&last), "/ojs/v1/queues").expect(200);
}

#[test]
fn the_last_use_is_known_and_survives_a_restart() {
    let mut secured = Secured::start();
    let created = secured.create(json!({"name": "a", "tenant_id": "acme", "role": "admin"}));
    let path = format!("{KEYS}/{}", id_of(&created));
    let shown = |secured: &Secured| secured.get(secured.operator(), &path).expect(200);
    assert_eq!(shown(&secured)["last_used_at"], json!(null));
    secured.get(&text_of(&created), "/ojs/v1/queues").expect(200);
    let used = shown(&secured)["last_used_at"].clone();
    assert!(used.is_string(), "{used}");
    assert!(secured.server.terminate().success());
    secured.server.restart();
    assert_eq!(shown(&secured)["last_used_at"], used);
}

#[test]
fn a_tenants_cap_on_keys_is_no_dead_end() {
    let secured = Secured::start_with(&["--limits-keys-per-tenant", "1"]);
    let first = secured.create(json!({"name": "a", "tenant_id": "acme", "role": "worker"}));
    let again = json!({"name": "b", "tenant_id": "acme", "role": "worker"});
    let error = secured.post(secured.operator(), KEYS, again.clone());
    error.expect_error(422, "TENANT_LIMIT_EXCEEDED");
    let path = format!("{KEYS}/{}", id_of(&first));
    secured.send(secured.operator(), "DELETE", &path, None).expect_error(409, "conflict");
    secured.send(secured.operator(), "POST", &format!("{path}/revoke"), None).expect(200);
    secured.send(secured.operator(), "DELETE", &path, None).expect(200);
    secured.create(again);
}

#[test]
fn bad_keys_are_refused_with_the_field() {
    let secured = Secured::start();
    for (about, field) in [
        (json!({"name": "", "tenant_id": "a", "role": "worker"}), "name"),
        (json!({"name": "x", "tenant_id": "a/b", "role": "worker"}), "tenant_id"),
        (json!({"name": "x", "role": "worker"}), "tenant_id"),
        (json!({"name": "x", "tenant_id": "a", "scopes": ["server"]}), "tenant_id"),
        (json!({"name": "x", "tenant_id": "a"}), "scopes"),
        (json!({"name": "x", "tenant_id": "a", "scopes": ["root"]}), "scopes"),
        (json!({"name": "x", "tenant_id": "a", "role": "root"}), "role"),
        (json!({"name": "x", "tenant_id": "a", "role": "worker", "queues": []}), "queues"),
        (json!({"name": "x", "tenant_id": "a", "role": "worker", "queues": ["a b"]}), "queues"),
        (
            json!({"name": "x", "tenant_id": "a", "role": "worker", "job_types": ["A!"]}),
            "job_types",
        ),
        (
            json!({"name": "x", "tenant_id": "a", "role": "worker", "expires_at": "2001-01-01T00:00:00Z"}),
            "expires_at",
        ),
    ] {
        let reply = secured.post(secured.operator(), KEYS, about.clone());
        assert!(matches!(reply.status, 400 | 422), "{about}: {}", reply.text);
        assert_eq!(reply.body["error"]["details"]["field"], field, "{about}: {}", reply.text);
    }
}
