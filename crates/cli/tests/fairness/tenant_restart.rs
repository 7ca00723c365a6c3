//! Tenants of the configuration and of the interface, across restarts.

use serde_json::{Value, json};

use crate::api::{assert_has, enqueue_many, list, of, of_with, put_tenant, start, tenant_stats};
use crate::support::Server;

fn show(server: &Server, tenant: &str) -> Value {
    server.get(&format!("/ojs/v1/admin/tenants/{tenant}")).expect(200)
}

#[test]
fn the_configuration_can_name_tenants() {
    let tenants = json!({"acme": {"weight": 10, "concurrency": 1},
        "beta": {"fairness_weight": 5, "max_queue_depth": 1},
        "gamma": {"limits": {"max_scheduled": 1, "max_enqueue_rate": {"limit": 2, "period": "PT1M"}}}});
    let server = start(&[("ROTA_TENANTS", &tenants.to_string())]);
    let acme = show(&server, "acme");
    assert_has(&acme, json!({"origin": "file", "fairness_weight": 10, "configured": true}));
    assert_has(&acme["limits"], json!({"max_concurrency": 1}));
    enqueue_many(&server, &of("acme", "q"), 2);
    assert_eq!(server.fetch("q", 9).len(), 1);
    server.enqueue(of("beta", "q"));
    server.post("/ojs/v1/jobs", of("beta", "q")).expect(429);
    enqueue_many(&server, &of("gamma", "q"), 2);
    server.post("/ojs/v1/jobs", of("gamma", "q")).expect(429);
}

#[test]
fn a_file_can_name_tenants() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("rota.toml");
    let toml =
        "[tenants.acme]\nfairness_weight = 4\n\n[tenants.acme.limits]\nmax_queue_depth = 1\n";
    std::fs::write(&file, toml).unwrap();
    let server = start(&[("ROTA_CONFIG", file.to_str().unwrap())]);
    assert_has(&show(&server, "acme"), json!({"origin": "file", "fairness_weight": 4}));
    server.enqueue(of("acme", "q"));
    server.post("/ojs/v1/jobs", of("acme", "q")).expect(429);
}

#[test]
fn a_change_wins_over_the_file_until_it_is_deleted() {
    let tenants = json!({"acme": {"weight": 10}}).to_string();
    let mut server = start(&[("ROTA_TENANTS", &tenants)]);
    put_tenant(&server, "acme", json!({"fairness_weight": 3}));
    for _ in 0..2 {
        let shown = show(&server, "acme");
        assert_has(&shown, json!({"origin": "api", "fairness_weight": 3}));
        let file = &shown["file"];
        let weight = file.get("fairness_weight").or(file.get("weight"));
        assert_eq!(weight.and_then(Value::as_f64), Some(10.0), "{shown}");
        server.restart();
    }
    server.delete("/ojs/v1/admin/tenants/acme").expect(200);
    assert_has(&show(&server, "acme"), json!({"origin": "file", "fairness_weight": 10}));
}

#[test]
fn a_tenant_survives_a_kill() {
    let mut server = start(&[]);
    let limits = json!({"max_queue_depth": 3, "max_concurrency": 1});
    put_tenant(
        &server,
        "acme",
        json!({"limits": limits, "fairness_weight": 4, "reason": "signed"}),
    );
    enqueue_many(&server, &of("acme", "q"), 2);
    server.enqueue(of_with("acme", "q", json!({"scheduled_at": "2099-01-01T00:00:00Z"})));
    assert_eq!(server.fetch("q", 9).len(), 1);
    let before = tenant_stats(&server, "acme");
    server.kill();
    server.restart();
    let shown = show(&server, "acme");
    assert_has(&shown, json!({"fairness_weight": 4, "origin": "api"}));
    assert_has(&shown["limits"], limits);
    let after = tenant_stats(&server, "acme");
    assert_eq!(
        (&after["jobs"]["available"], &after["depth"]),
        (&before["jobs"]["available"], &json!(2))
    );
    assert!(server.fetch("q", 9).is_empty(), "its one slot is taken");
    server.enqueue(of("acme", "q"));
    server.post("/ojs/v1/jobs", of("acme", "q")).expect(429);
    let changes = server.get("/ojs/v1/admin/tenants/acme/changes").expect(200);
    assert_eq!(list(&changes["items"])[0]["reason"], "signed");
}

#[test]
fn a_wrong_tenant_in_the_configuration_stops_the_server() {
    drop(start(&[("ROTA_TENANTS", r#"{"acme": {"weight": 1}}"#)]));
    for bad in [r#"{"ac me": {}}"#, r#"{"acme": {"weight": 0}}"#, r#"{"acme": {"speed": 1}}"#, "7"]
    {
        let dir = tempfile::TempDir::new().unwrap();
        let data = dir.path().to_str().unwrap();
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data];
        let ended = crate::support::process::run(&arguments, &[("ROTA_TENANTS", bad)]);
        assert_ne!(ended.code, Some(0), "{bad}: {ended:?}");
    }
}
