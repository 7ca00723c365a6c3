//! Deregistering tenants.

use serde_json::json;

use crate::api::{caller, enqueue_many, fresh, of, put_tenant, shared, start, state};
use crate::shorthand::{ack, fresh_queue, ids};
use crate::support::JSON;

#[test]
fn a_tenant_with_live_jobs_is_not_deleted() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let path = format!("/ojs/v1/admin/tenants/{acme}");
    put_tenant(&server, &acme, json!({"fairness_weight": 3}));
    let sent = enqueue_many(&server, &of(&acme, &queue), 2);
    let error = server.delete(&path).expect(409)["error"].clone();
    assert_eq!(error["details"]["live_jobs"], 2, "{error}");
    assert_eq!(server.fetch(&queue, 9).len(), 2);
    server.delete(&path).expect(409);
    sent.iter().for_each(|id| drop(ack(&server, id)));
    let answer = server.delete(&path).expect(200);
    assert_eq!((&answer["deleted"], &answer["tenant_id"]), (&json!(true), &json!(acme)));
}

#[test]
fn a_deletion_takes_the_configuration_with_it() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 1}}));
    server.delete(&format!("/ojs/v1/admin/tenants/{acme}")).expect(200);
    enqueue_many(&server, &of(&acme, &queue), 3);
    server
        .delete(&format!("/ojs/v1/admin/tenants/{}", fresh("nobody")))
        .expect_error(404, "not_found");
}

#[test]
fn a_purge_must_be_confirmed() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    let path = format!("/ojs/v1/admin/tenants/{acme}?purge=true");
    let sent = enqueue_many(&server, &of(&acme, &queue), 3);
    let other = enqueue_many(&server, &of(&beta, &queue), 1);
    assert_eq!(ids(&caller(&server, &acme).fetch(&queue, 1)), sent[..1]);
    let status = server.delete(&path).status;
    assert!(matches!(status, 400 | 409), "{status}");
    assert_eq!(state(&server, &sent[1]), "available");
    let answer = server.send("DELETE", &path, &[JSON], Some(br#"{"confirm": true}"#)).expect(200);
    assert_eq!(answer["deleted"], true);
    // The active one is cancelled; whether it counts as purged is open.
    assert!(answer["purged_jobs"].as_u64().is_some_and(|jobs| jobs >= 2), "{answer}");
    let late = server.post("/ojs/v1/workers/ack", json!({"job_id": sent[0]})).status;
    assert!(matches!(late, 404 | 409), "{late}");
    assert_eq!(ids(&server.fetch(&queue, 9)), other);
}

#[test]
fn a_purge_can_be_confirmed_in_the_address() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    enqueue_many(&server, &of(&acme, &queue), 2);
    let path = format!("/ojs/v1/admin/tenants/{acme}?purge=true&confirm=true");
    assert_eq!(server.delete(&path).expect(200)["purged_jobs"], 2);
    assert!(server.fetch(&queue, 9).is_empty());
}

#[test]
fn a_tenant_of_the_settings_is_not_deleted_here() {
    let server = start(&[("ROTA_TENANTS", r#"{"acme": {"weight": 2}}"#)]);
    let path = "/ojs/v1/admin/tenants/acme";
    let sent = server.enqueue(of("acme", "q"));
    for query in ["", "?purge=true&confirm=true"] {
        let error = server.delete(&format!("{path}{query}")).expect_error(409, "conflict");
        assert!(error["message"].to_string().contains("ROTA_TENANTS"), "{error}");
    }
    assert_eq!(state(&server, &sent), "available");
    assert_eq!(server.get(&format!("{path}/changes")).expect(200)["items"], json!([]));
    put_tenant(&server, "acme", json!({"fairness_weight": 5}));
    server.fetch("q", 1);
    ack(&server, &sent);
    server.delete(path).expect(200);
    assert_eq!(server.get(path).expect(200)["fairness_weight"], 2);
}
