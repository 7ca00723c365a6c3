//! `rota doctor` on servers where queues belong to tenants.

use serde_json::json;

use crate::run::rota_at;
use crate::support::Server;

#[test]
fn a_healthy_server_with_namespaces_is_well() {
    let server = Server::start_in_env(&[], &[("ROTA_TENANCY_ISOLATION", "namespace")]);
    let enqueue = |tenant: &str| {
        let job = json!({"type": "a.b", "args": [], "queue": "q", "meta": {"tenant_id": tenant}});
        server.enqueue(job);
    };
    let dir = server.dir().display().to_string();
    let doctor = || rota_at(&server.url(""), &["doctor", "--quick", "--data", &dir]).printed();
    assert!(doctor().ends_with("\nNo problems found.\n"), "{}", doctor());

    enqueue("acme");
    enqueue("globex");
    server.send("POST", "/ojs/v1/queues/q/pause", &[("X-OJS-Tenant", "acme")], None).expect(200);
    let told = doctor();
    assert!(told.contains("2 jobs wait, and no worker is there."), "{told}");
    assert!(told.contains("Paused, so that their jobs wait: q of acme."), "{told}");
    assert!(told.contains("`rota queues resume NAME --tenant ID`"), "{told}");
    assert!(told.contains("no problem"), "{told}");
}

#[test]
fn dead_letters_of_all_tenants_are_counted() {
    let server = Server::start_in_env(&[], &[("ROTA_TENANCY_ISOLATION", "namespace")]);
    let acme = [crate::support::JSON, ("X-OJS-Tenant", "acme")];
    let job = json!({"type": "a", "args": [], "options": {"retry": {"max_attempts": 1}}});
    let send = |path: &str, body: serde_json::Value| {
        server.send("POST", path, &acme, Some(body.to_string().as_bytes()))
    };
    send("/ojs/v1/jobs/batch", json!({"jobs": vec![job; 100]})).expect(201);
    let fetched = send("/ojs/v1/workers/fetch", json!({"queues": ["default"], "count": 100}));
    for job in fetched.expect(200)["jobs"].as_array().unwrap() {
        let error = json!({"code": "x", "message": "failed"});
        send("/ojs/v1/workers/nack", json!({"job_id": job["id"], "error": error})).expect(200);
    }
    let dir = server.dir().display().to_string();
    let told = rota_at(&server.url(""), &["doctor", "--quick", "--data", &dir]).printed();
    assert!(told.contains("100 jobs failed for good."), "{told}");
    assert!(told.contains("`rota dead-letter list --tenant ID`"), "{told}");
}
