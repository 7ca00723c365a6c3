//! A gateway in front of regions that fail.

use std::sync::Arc;

use serde_json::json;

use crate::gateway_process::Gateway;
use crate::regions::{Regions, until};
use crate::relay::Relay;

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

/// Breakers and health checks that do not step in during a test.
fn unwatched() -> serde_json::Value {
    json!({
        "health_check": {"interval_seconds": 3600},
        "circuit_breaker": {"failure_threshold": 1000},
        "load": {"interval_seconds": 3600},
    })
}

#[tokio::test]
async fn a_silent_region_does_not_hide_a_job_of_another() {
    let mut regions = Regions::start();
    let (first, second) =
        (Gateway::start(&regions, &unwatched()), Gateway::start(&regions, &unwatched()));
    let pinned = json!({"type": "a.b", "args": [], "meta": {"ojs.federation.region": "us"}});
    let jobs: Vec<String> = (0..2)
        .map(|_| {
            let job = first.post("/ojs/v1/jobs", pinned.clone()).expect(201)["job"]["id"].clone();
            format!("/ojs/v1/jobs/{}", job.as_str().unwrap())
        })
        .collect();
    regions.freeze("eu").await;
    // The second gateway has never heard of these jobs, and asks the silent region first.
    second.get(&jobs[0]).expect(200);
    let cancelled = second.send("DELETE", &jobs[1], None, &[]).expect(200);
    assert_eq!(cancelled["job"]["state"], "cancelled");
    // Nobody else has this one. What changes nothing can be repeated; what does may have been done.
    let missing = "/ojs/v1/jobs/01234567-89ab-7000-8000-000000000000";
    second.get(missing).expect_error(503, "region_unknown");
    second.send("DELETE", missing, None, &[]).expect_error(504, "outcome_unknown");
    regions.server("eu").signal("CONT");
}

#[tokio::test]
async fn a_request_for_a_region_that_is_away_says_so() {
    let mut regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    regions.server("eu").kill();
    let open = || {
        let shown = gateway.get("/ojs/v1/admin/regions").expect(200);
        shown["regions"][0]["circuit_breaker"] == "open"
    };
    until(open).await;
    let fetch = || gateway.post("/ojs/v1/workers/fetch", json!({"queues": ["default"]}));
    for reply in [gateway.get("/ojs/v1/cron"), fetch()] {
        // Between two probes, and while one is under way.
        let text = reply.body["error"]["message"].as_str().unwrap();
        assert!(!text.contains("the job must run"), "{text}");
        assert!(matches!(reply.status, 502 | 503), "{text}");
    }
}

#[test]
fn a_limit_is_told_as_the_region_tells_it() {
    let mut regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    let limit = json!({"limits": {"max_queue_depth": 1}});
    for id in crate::regions::IDS {
        regions.server(id).put("/ojs/v1/admin/tenants/acme", limit.clone()).expect(201);
    }
    let send = |meta: serde_json::Value| {
        let job = json!({"type": "a.b", "args": [], "meta": meta});
        gateway.send("POST", "/ojs/v1/jobs", Some(job), &[("X-OJS-Tenant", "acme")])
    };
    (0..3).for_each(|_| drop(send(json!({})).expect(201)));
    let job = json!({"type": "a.b", "args": []}).to_string();
    let headers = [("X-OJS-Tenant", "acme"), ("content-type", "application/openjobspec+json")];
    let own = regions.server("us").send("POST", "/ojs/v1/jobs", &headers, Some(job.as_bytes()));
    for meta in [json!({}), json!({"ojs.federation.region": "us"})] {
        let limited = send(meta);
        assert_eq!(limited.status, 429, "{}", limited.text);
        for member in ["code", "limit", "current", "maximum"] {
            assert_eq!(limited.body["error"][member], own.body["error"][member], "{}", own.text);
        }
        assert_eq!(limited.header("retry-after"), own.header("retry-after"));
        assert!(limited.header("x-ojs-region").is_some());
    }
}

#[tokio::test]
async fn an_answer_that_was_lost_is_not_taken_from_another_job_with_the_same_id() {
    let regions = Regions::start();
    let relay = Relay::to(regions.servers[0].address()).await;
    let mut listed = Gateway::regions(&regions);
    listed[0]["url"] = format!("http://{}", relay.address).into();
    let mut settings = unwatched();
    settings["regions"] = listed.into();
    let gateway = Arc::new(Gateway::start(&regions, &settings));
    let id = "01a1f04b-689c-7df1-9f14-37826f8e0214";
    let job = |number: u32| json!({"id": id, "type": "a.b", "args": [number]});
    let collected = || {
        let shown = gateway.get("/ojs/v1/admin/regions").expect(200);
        !shown["regions"][0]["load"].is_null()
    };
    until(collected).await;
    // The first answer to each request is lost, and the request is sent again.
    for (number, status) in [(1, 201), (1, 201), (2, 409)] {
        relay.delay(std::time::Duration::from_secs(60));
        let before = relay.answers();
        let (sender, job) = (gateway.clone(), job(number));
        let sent = tokio::task::spawn_blocking(move || sender.post("/ojs/v1/jobs", job));
        until(|| relay.answers() > before).await;
        // The answer that is held back stays so.
        relay.delay(std::time::Duration::ZERO);
        let reply = sent.await.unwrap();
        assert_eq!(reply.status, status, "{}", reply.text);
    }
}
