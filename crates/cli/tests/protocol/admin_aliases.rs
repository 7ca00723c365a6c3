//! Names that the admin UI and ojs-cli use, beside those of the specification.

use serde_json::{Value, json};

use crate::shorthand::{heartbeat, job_on, register};
use crate::support::Server;

/// The first member exists, and each of the others has its value.
fn assert_same(value: &Value, names: &[&str]) {
    assert!(!value[names[0]].is_null(), "{} in {value}", names[0]);
    for name in names {
        assert_eq!(value[names[0]], value[*name], "{name} in {value}");
    }
}

#[test]
fn answers_have_the_names_of_the_admin_ui_and_the_cli() {
    let server = Server::start();
    let get = |path: &str| server.get(&format!("/ojs/v1{path}")).expect(200);
    register(&server, "w1", json!({}));
    heartbeat(&server, "w1", json!({})).expect(200);
    server.enqueue(job_on("q"));
    server.fetch("q", 1);
    server.put("/ojs/v1/admin/pools/blue", json!({"queues": ["q"]})).expect(201);
    let numbers = json!({"concurrency": 3, "limit": 5, "period": "PT1M"});
    server.put("/ojs/v1/rate-limits/k/override", numbers).expect(200);

    assert_same(&get("/admin/workers/w1"), &["last_heartbeat_at", "last_heartbeat"]);
    let pool = get("/admin/pools/blue");
    assert_same(&pool, &["name", "id"]);
    assert_same(&pool, &["active_workers", "workers"]);
    let tenant = &get("/admin/tenants")["items"][0];
    assert_same(tenant, &["tenant_id", "id", "name"]);
    assert!(tenant["created_at"].is_string(), "{tenant}");
    let queues = &get("/admin/scheduling/stats")["queues"];
    assert_same(&queues[0], &["dispatch_count_1m", "dispatched"]);
    let history = get("/admin/stats/history");
    assert_same(&history, &["data", "data_points"]);
    assert_eq!(history["data"][0]["completed"], 0);
    let limits = get("/rate-limits");
    assert_same(&limits, &["items", "rate_limits"]);
    let limit = &limits["items"][0];
    assert_same(limit, &["waiting_count", "waiting"]);
    assert_eq!((&limit["limit"], &limit["period"]), (&json!(5), &json!("PT1M")));
    assert_eq!(limit["available"], 3);
    server.delete("/ojs/v1/rate-limits/k/override").expect(200);
    server.get("/ojs/v1/rate-limits/k").expect_error(404, "not_found");

    let body = json!({"enabled": true, "estimated_duration": "PT1H"});
    let shown = server.post("/ojs/v1/admin/maintenance", body).expect(200);
    assert_eq!(shown, get("/admin/system/maintenance"));
    assert_eq!(shown, get("/admin/maintenance"));
    assert_same(&shown, &["maintenance", "enabled"]);
    assert_same(&shown, &["enabled_at", "started_at"]);
    assert_same(&shown, &["estimated_end", "ends_at"]);
    assert_eq!(get("/admin/config"), get("/admin/system/config"));
}
