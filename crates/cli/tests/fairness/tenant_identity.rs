//! Whose a job is: body, header, both, neither.

use serde_json::{Value, json};

use crate::api::{assert_has, caller, fresh, list, of, shared, start, tenant, try_batch};
use crate::shorthand::{fresh_queue, job_on, job_with, text};
use crate::support::{JSON, Reply, Server};

fn post_as(server: &Server, header: (&str, &str), path: &str, body: Value) -> Reply {
    server.send("POST", path, &[JSON, header], Some(body.to_string().as_bytes()))
}

#[test]
fn the_tenant_is_read_from_meta() {
    let server = shared();
    let (acme, queue) = (fresh("tenant_acme-corp"), fresh_queue());
    let id = server.enqueue(of(&acme, &queue));
    assert_eq!(tenant(&server.job(&id)), acme);
    assert_eq!(tenant(&server.fetch(&queue, 1)[0]), acme);
    server.get(&format!("/ojs/v1/admin/tenants/{acme}")).expect(200);
}

#[test]
fn a_header_is_injected_into_meta() {
    let server = shared();
    for name in ["X-OJS-Tenant", "X-OJS-Tenant-Id", "X-Tenant-Id", "x-ojs-tenant"] {
        let acme = fresh("acme");
        let body = job_with(&fresh_queue(), json!({"meta": {"trace": "t1"}}));
        let answer = post_as(&server, (name, &acme), "/ojs/v1/jobs", body).expect(201);
        assert_eq!(answer["job"]["meta"], json!({"trace": "t1", "tenant_id": acme}), "{name}");
        let id = text(&answer["job"]["id"]);
        assert_eq!(tenant(&server.job(&id)), acme);
    }
    let acme = fresh("acme");
    let id = caller(&server, &acme).enqueue(job_on(&fresh_queue()));
    assert_eq!(tenant(&server.job(&id)), acme, "no meta at all");
}

#[test]
fn header_and_body_may_agree() {
    let server = shared();
    let acme = fresh("acme");
    let id = caller(&server, &acme).enqueue(of(&acme, &fresh_queue()));
    assert_eq!(tenant(&server.job(&id)), acme);
}

#[test]
fn header_and_body_that_differ_are_refused() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    let reply = caller(&server, &acme).post("/ojs/v1/jobs", of(&beta, &queue));
    let error = reply.expect_error(400, "invalid_request");
    assert_eq!(error["details"]["field"], "meta.tenant_id");
    assert!(server.fetch(&queue, 1).is_empty());
}

#[test]
fn two_headers_that_differ_are_refused() {
    let server = shared();
    let body = job_on(&fresh_queue()).to_string();
    for (first, second) in [("X-OJS-Tenant", "X-OJS-Tenant-Id"), ("X-OJS-Tenant", "X-Tenant-Id")] {
        let headers = [JSON, (first, "acme"), (second, "beta")];
        let reply = server.send("POST", "/ojs/v1/jobs", &headers, Some(body.as_bytes()));
        reply.expect_error(400, "invalid_request");
        let headers = [JSON, (first, "acme"), (second, "acme")];
        server.send("POST", "/ojs/v1/jobs", &headers, Some(body.as_bytes())).expect(201);
    }
}

#[test]
fn names_of_tenants_have_a_pattern() {
    let server = shared();
    let queue = fresh_queue();
    for bad in ["", "-acme", ".acme", ":acme", "_acme", "ac me", "acme/1", "acmé", "a\tb", "a,b"] {
        let error =
            server.post("/ojs/v1/jobs", of(bad, &queue)).expect_error(400, "invalid_request");
        assert_eq!(error["details"]["field"], "meta.tenant_id", "{bad}");
    }
    for bad in ["-acme", ".acme", "_acme", "ac me", "acme/1"] {
        let reply = post_as(&server, ("X-OJS-Tenant", bad), "/ojs/v1/jobs", job_on(&queue));
        reply.expect_error(400, "invalid_request");
    }
    for bad in [json!(5), json!(["acme"]), json!({"id": "acme"})] {
        let body = job_with(&queue, json!({"meta": {"tenant_id": bad}}));
        server.post("/ojs/v1/jobs", body).expect_error(400, "invalid_request");
    }
    assert!(server.fetch(&queue, 1).is_empty());
    for good in ["a", "0", "Acme", "a.b", "a_b", "a:b", "a-b", "9:._-"] {
        let id = server.enqueue(of(good, &queue));
        assert_eq!(tenant(&server.job(&id)), good);
    }
}

#[test]
fn names_of_tenants_have_a_longest() {
    let server = shared();
    let queue = fresh_queue();
    server.enqueue(of(&"a".repeat(128), &queue));
    let longer = "a".repeat(129);
    server.post("/ojs/v1/jobs", of(&longer, &queue)).expect_error(400, "invalid_request");
    let reply = caller(&server, &longer).post("/ojs/v1/jobs", job_on(&queue));
    reply.expect_error(400, "invalid_request");
}

