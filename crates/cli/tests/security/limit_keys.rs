//! Limit keys of callers with a tenant's credentials.

use serde_json::{Value, json};

use crate::secured::{Secured, job};

const JOBS: &str = "/ojs/v1/jobs";

/// Keys of two tenants that may enqueue and work.
fn tenants(secured: &Secured) -> [String; 2] {
    ["acme", "globex"]
        .map(|tenant| secured.key(tenant, &["enqueue", "dequeue", "inspect", "admin"]))
}

fn limited(queue: &str, limit: Value) -> Value {
    let mut job = job("report.make", queue);
    job["rate_limit"] = limit;
    job
}

fn shared(queue: &str) -> Value {
    limited(queue, json!({"key": "stripe", "concurrency": 9, "scope": "global"}))
}

fn declare(secured: &Secured, about: Value) {
    let path = "/ojs/v1/rate-limits/stripe";
    secured.send(secured.operator(), "PUT", path, Some(about)).expect(200);
}

/// The ids of the jobs that a fetch of this key gets.
fn fetched(secured: &Secured, key: &str, queue: &str) -> Vec<String> {
    let body = json!({"queues": [queue], "count": 10});
    let reply = secured.post(key, "/ojs/v1/workers/fetch", body).expect(200);
    let jobs = reply["jobs"].as_array().unwrap();
    jobs.iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

fn enqueued(secured: &Secured, key: &str, job: Value) -> String {
    secured.post(key, JOBS, job).expect(201)["id"].as_str().unwrap().to_owned()
}

fn report_limit(secured: &Secured, key: &str, job: &str) {
    let error = json!({
        "code": "handler_error", "message": "429", "rate_limit_until": "2999-01-01T00:00:00Z",
    });
    let body = json!({"job_id": job, "error": error});
    secured.post(key, "/ojs/v1/workers/nack", body).expect(200);
}

#[test]
fn the_key_of_a_queue_or_type_is_for_its_own_jobs() {
    let secured = Secured::start();
    let [acme, _] = tenants(&secured);
    for foreign in ["queue:default", "type:email.send"] {
        let bad = limited("mine", json!({"key": foreign, "concurrency": 1}));
        secured.post(&acme, JOBS, bad.clone()).expect_error(422, "invalid_request");
        let batch = json!({"jobs": [job("a", "mine"), bad.clone()]});
        secured.post(&acme, "/ojs/v1/jobs/batch", batch).expect_error(422, "invalid_request");
        let cron = json!({"name": "c", "expression": "@hourly", "job_template": bad.clone()});
        secured.post(&acme, "/ojs/v1/cron", cron).expect_error(422, "invalid_request");
        let operator = secured.operator().to_owned();
        secured.post(&operator, JOBS, bad).expect_error(422, "invalid_request");
    }
    for own in ["queue:mine", "type:report.make"] {
        secured
            .post(&acme, JOBS, limited("mine", json!({"key": own, "concurrency": 1})))
            .expect(201);
    }
}

#[test]
fn a_key_is_the_tenants_own_unless_an_operator_declared_it() {
    let secured = Secured::start();
    let [acme, globex] = tenants(&secured);
    let one = json!({"key": "stripe", "concurrency": 1});
    let first = enqueued(&secured, &acme, limited("q", one.clone()));
    enqueued(&secured, &globex, limited("q", one));
    assert_eq!(fetched(&secured, &acme, "q"), [first]);
    assert_eq!(fetched(&secured, &globex, "q").len(), 1, "the other tenant's key is another key");
    let error = secured.post(&acme, JOBS, shared("q")).expect_error(422, "invalid_request");
    assert_eq!(error["details"]["field"], "rate_limit.scope", "{error}");
    let cron = json!({"name": "c", "expression": "@hourly", "job_template": shared("q")});
    secured.post(&acme, "/ojs/v1/cron", cron).expect_error(422, "invalid_request");
    declare(&secured, json!({"concurrency": 9}));
    secured.post(&acme, JOBS, shared("q")).expect(201);
}

#[test]
fn a_tenants_worker_pauses_its_own_part_of_a_shared_key() {
    let secured = Secured::start();
    let [acme, globex] = tenants(&secured);
    declare(&secured, json!({"concurrency": 9}));
    let met = enqueued(&secured, &acme, shared("q"));
    fetched(&secured, &acme, "q");
    report_limit(&secured, &acme, &met);
    let other = enqueued(&secured, &globex, shared("q"));
    assert_eq!(fetched(&secured, &acme, "q"), [""; 0]);
    assert_eq!(fetched(&secured, &globex, "q"), [other]);
    // The tenant sees and ends the pause of its own part.
    let path = "/ojs/v1/rate-limits/stripe";
    let own = secured.get(&acme, path).expect(200);
    assert!(own["paused_until"].is_string(), "{own}");
    let others = secured.get(&globex, path).expect(200);
    assert!(others["paused_until"].is_null(), "{others}");
    secured.send(&acme, "DELETE", path, None).expect(200);
    assert_eq!(fetched(&secured, &acme, "q"), [met]);
}

#[test]
fn a_shared_key_is_paused_for_all_where_its_declaration_says_so_or_an_operator_reports_it() {
    let secured = Secured::start();
    let [acme, globex] = tenants(&secured);
    declare(&secured, json!({"concurrency": 9, "feedback": "shared"}));
    let met = enqueued(&secured, &acme, shared("q"));
    fetched(&secured, &acme, "q");
    report_limit(&secured, &acme, &met);
    enqueued(&secured, &globex, shared("q"));
    assert_eq!(fetched(&secured, &globex, "q"), [""; 0]);
    declare(&secured, json!({"feedback": null, "paused_until": null}));
    let operator = secured.operator().to_owned();
    let taken = fetched(&secured, &operator, "q");
    assert_eq!(taken.len(), 2);
    enqueued(&secured, &globex, shared("q"));
    report_limit(&secured, &operator, &met);
    assert_eq!(fetched(&secured, &globex, "q"), [""; 0]);
}

#[test]
fn a_tenant_learns_nothing_of_undeclared_keys_of_others() {
    let secured = Secured::start();
    let [acme, _] = tenants(&secured);
    let operator = secured.operator().to_owned();
    // An operator's own jobs share a key with nobody's permission.
    enqueued(&secured, &operator, shared("q"));
    for key in ["stripe", "unheard-of"] {
        let path = format!("/ojs/v1/rate-limits/{key}");
        secured.get(&acme, &path).expect_error(404, "not_found");
        secured.send(&acme, "DELETE", &path, None).expect_error(404, "not_found");
        let put = secured.send(&acme, "PUT", &path, Some(json!({"concurrency": 2}))).expect(200);
        assert_eq!(put["scope"], "tenant", "{put}");
    }
}
