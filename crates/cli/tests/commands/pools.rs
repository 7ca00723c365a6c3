use serde_json::json;

use crate::fake::scripted;
use crate::looks_like;
use crate::run::rota_at;

const POOL: &str = r#"{
    "name": "mail", "queues": ["email", "bulk"], "concurrency": 50, "strategy": "weighted",
    "weights": {"email": 3, "bulk": 1}, "isolated": true, "fair": true, "tenant_id": null, "tenants": ["acme", "globex"],
    "starvation_prevention": {"enabled": true, "rotation_interval": "PT30S", "min_dispatch_ratio": 0.05},
    "fairness_scope": "pool", "fairness_scope_inherited": false, "active_workers": 8, "active_jobs": 31, "utilization": 0.62, "origin": "api", "pool": {"name": "mail"}
}"#;

#[test]
fn pools_are_listed() {
    let plain = r#"{"name": "plain", "tenant_id": "acme", "tenants": null, "queues": ["default"], "concurrency": null, "strategy": "round-robin",
        "weights": null, "fairness_scope": "queue", "fairness_scope_inherited": true,
        "active_workers": 0, "active_jobs": 0}"#;
    let elsewhere = r#"{"name": "elsewhere", "queues": ["default"], "strategy": "strict"}"#;
    let list = format!(r#"{{"items": [{POOL}, {plain}, {elsewhere}]}}"#);
    let server = scripted(&[(200, &list)]);
    looks_like!("list", rota_at(&server.url, &["pools"]).printed());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/pools?per_page=100"]);
    let list = rota_at(&server.url, &["pools", "list", "--json"]).json();
    assert_eq!(list["pools"][0]["weights"], json!({"email": 3, "bulk": 1}));
    assert_eq!(list["pools"][0]["fairness_scope"], "pool");
}

#[test]
fn a_pool_is_shown() {
    let server = scripted(&[(200, POOL)]);
    looks_like!("show", rota_at(&server.url, &["pools", "show", "mail"]).printed());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/pools/mail"]);
    let pool = rota_at(&server.url, &["pools", "show", "mail", "--json"]).json();
    assert_eq!(pool["fairness_scope_inherited"], false);
}

#[test]
fn a_scope_that_is_the_servers_is_shown_as_such() {
    let pool = r#"{"name": "plain", "queues": ["q"], "fairness_scope": "queue", "fairness_scope_inherited": true}"#;
    let text = rota_at(&scripted(&[(200, pool)]).url, &["pools", "show", "plain"]).printed();
    assert!(text.contains("\nfairness scope  queue (server's setting)\n"), "{text}");
}

#[test]
fn a_pool_is_set_with_every_option() {
    let server = scripted(&[(201, POOL)]);
    #[rustfmt::skip]
    let arguments = [
        "pools", "set", "mail", "--queue", "email", "--queue", "bulk", "--concurrency", "50",
        "--strategy", "weighted", "--weight", "email=3", "--weight", "bulk=1", "--isolated",
        "--rotation-interval", "30s", "--min-dispatch-ratio", "0.05",
        "--fairness-scope", "pool", "--open-to", "acme", "--open-to", "globex",
        "--fair", "--json",
    ];
    assert_eq!(rota_at(&server.url, &arguments).json()["name"], "mail");
    rota_at(&server.url, &["pools", "set", "p", "--queue", "q"]).printed();
    let body = concat!(
        r#"{"queues":["email","bulk"],"concurrency":50,"strategy":"weighted","#,
        r#""weights":{"bulk":1,"email":3},"isolated":true,"starvation_prevention":"#,
        r#"{"enabled":true,"rotation_interval":"PT30S","min_dispatch_ratio":0.05},"#,
        r#""fairness_scope":"pool","tenants":["acme","globex"],"fair":true}"#
    );
    let expected = [
        format!("PUT /ojs/v1/admin/pools/mail {body}"),
        r#"PUT /ojs/v1/admin/pools/p {"queues":["q"]}"#.to_owned(),
    ];
    assert_eq!(server.asked(), expected);
}