#[test]
fn tenant_ids_are_case_sensitive() {
    let server = shared();
    let (lower, upper, queue) = (fresh("acme"), fresh("ACME"), fresh_queue());
    server.enqueue(of(&lower, &queue));
    assert!(caller(&server, &upper).fetch(&queue, 1).is_empty());
    assert_eq!(caller(&server, &lower).fetch(&queue, 1).len(), 1);
}

#[test]
fn without_a_tenant_a_job_belongs_to_the_default() {
    let server = shared();
    let queue = fresh_queue();
    let id = server.enqueue(job_on(&queue));
    caller(&server, "_default").get(&format!("/ojs/v1/jobs/{id}")).expect(200);
    let acme = fresh("acme");
    caller(&server, &acme).get(&format!("/ojs/v1/jobs/{id}")).expect_error(404, "not_found");
    let named = server.enqueue(of("_default", &queue));
    assert_eq!(tenant(&server.job(&named)), "_default");
    assert_eq!(caller(&server, "_default").fetch(&queue, 5).len(), 2);
}

#[test]
fn the_default_tenant_can_have_limits_like_any_other() {
    let server = start(&[]);
    server.put("/ojs/v1/admin/tenants/_default/limits", json!({"max_queue_depth": 1})).expect(200);
    server.enqueue(job_on("q"));
    let error = server.post("/ojs/v1/jobs", job_on("q")).expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(error["tenant_id"], "_default");
}

#[test]
fn the_default_tenant_can_have_another_name() {
    let server = start(&[("ROTA_TENANCY_DEFAULT", "house")]);
    let id = server.enqueue(job_on("q"));
    caller(&server, "house").get(&format!("/ojs/v1/jobs/{id}")).expect(200);
    server.get("/ojs/v1/admin/tenants/house").expect(200);
}

#[test]
fn a_tenant_can_be_required() {
    let server = start(&[("ROTA_TENANCY_REQUIRED", "true")]);
    for path in ["/ojs/v1/jobs", "/ojs/v1/jobs/batch"] {
        let body = match path {
            "/ojs/v1/jobs" => job_on("q"),
            _ => json!({"jobs": [of("acme", "q"), job_on("q")]}),
        };
        let error = server.post(path, body).expect(422)["error"].clone();
        assert_has(&error, json!({"type": "validation_error"}));
        assert_eq!(error["details"]["field"], "meta.tenant_id", "{path}");
    }
    assert!(server.fetch("q", 5).is_empty());
    server.enqueue(of("acme", "q"));
    caller(&server, "beta").enqueue(job_on("q"));
    assert_eq!(server.fetch("q", 5).len(), 2);
}

#[test]
fn where_the_tenant_is_looked_for_is_a_setting() {
    let server = start(&[("ROTA_TENANCY_SOURCE", "header"), ("ROTA_TENANCY_REQUIRED", "true")]);
    server.post("/ojs/v1/jobs", of("acme", "q")).expect(422);
    let id = caller(&server, "acme").enqueue(job_on("q"));
    assert_eq!(tenant(&server.job(&id)), "acme");
}

#[test]
fn a_header_goes_into_each_job_of_a_batch() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    let jobs = json!({"jobs": [job_on(&queue), of(&acme, &queue), job_on(&queue)]});
    let answer = caller(&server, &acme).post("/ojs/v1/jobs/batch", jobs).expect(201);
    for job in list(&answer["jobs"]) {
        assert_eq!(tenant(&job), acme);
    }
    let jobs = json!({"jobs": [job_on(&queue), of(&beta, &queue)]});
    let error = caller(&server, &acme)
        .post("/ojs/v1/jobs/batch", jobs)
        .expect_error(400, "invalid_request");
    assert_eq!(error["details"]["index"], 1, "{error}");
    assert_eq!(server.fetch(&queue, 9).len(), 3);
}

#[test]
fn without_a_header_a_batch_may_be_of_several_tenants() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    try_batch(&server, &[of(&acme, &queue), of(&beta, &queue)]).expect(201);
    assert_eq!(caller(&server, &acme).fetch(&queue, 9).len(), 1);
    assert_eq!(caller(&server, &beta).fetch(&queue, 9).len(), 1);
}

#[test]
fn a_body_that_is_not_asked_still_may_not_gainsay_the_header() {
    let server = start(&[("ROTA_TENANCY_SOURCE", "header")]);
    let acme = ("X-OJS-Tenant", "acme");
    post_as(&server, acme, "/ojs/v1/jobs", of("beta", "q")).expect_error(400, "invalid_request");
    let answer = post_as(&server, acme, "/ojs/v1/jobs", of("acme", "q")).expect(201);
    assert_eq!(answer["job"]["meta"], json!({"tenant_id": "acme"}));
    // Without a header nobody but the configuration says whose it is.
    server.enqueue(of("beta", "q"));
    server.get("/ojs/v1/admin/tenants/beta").expect_error(404, "not_found");
    server.get("/ojs/v1/admin/tenants/_default").expect(200);
}
