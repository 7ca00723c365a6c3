//! How many queues and classes one tenant may have.

use serde_json::json;

use crate::api::{Caller, caller, of, of_with, put_tenant, start};
use crate::shorthand::{ack, job_on, text};

#[test]
fn a_tenant_with_too_many_queues_does_not_affect_others() {
    let limits = [("ROTA_LIMITS_QUEUES", "20"), ("ROTA_LIMITS_QUEUES_PER_TENANT", "5")];
    let mut server = start(&limits);
    for n in 0..5 {
        server.enqueue(of("acme", &format!("acme-{n}")));
    }
    for restarted in [false, true] {
        if restarted {
            server.restart();
        }
        let refused = server.post("/ojs/v1/jobs", of("acme", "acme-5"));
        let error = refused.expect_error(429, "TENANT_LIMIT_EXCEEDED");
        let figures = ["tenant_id", "limit", "current", "maximum"].map(|name| error[name].clone());
        assert_eq!(json!(figures), json!(["acme", "queues_per_tenant", 5, 5]));
        assert!(text(&error["hint"]).contains("limits.queues_per_tenant"), "{error}");
        server.enqueue(of("beta", &format!("beta-{restarted}")));
    }
    let pause: Caller<'_> = caller(&server, "acme");
    // A pause makes no queue of a tenant's: what it never had a job in is not there for it.
    server.enqueue(of("beta", "of-beta"));
    for queue in ["acme-5", "of-beta"] {
        for action in ["pause", "resume"] {
            let path = format!("/ojs/v1/queues/{queue}/{action}");
            pause.post(&path, json!({})).expect_error(404, "not_found");
            pause.post(&path.replace("v1", "v1/admin"), json!({})).expect_error(404, "not_found");
        }
    }
    pause.post("/ojs/v1/queues/acme-4/pause", json!({})).expect(200);
    pause.post("/ojs/v1/queues/acme-4/resume", json!({})).expect(200);
    server.delete("/ojs/v1/admin/queues/acme-0?purge=true&confirm=true").expect(200);
    server.enqueue(of("acme", "acme-5"));
}

#[test]
fn the_last_queues_are_kept_for_tenants_without_any() {
    let server = start(&[("ROTA_LIMITS_QUEUES", "10")]);
    for n in 0..9 {
        server.enqueue(of("acme", &format!("acme-{n}")));
    }
    let error = server.post("/ojs/v1/jobs", of("acme", "acme-9")).expect(422)["error"].clone();
    assert!(text(&error["hint"]).contains("limits.queues"), "{error}");
    assert_eq!((&error["details"]["current"], &error["details"]["limit"]), (&json!(9), &json!(10)));
    put_tenant(&server, "acme", json!({"fairness_weight": 2}));
    server.enqueue(of("acme", "acme-9"));
    let full = server.post("/ojs/v1/jobs", of("beta", "beta-0")).expect(422)["error"].clone();
    assert!(text(&full["hint"]).contains("limits.queues"), "{full}");
    server.delete("/ojs/v1/admin/queues/acme-9?purge=true&confirm=true").expect(200);
    server.enqueue(of("beta", "beta-0"));
}

#[test]
fn invented_tenants_leave_queues_to_configured_ones_and_operators() {
    let server = start(&[("ROTA_LIMITS_QUEUES", "40")]);
    put_tenant(&server, "known", json!({"fairness_weight": 2}));
    let first = |n: u32| server.post("/ojs/v1/jobs", of(&format!("t{n}"), &format!("q{n}")));
    (0..38).for_each(|n| {
        first(n).expect(201);
    });
    first(38).expect_error(422, "invalid_request");
    server.enqueue(of("known", "known"));
    server.post("/ojs/v1/queues/mine/pause", json!({})).expect(200);
    let delete = |name: &str| {
        server.delete(&format!("/ojs/v1/admin/queues/{name}?purge=true&confirm=true")).expect(200);
    };
    // The last one is for operators, the one before for configured tenants.
    delete("q7");
    server.post("/ojs/v1/jobs", of("known", "more")).expect_error(422, "invalid_request");
    server.post("/ojs/v1/queues/mine-too/pause", json!({})).expect(200);
    delete("q8");
    delete("q9");
    first(39).expect_error(422, "invalid_request");
    server.enqueue(of("known", "more"));
}

#[test]
fn a_tenant_has_unfinished_jobs_of_so_many_classes() {
    let server = start(&[("ROTA_LIMITS_CLASSES_PER_TENANT", "2")]);
    let kind = |n: u32| of_with("acme", "q", json!({"type": format!("kind.n{n}")}));
    let sent = [server.enqueue(kind(0)), server.enqueue(kind(1))];
    let refused = server.post("/ojs/v1/jobs", kind(2)).expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(refused["limit"], "classes_per_tenant", "{refused}");
    assert!(text(&refused["hint"]).contains("limits.classes_per_tenant"), "{refused}");
    server.enqueue(kind(1));
    server.enqueue(job_on("q"));
    server.fetch("q", 1);
    ack(&server, &sent[0]);
    server.enqueue(kind(2));
}