#[test]
fn a_pool_is_opened_to_all_tenants_or_to_none() {
    let server = scripted(&[(201, POOL)]);
    for option in ["--open-to=*", "--closed"] {
        rota_at(&server.url, &["pools", "set", "p", "--queue", "q", option]).printed();
    }
    let expected = [
        r#"PUT /ojs/v1/admin/pools/p {"queues":["q"],"tenants":"*"}"#,
        r#"PUT /ojs/v1/admin/pools/p {"queues":["q"],"tenants":[]}"#,
    ];
    assert_eq!(server.asked(), expected);
    rota_at("", &["pools", "set", "p", "--queue", "q", "--closed", "--open-to", "a"]).failed(2);
}

#[test]
fn pools_are_deleted() {
    let server = scripted(&[(200, r#"{"deleted": true}"#)]);
    let text = rota_at(&server.url, &["pools", "delete", "mail", "gpu"]).printed();
    assert_eq!(text, "mail deleted\ngpu deleted\n");
    assert_eq!(
        server.asked(),
        ["DELETE /ojs/v1/admin/pools/mail", "DELETE /ojs/v1/admin/pools/gpu"]
    );
}

#[test]
fn mistakes_are_explained() {
    let message = |options: &[&str]| {
        rota_at("", &[&["pools", "set", "p", "--queue", "q"], options].concat()).failed(2)
    };
    assert!(message(&["--weight", "q"]).contains("QUEUE=N"));
    assert!(message(&["--weight", "q=0"]).contains("QUEUE=N"));
    assert!(message(&["--strategy", "x"]).contains("possible values: strict, round-robin"));
    assert!(message(&["--fairness-scope", "x"]).contains("possible values: queue, pool"));
    rota_at("", &["pools", "set", "p"]).failed(2);
}

/// Jobs of a pool's queues, taken as one of its workers.
#[test]
fn a_worker_says_where_it_belongs() {
    let beat = r#"{"state": "running", "jobs": []}"#;
    let server = scripted(&[(200, POOL), (200, beat)]);
    #[rustfmt::skip]
    let arguments = [
        "work", "--pool", "mail", "--strategy", "weighted", "--weight", "email=3", "--once",
        "--worker-id", "w1", "--tenant", "acme", "--", "true",
    ];
    assert_eq!(rota_at(&server.url, &arguments).code, 0);
    let asked = server.asked();
    assert_eq!(asked[0], "GET /ojs/v1/admin/pools/mail as acme");
    let choice = r#""pool":"mail","strategy":"weighted","weights":{"email":3}"#;
    for path in ["register", "fetch"] {
        let path = format!("POST /ojs/v1/workers/{path} ");
        let sent = asked.iter().find(|request| request.starts_with(&path)).unwrap();
        assert!(sent.contains(choice) && sent.contains(r#""queues":["email","bulk"]"#), "{sent}");
        assert!(sent.ends_with("} as acme"), "{sent}");
    }
}

#[test]
fn a_worker_of_no_pool_says_nothing_of_one() {
    let server = scripted(&[(200, r#"{"state": "running", "jobs": []}"#)]);
    assert_eq!(rota_at(&server.url, &["work", "--once", "--", "true"]).code, 0);
    let asked = server.asked().join("\n");
    assert!(asked.contains(r#""queues":["default"]"#), "{asked}");
    assert!(!asked.contains("pool") && !asked.contains("strategy"), "{asked}");
}

#[test]
fn a_pool_that_does_not_exist_has_no_workers() {
    let missing = r#"{"error": {"code": "not_found", "message": "There is no pool 'x'."}}"#;
    let server = scripted(&[(404, missing)]);
    let message = rota_at(&server.url, &["work", "--pool", "x", "--", "true"]).failed(4);
    assert!(message.contains("There is no pool 'x'."), "{message}");
}
