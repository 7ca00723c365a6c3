//! What a gateway does with each kind of request.

use serde_json::{Value, json};

use crate::gateway_process::Gateway;
use crate::regions::{Regions, until};
use crate::support::process;

fn job() -> Value {
    json!({"type": "a.b", "args": [1]})
}

fn pinned(region: &str) -> Value {
    json!({"type": "a.b", "args": [1], "meta": {"ojs.federation.region": region}})
}

#[test]
fn jobs_are_routed_and_found_where_they_are() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    let local = gateway.post("/ojs/v1/jobs", job());
    assert_eq!((local.status, local.header("x-ojs-region")), (201, Some("eu")));
    let there = gateway.post("/ojs/v1/jobs", pinned("ap"));
    assert_eq!((there.status, there.header("x-ojs-region")), (201, Some("ap")));
    let id = there.body["job"]["id"].as_str().unwrap().to_owned();
    assert_eq!(there.body["job"]["meta"]["ojs.federation.federation_id"], *id);
    // A second gateway remembers nothing and has to ask.
    let other = Gateway::start(&regions, &json!({}));
    for gateway in [&gateway, &other] {
        let shown = gateway.get(&format!("/ojs/v1/jobs/{id}"));
        assert_eq!((shown.status, shown.header("x-ojs-region")), (200, Some("ap")));
    }
    let cancelled = other.send("DELETE", &format!("/ojs/v1/jobs/{id}"), None, &[]);
    assert_eq!(cancelled.expect(200)["job"]["state"], "cancelled");
    let missing = gateway.get("/ojs/v1/jobs/01234567-89ab-7000-8000-000000000000");
    missing.expect_error(404, "not_found");
}

#[test]
fn pins_hold_and_what_cannot_be_is_refused() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    gateway.post("/ojs/v1/jobs", pinned("mars")).expect_error(422, "unknown_region");
    let nowhere =
        json!({"type": "a", "args": [], "meta": {"ojs.federation.region_affinity": "geo-pin"}});
    gateway.post("/ojs/v1/jobs", nowhere).expect_error(422, "invalid_request");
    let wrong = gateway.post("/ojs/v1/jobs", json!({"args": []}));
    assert_eq!(wrong.header("x-ojs-region"), Some("eu"), "the region says what is wrong");
    wrong.expect_error(400, "invalid_request");
    let mixed = json!({"jobs": [pinned("eu"), pinned("us")]});
    let refused = gateway.post("/ojs/v1/jobs/batch", mixed).expect_error(400, "invalid_request");
    assert_eq!(refused["hint"], "Send one batch for each region.");
    gateway.get("/ojs/v1/events/stream").expect_error(422, "unsupported");
    gateway.get("/nowhere").expect_error(404, "not_found");
    let same = json!({"jobs": [pinned("us"), pinned("us")]});
    let batch = gateway.post("/ojs/v1/jobs/batch", same);
    assert_eq!((batch.status, batch.header("x-ojs-region")), (201, Some("us")));
    assert_eq!(batch.body["count"], 2);
}

