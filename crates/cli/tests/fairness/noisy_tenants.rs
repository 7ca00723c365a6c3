//! Noisy neighbours: noticed, throttled, released.

use serde_json::{Value, json};

use crate::api::{assert_has, assert_members, count, enqueue_many, of, put_tenant, start, tenants};
use crate::shorthand::{millis, now_ms};
use crate::support::Server;
use crate::watch::{await_event, events};

const QUIET: usize = 9;

fn throttling(throttle_for: &str) -> Server {
    start(&[("ROTA_NOISY_THROTTLE", "true"), ("ROTA_NOISY_THROTTLE_FOR", throttle_for)])
}

/// One tenant with a deep queue among others with shallow ones.
fn make_noise(server: &Server) {
    put_tenant(server, "noisy", json!({"fairness_weight": 10}));
    for n in 0..QUIET {
        let quiet = format!("quiet-{n}");
        put_tenant(server, &quiet, json!({"fairness_weight": 2}));
        enqueue_many(server, &of(&quiet, "q"), 10);
    }
    enqueue_many(server, &of("noisy", "q"), 900);
}

fn show(server: &Server) -> Value {
    server.get("/ojs/v1/admin/tenants/noisy").expect(200)
}

#[test]
fn a_noisy_tenant_is_throttled_with_an_event() {
    let server = throttling("5m");
    make_noise(&server);
    let event = await_event(&server, "tenant.throttled", "tenant_id", "noisy");
    assert_members(&event, &["reason", "action", "original_weight", "effective_weight", "until"]);
    assert_has(
        &event,
        json!({"action": "weight_reduced", "original_weight": 10, "effective_weight": 2}),
    );
    assert_eq!((&event["original_weight"], &event["effective_weight"]), (&json!(10), &json!(2)));
    let until = millis(&event["until"]);
    assert!(until > now_ms() && until <= now_ms() + 301_000, "{event}");
    let shown = show(&server);
    assert_has(&shown["throttle"], json!({"original_weight": 10, "effective_weight": 2}));
    assert_members(&shown["throttle"], &["reason", "action", "since", "until"]);
    let all = server.get("/ojs/v1/admin/tenants?sort=depth").expect(200);
    assert_has(&all["items"][0], json!({"tenant_id": "noisy", "throttled": true}));
    assert_has(&all["items"][0]["fairness"], json!({"weight": 10, "effective_weight": 2}));
    assert_eq!(all["items"][0]["noisy"]["action"], "throttled", "{all}");
}

#[test]
fn a_throttle_ends_by_hand() {
    let server = throttling("5m");
    make_noise(&server);
    await_event(&server, "tenant.throttled", "tenant_id", "noisy");
    server
        .post("/ojs/v1/admin/tenants/noisy/release", json!({"reason": "all is well"}))
        .expect(200);
    await_event(&server, "tenant.throttle_released", "tenant_id", "noisy");
    let path = "/ojs/v1/admin/tenants/noisy/changes";
    assert_eq!(server.get(path).expect(200)["items"].to_string().matches("\"release\"").count(), 1);
    server.post("/ojs/v1/admin/tenants/quiet-0/release", json!({})).expect(409);
}

#[test]
fn a_throttle_ends_by_time() {
    let server = throttling("1s");
    make_noise(&server);
    let event = await_event(&server, "tenant.throttled", "tenant_id", "noisy");
    await_event(&server, "tenant.throttle_released", "tenant_id", "noisy");
    assert!(now_ms() >= millis(&event["until"]));
}

#[test]
fn a_throttle_survives_a_restart() {
    let mut server = throttling("5m");
    make_noise(&server);
    await_event(&server, "tenant.throttled", "tenant_id", "noisy");
    let until = show(&server)["throttle"]["until"].clone();
    server.restart();
    assert_eq!(show(&server)["throttle"]["until"], until);
}

#[test]
fn throttling_is_off_by_default() {
    let server = start(&[]);
    make_noise(&server);
    let event = await_event(&server, "tenant.noisy", "tenant_id", "noisy");
    assert_eq!(event["reason"], "queue_depth_ratio_exceeded");
    let shown = show(&server);
    assert_eq!(shown["throttle"], Value::Null);
    let stats = server.get("/ojs/v1/admin/tenants/noisy/stats").expect(200);
    for noisy in [&shown["noisy"], &stats["noisy"]] {
        assert_has(noisy, json!({"signal": "queue_depth_ratio", "value": 900, "action": "none"}));
        assert!(noisy["threshold"].as_f64() < Some(900.0), "{noisy}");
        assert!(millis(&noisy["since"]) <= now_ms(), "{noisy}");
    }
    assert_eq!(server.get("/ojs/v1/admin/tenants/quiet-0/stats").expect(200)["noisy"], Value::Null);
    assert_eq!(shown["fairness_weight"].as_f64(), Some(10.0));
    assert!(events(&server, "tenant.throttled").is_empty());
}

#[test]
fn with_a_concurrency_for_each_tenant_a_throttle_lowers_that() {
    let server = start(&[
        ("ROTA_NOISY_THROTTLE", "true"),
        ("ROTA_NOISY_MIN_DEPTH", "50"),
        ("ROTA_FAIRNESS_STRATEGY", "strict"),
    ]);
    put_tenant(&server, "noisy", json!({"limits": {"max_concurrency": 10}}));
    for n in 0..QUIET {
        enqueue_many(&server, &of(&format!("quiet-{n}"), "q"), 1);
    }
    enqueue_many(&server, &of("noisy", "q"), 60);
    let event = await_event(&server, "tenant.throttled", "tenant_id", "noisy");
    let lowered = json!({
        "action": "concurrency_reduced", "original_concurrency": 10, "effective_concurrency": 2,
    });
    assert_has(&event, lowered.clone());
    assert_has(&show(&server)["throttle"], lowered);
    let served = tenants(&server.fetch("q", 50));
    assert_eq!(count(&served, "noisy"), 2, "{served:?}");
}

#[test]
fn without_detection_no_tenant_is_noisy() {
    let server = start(&[("ROTA_NOISY_DETECT", "false")]);
    make_noise(&server);
    crate::watch::nap(1500);
    for event in ["tenant.throttled", "tenant.noisy"] {
        assert!(events(&server, event).is_empty(), "{event}");
    }
}
