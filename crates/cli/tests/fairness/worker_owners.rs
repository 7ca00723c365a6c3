//! Each tenant has worker names of its own, and so have operators.

use serde_json::{Value, json};

use crate::api::{caller, list, start};
use crate::shorthand::{job_on, text};

const REGISTER: &str = "/ojs/v1/workers/register";
const BEAT: &str = "/ojs/v1/workers/heartbeat";
const FETCH: &str = "/ojs/v1/workers/fetch";
const DEREGISTER: &str = "/ojs/v1/workers/deregister";

/// A tenant that uses a name has a worker of its own, whoever else has one of that name.
#[test]
fn tenants_and_operators_have_worker_names_of_their_own() {
    let mut server = start(&[]);
    let named = |concurrency: u64| json!({"worker_id": "w", "concurrency": concurrency});
    server.post(REGISTER, named(1)).expect(200);
    for (tenant, concurrency) in [("acme", 2), ("beta", 3)] {
        let who = caller(&server, tenant);
        who.enqueue(job_on("q"));
        let answer = who.post(REGISTER, named(concurrency)).expect(200);
        assert_eq!(answer["worker_id"], "w");
        who.post(BEAT, json!({"worker_id": "w"})).expect(200);
        let fetch = json!({"worker_id": "w", "queues": ["q"]});
        assert_eq!(list(&who.post(FETCH, fetch).expect(200)["jobs"]).len(), 1);
    }
    let path = "/ojs/v1/admin/workers/w";
    for restarted in [false, true] {
        for (tenant, concurrency) in [("acme", 2), ("beta", 3)] {
            let shown = caller(&server, tenant).get(path).expect(200);
            assert_eq!((&shown["id"], &shown["tenant_id"]), (&json!("w"), &json!(tenant)));
            assert_eq!(shown["concurrency"], concurrency, "restarted: {restarted}");
            assert_eq!(list(&shown["active_job_ids"]).len(), 1, "{shown}");
        }
        let shown = server.get(path).expect(200);
        assert_eq!((&shown["tenant_id"], &shown["concurrency"]), (&Value::Null, &json!(1)));
        assert!(list(&shown["active_job_ids"]).is_empty(), "{shown}");
        server.restart();
    }
    // A tenant directs its own worker, and no other of that name.
    let acme = caller(&server, "acme");
    acme.post(&format!("{path}/quiet"), json!({})).expect(200);
    let states = |tenant: Option<&str>| match tenant {
        Some(tenant) => text(&caller(&server, tenant).get(path).expect(200)["directive"]),
        None => text(&server.get(path).expect(200)["directive"]),
    };
    let all = [Some("acme"), Some("beta"), None].map(states);
    assert_eq!(all, ["quiet", "running", "running"]);
    // An operator may settle a job with the name that the tenant uses; another worker may not.
    let held = text(&acme.get(path).expect(200)["active_job_ids"][0]);
    let ack = |worker: &str| json!({"job_id": held, "worker_id": worker});
    acme.post("/ojs/v1/workers/ack", ack("other")).expect_error(409, "conflict");
    server.post("/ojs/v1/workers/ack", ack("other")).expect_error(409, "conflict");
    server.post("/ojs/v1/workers/ack", ack("w")).expect(200);
    // Without a worker of their own by that name, operators reach the only tenant's there is.
    server.post(DEREGISTER, json!({"worker_id": "w"})).expect(200);
    let error = server.get(path).expect_error(409, "conflict");
    assert_eq!(error["details"]["tenants"], json!(["acme", "beta"]), "{error}");
    caller(&server, "beta").post(DEREGISTER, json!({"worker_id": "w"})).expect(200);
    assert_eq!(server.get(path).expect(200)["tenant_id"], "acme");
    let resumed = server.post(&format!("{path}/resume"), json!({})).expect(200);
    assert_eq!((&resumed["tenant_id"], &resumed["directive"]), (&json!("acme"), &json!("running")));
    caller(&server, "beta").get(path).expect_error(404, "not_found");
    let quiet = format!("{path}/quiet");
    caller(&server, "beta").post(&quiet, json!({})).expect_error(404, "not_found");
    // The operators' own are not to be seen or changed by tenants.
    server.post(REGISTER, json!({"worker_id": "shared", "queues": ["q"]})).expect(200);
    let shared = "/ojs/v1/admin/workers/shared";
    for answer in [
        caller(&server, "acme").get(shared),
        caller(&server, "acme").post(&format!("{shared}/terminate"), json!({})),
        caller(&server, "acme").post(DEREGISTER, json!({"worker_id": "shared"})),
        caller(&server, "acme").delete("/ojs/v1/workers/shared"),
    ] {
        answer.expect_error(404, "not_found");
    }
}

#[test]
fn a_tenant_is_shown_its_own_workers() {
    let server = start(&[]);
    server.post(REGISTER, json!({"worker_id": "shared"})).expect(200);
    for tenant in ["acme", "beta"] {
        let about = json!({"worker_id": format!("of-{tenant}")});
        caller(&server, tenant).post(REGISTER, about).expect(200);
    }
    let names = |answer: Value| -> Vec<String> {
        assert_eq!(answer["summary"]["total"], answer["pagination"]["total"]);
        list(&answer["items"]).iter().map(|worker| text(&worker["id"])).collect()
    };
    let path = "/ojs/v1/admin/workers";
    assert_eq!(names(caller(&server, "acme").get(path).expect(200)), ["of-acme"]);
    assert!(names(caller(&server, "gamma").get(path).expect(200)).is_empty());
    assert_eq!(names(server.get(path).expect(200)), ["of-acme", "of-beta", "shared"]);
}