#[test]
fn a_worker_gets_jobs_of_several_regions_and_reports_each_where_it_belongs() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({"gateway": {"fetch_regions": ["eu", "ap"]}}));
    let worker = json!({"worker_id": "w", "queues": ["default"]});
    gateway.post("/ojs/v1/workers/register", worker).expect(200);
    gateway.post("/ojs/v1/jobs", pinned("ap")).expect(201);
    gateway.post("/ojs/v1/jobs", pinned("eu")).expect(201);
    let mut fetched = Vec::new();
    for _ in 0..2 {
        let ask = json!({"queues": ["default"], "worker_id": "w", "count": 1, "wait_ms": 1000});
        let jobs = gateway.post("/ojs/v1/workers/fetch", ask).expect(200)["jobs"].clone();
        fetched.extend(jobs.as_array().unwrap().clone());
    }
    let ids: Vec<&str> = fetched.iter().map(|job| job["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    let missing = "01234567-89ab-7000-8000-000000000000";
    let beat = json!({"worker_id": "w", "active_jobs": [ids[0], ids[1], missing]});
    let heard = gateway.post("/ojs/v1/workers/heartbeat", beat).expect(200);
    assert_eq!(heard["jobs_lost"], json!([missing]));
    assert_eq!(heard["jobs_extended"].as_array().map(Vec::len), Some(2));
    let done = json!({"job_id": ids[0], "worker_id": "w", "result": 7});
    assert_eq!(gateway.post("/ojs/v1/workers/ack", done).expect(200)["state"], "completed");
    let reports = json!({"jobs": [
        {"job_id": ids[1], "worker_id": "w"},
        {"job_id": missing, "worker_id": "w"},
    ]});
    let settled = gateway.post("/ojs/v1/workers/ack", reports).expect(200);
    assert_eq!((&settled["succeeded"], &settled["failed"]), (&json!(1), &json!(1)), "{settled}");
    let results = &settled["results"];
    assert_eq!((&results[0]["state"], &results[1]["status"]), (&json!("completed"), &json!(404)));
    let empty_list = gateway.post("/ojs/v1/workers/ack", json!({"jobs": []}));
    assert_eq!(empty_list.status, 422, "the region says what is wrong: {}", empty_list.text);
    let empty = json!({"queues": ["default"], "worker_id": "w"});
    assert_eq!(gateway.post("/ojs/v1/workers/fetch", empty).expect(200)["jobs"], json!([]));
}

#[test]
fn lists_and_figures_are_put_together() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    for region in ["eu", "eu", "us", "ap"] {
        gateway.post("/ojs/v1/jobs", pinned(region)).expect(201);
    }
    let mut seen: Vec<String> = Vec::new();
    let mut path = "/ojs/v1/admin/jobs?limit=1".to_owned();
    loop {
        let page = gateway.get(&path).expect(200);
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["region"].as_str().unwrap().to_owned()));
        assert_eq!(page["regions_unknown"], json!([]));
        match page["pagination"]["next_cursor"].as_str() {
            Some(cursor) => path = format!("/ojs/v1/admin/jobs?limit=1&cursor={cursor}"),
            None => break,
        }
    }
    seen.sort();
    assert_eq!(seen, ["ap", "eu", "eu", "us"]);
    let stats = gateway.get("/ojs/federation/stats").expect(200);
    assert_eq!(stats["jobs"]["available"], 4, "{stats}");
    assert_eq!(stats["regions"]["eu"]["jobs"]["available"], 2);
    let queue = gateway.get("/ojs/v1/queues/default/stats").expect(200);
    assert_eq!(queue["stats"]["available"], 4, "{queue}");
}

#[test]
fn credentials_and_tenants_pass_through() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    let as_acme = [("x-ojs-tenant", "acme")];
    let created = gateway.send("POST", "/ojs/v1/jobs", Some(job()), &as_acme).expect(201);
    assert_eq!(created["job"]["meta"]["tenant_id"], "acme");
    let path = format!("/ojs/v1/jobs/{}", created["job"]["id"].as_str().unwrap());
    gateway.send("GET", &path, None, &[("x-ojs-tenant", "globex")]).expect_error(404, "not_found");
    gateway.send("GET", &path, None, &as_acme).expect(200);
}

#[test]
fn rules_decide_for_jobs_that_do_not() {
    let regions = Regions::start();
    let rules = json!({"rules": [
        {"type": "gdpr.*", "region": "ap", "pin": true},
        {"queue": "video", "region": "us"},
    ]});
    let gateway = Gateway::start(&regions, &rules);
    let sent = |job: Value| {
        let reply = gateway.post("/ojs/v1/jobs", job);
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.header("x-ojs-region").unwrap().to_owned()
    };
    assert_eq!(sent(json!({"type": "gdpr.export", "args": []})), "ap");
    assert_eq!(sent(json!({"type": "cut", "args": [], "queue": "video"})), "us");
    assert_eq!(sent(job()), "eu");
}

#[tokio::test]
async fn the_regions_are_shown_and_routes_explained() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    let healthy = || {
        let shown = gateway.get("/ojs/v1/admin/regions").body;
        let all = shown["regions"].as_array().unwrap().clone();
        all.iter().all(|region| region["status"] == "healthy" && !region["load"].is_null())
    };
    until(healthy).await;
    for path in ["/ojs/v1/federation/regions", "/v1/federation/regions"] {
        assert_eq!(gateway.get(path).expect(200)["federation_id"], "test");
    }
    assert_eq!(gateway.get("/ojs/v1/federation/health").expect(200)["status"], "healthy");
    assert_eq!(gateway.get("/ojs/federation/backends").expect(200)["backends"][1]["name"], "us");
    let route = gateway.post("/v1/federation/route", pinned("us")).expect(200);
    assert_eq!((&route["target_region"], &route["strategy"]), (&json!("us"), &json!("geo-pin")));
    assert_eq!(
        gateway.get("/ojs/v1/admin/jobs").expect(200)["items"],
        json!([]),
        "nothing was sent"
    );
    let url = gateway.url();
    let shown = process::run(&["regions", "--url", &url], &[]);
    assert!(
        shown.stdout.contains("eu (local)") && shown.stdout.contains("closed"),
        "{}",
        shown.stdout
    );
    let explained =
        process::run(&["regions", "route", "a.b", "--region", "ap", "--url", &url], &[]);
    assert!(explained.stdout.contains("geo-pin"), "{}", explained.stdout);
}
