//! A gateway in front of regions that fail.

use serde_json::json;

use crate::gateway_process::Gateway;
use crate::regions::{Regions, until};

#[tokio::test]
async fn jobs_go_on_when_a_region_dies_and_pinned_ones_are_refused() {
    let mut regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({"on_ambiguous": "send"}));
    let job = || json!({"type": "a.b", "args": []});
    let pinned = || json!({"type": "a.b", "args": [], "meta": {"ojs.federation.region": "eu"}});
    gateway.post("/ojs/v1/jobs", job()).expect(201);
    regions.server("eu").kill();
    for _ in 0..10 {
        let sent = gateway.post("/ojs/v1/jobs", job());
        assert_eq!(sent.status, 201, "{}", sent.text);
        assert_ne!(sent.header("x-ojs-region"), Some("eu"));
        let refused = gateway.post("/ojs/v1/jobs", pinned());
        assert!(matches!(refused.status, 503 | 504), "{}", refused.text);
    }
    let failover = |line: &str| {
        let logged: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let text = logged.to_string();
        text.contains("ojs.federation.failover")
            && ["from_region", "to_region", "reason"].iter().all(|name| text.contains(name))
    };
    until(|| gateway.log().lines().any(failover)).await;
    let shown = gateway.get("/ojs/v1/admin/regions").expect(200);
    assert!(shown["regions"][0]["geo_pins_refused"].as_u64() > Some(0), "{shown}");
    regions.server("eu").restart_on_its_port();
    let back = || gateway.post("/ojs/v1/jobs", pinned()).status == 201;
    until(back).await;
}

#[tokio::test]
async fn what_cannot_be_asked_is_unknown_and_never_missing() {
    let mut regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    regions.server("us").kill();
    let missing = "/ojs/v1/jobs/01234567-89ab-7000-8000-000000000000";
    gateway.get(missing).expect_error(503, "region_unknown");
    let list = gateway.get("/ojs/v1/queues").expect(200);
    assert_eq!(list["regions_unknown"], json!(["us"]));
    let stats = gateway.get("/ojs/v1/admin/stats").expect(200);
    assert_eq!(stats["regions"]["us"], json!(null));
    gateway.get("/ojs/v1/health").expect(200);
    regions.server("eu").kill();
    regions.server("ap").kill();
    until(|| gateway.get("/ojs/v1/health").status == 503).await;
    gateway.get("/ojs/v1/queues").expect_error(503, "region_unavailable");
}

#[tokio::test]
async fn a_changed_file_is_taken_over_and_a_wrong_one_is_not() {
    let regions = Regions::start();
    let mut gateway = Gateway::start(&regions, &json!({}));
    let local = || {
        let reply = gateway.post("/ojs/v1/jobs", json!({"type": "a.b", "args": []}));
        reply.header("x-ojs-region").map(str::to_owned)
    };
    assert_eq!(local().as_deref(), Some("eu"));
    gateway.rewrite(&regions, &json!({"local_region": "us"}));
    until(|| local().as_deref() == Some("us")).await;
    gateway.rewrite(&regions, &json!({"local_region": "mars"}));
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(local().as_deref(), Some("us"));
    assert!(gateway.terminate().success(), "it ends in order when it is told to");
}
