//! For which tenant a command acts that `rota work` runs.

use serde_json::{Value, json};

use crate::run::rota;
use crate::support::{JSON, Server, binary};

fn job_of(tenant: &str) -> Value {
    json!({"type": "a.b", "args": [], "meta": {"tenant_id": tenant}})
}

/// Runs all jobs that wait, each of them enqueues another, and tells how many each tenant has of those.
fn nested(server: &Server, options: &[&str], tenants: &[&str]) -> Vec<Value> {
    let script = format!("{} enqueue nested.job --queue nested", binary().display());
    let work = [&["work", "--once", "--quiet"], options, &["--", "sh", "-c", &script]].concat();
    rota(server, &work).printed();
    let count = |tenant: &&str| {
        let path = format!("/ojs/v1/admin/tenants/{tenant}/jobs?queue=nested");
        let reply = server.get(&path);
        if reply.status == 404 {
            json!(0)
        } else {
            reply.expect(200)["pagination"]["total"].clone()
        }
    };
    tenants.iter().map(count).collect()
}

#[test]
fn the_tenant_of_the_body_counts_only_where_the_server_goes_by_it() {
    let server = Server::start_in_env(&[], &[("ROTA_TENANCY_SOURCE", "header")]);
    server.enqueue(job_of("globex"));
    let acme = [JSON, ("X-OJS-Tenant", "acme")];
    let body = json!({"type": "a.b", "args": []}).to_string();
    server.send("POST", "/ojs/v1/jobs", &acme, Some(body.as_bytes())).expect(201);
    assert_eq!(nested(&server, &[], &["globex", "acme", "_default"]), [0, 1, 1]);
}

#[test]
fn elsewhere_it_is_the_jobs_tenant() {
    let server = Server::start();
    server.enqueue(job_of("globex"));
    server.enqueue(json!({"type": "a.b", "args": []}));
    assert_eq!(nested(&server, &[], &["globex", "_default"]), [1, 1]);
}

#[test]
fn a_worker_of_one_tenant_acts_for_it() {
    let server = Server::start_in_env(&[], &[("ROTA_TENANCY_ISOLATION", "namespace")]);
    server.enqueue(job_of("acme"));
    assert_eq!(nested(&server, &["--tenant", "acme"], &["acme"]), [1]);
}
