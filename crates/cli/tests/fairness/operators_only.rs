//! What all tenants share is not for one of them to change, nor to look into.

use serde_json::{Value, json};

use crate::api::{caller, fetch, fresh, of, put_pool, put_tenant, shared, start};
use crate::shorthand::{fresh_queue, job_on};
use crate::support::in_one_minute;

#[test]
fn a_tenant_does_not_change_what_others_share() {
    let server = shared();
    let (acme, queue, worker, pool) = (fresh("acme"), fresh_queue(), fresh("w"), fresh("pool"));
    server.enqueue(of(&acme, &queue));
    fetch(&server, json!({"queues": [queue], "worker_id": worker}));
    put_pool(&server, &pool, json!({"queues": [queue]}));
    let acme = caller(&server, &acme);
    let admin = |path: String| format!("/ojs/v1/admin/{path}");
    let posts = [("system/maintenance".to_owned(), json!({"enabled": true}))];
    for (path, body) in posts {
        acme.post(&admin(path), body).expect_error(403, "forbidden");
    }
    for action in ["quiet", "terminate", "resume"] {
        let path = admin(format!("workers/{worker}/{action}"));
        acme.post(&path, json!({})).expect_error(404, "not_found");
    }
    let puts = [
        (format!("pools/{pool}"), json!({"queues": ["default"]})),
        (format!("queues/{queue}/config"), json!({"concurrency": 1})),
        (format!("queues/{queue}/rate-limit"), json!({"concurrency": 1})),
        ("job-types/a.b/rate-limit".to_owned(), json!({"concurrency": 1})),
    ];
    for (path, body) in puts {
        acme.put(&admin(path), body).expect_error(403, "forbidden");
    }
    acme.delete(&admin(format!("pools/{pool}"))).expect_error(403, "forbidden");
    acme.delete(&admin(format!("workers/{worker}"))).expect_error(404, "not_found");
    let shown = server.get(&admin(format!("workers/{worker}"))).expect(200);
    assert_eq!(shown["directive"], "running");
    assert_eq!(server.get(&admin(format!("pools/{pool}"))).expect(200)["queues"], json!([queue]));
}

#[test]
fn a_tenant_does_not_say_what_it_is_entitled_to() {
    let server = shared();
    let acme = fresh("acme");
    put_tenant(&server, &acme, json!({"limits": {"max_concurrency": 1}}));
    let path = format!("/ojs/v1/admin/tenants/{acme}");
    let own = caller(&server, &acme);
    own.put(&path, json!({"fairness_weight": 1000})).expect_error(403, "forbidden");
    let limits = json!({"max_concurrency": 99});
    own.put(&format!("{path}/limits"), limits).expect_error(403, "forbidden");
    own.post(&format!("{path}/release"), json!({})).expect_error(403, "forbidden");
    own.delete(&path).expect_error(403, "forbidden");
    let shown = own.get(&path).expect(200);
    assert_eq!(shown["limits"]["max_concurrency"], 1, "{shown}");
}

#[test]
fn a_tenant_does_not_see_the_configuration_of_others() {
    let server = start(&[("ROTA_TENANTS", r#"{"secret": {"weight": 7}}"#)]);
    let path = "/ojs/v1/admin/system/config";
    assert!(server.get(path).expect(200).to_string().contains("tenants.secret"));
    caller(&server, "acme").get(path).expect_error(403, "forbidden");
    caller(&server, "acme").get("/metrics").expect_error(403, "forbidden");
}

#[test]
fn dispatches_of_others_are_not_shown_to_a_tenant() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    server.enqueue(of(&acme, &queue));
    fetch(&server, json!({"queues": [queue]}));
    let path = "/ojs/v1/admin/scheduling/stats";
    caller(&server, "beta").get(path).expect_error(422, "unsupported");

    let (shown, all) = in_one_minute(|| {
        let server = start(&[("ROTA_TENANCY_ISOLATION", "namespace")]);
        for tenant in ["acme", "beta"] {
            caller(&server, tenant).enqueue(job_on("mail"));
            assert_eq!(caller(&server, tenant).fetch("mail", 1).len(), 1);
        }
        (caller(&server, "beta").get(path).expect(200), server.get(path).expect(200))
    });
    let names = |shown: Value| {
        let queues = shown["queues"].as_array().unwrap().clone();
        queues.iter().map(|q| json!([q["tenant_id"], q["name"]])).collect::<Vec<_>>()
    };
    assert_eq!(shown["queues"][0]["dispatch_ratio_1m"], 1.0, "{shown}");
    assert_eq!(names(shown), [json!(["beta", "mail"])]);
    assert_eq!(names(all), [json!(["acme", "mail"]), json!(["beta", "mail"])]);
}

#[test]
fn health_and_fairness_show_only_the_callers_figures() {
    let busy = || {
        let server = start(&[]);
        server.enqueue(of("acme", "q"));
        fetch(&server, json!({"queues": ["q"], "worker_id": "w"}));
        server
    };
    let server = busy();
    let health = |tenant| caller(&server, tenant).get("/ojs/v1/health").expect(200);
    assert_eq!(
        (&health("acme")["active_jobs"], &health("beta")["active_jobs"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(health("beta")["workers"], Value::Null);
    assert_eq!(server.get("/ojs/v1/health").expect(200)["workers"], 1);

    let path = "/ojs/v1/admin/fairness";
    assert_eq!(caller(&server, "beta").get(path).expect(200)["tenants"], json!([]));
    let own = in_one_minute(|| caller(&busy(), "acme").get(path).expect(200));
    assert_eq!(own["tenants"][0]["dispatched_1m"], 1);
}

#[test]
fn a_tenants_own_silent_worker_keeps_a_job_for_at_most_an_hour() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    server.enqueue(of(&acme, &queue));
    let ask = |ms: u64| json!({"queues": [queue], "worker_id": queue, "visibility_timeout_ms": ms});
    let own = caller(&server, &acme);
    own.post("/ojs/v1/workers/fetch", ask(3_600_001)).expect_error(422, "invalid_request");
    let beat = json!({"worker_id": queue, "visibility_timeout_ms": 3_600_001});
    own.post("/ojs/v1/workers/heartbeat", beat).expect_error(422, "invalid_request");
    let job = own.post("/ojs/v1/workers/fetch", ask(3_600_000)).expect(200);
    assert_eq!(job["jobs"][0]["visibility_timeout_ms"], 3_600_000);
}
