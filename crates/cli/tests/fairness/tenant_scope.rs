//! What a tenant can reach of the operator's side, and how an operator looks at one tenant.

use serde_json::{Value, json};

use crate::api::{assert_has, caller, enqueue_many, fresh, list, of, of_with, shared, start};
use crate::shorthand::{boom, eventually, fresh_queue, ids, job_on, nack, text};
use crate::support::JSON;

#[test]
fn a_tenant_sees_no_other_tenant() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    enqueue_many(&server, &of(&acme, &queue), 1);
    enqueue_many(&server, &of(&beta, &queue), 1);
    let as_beta = caller(&server, &beta);
    let listed = as_beta.get("/ojs/v1/admin/tenants").expect(200);
    assert_eq!(listed["pagination"]["total"], 1);
    assert_eq!(listed["items"][0]["tenant_id"], beta);
    for path in ["", "/limits", "/stats", "/jobs", "/changes"] {
        as_beta.get(&format!("/ojs/v1/admin/tenants/{acme}{path}")).expect_error(404, "not_found");
        as_beta.get(&format!("/ojs/v1/admin/tenants/{beta}{path}")).expect(200);
    }
    // The answer does not depend on whether there is such a tenant.
    for id in [&acme, &beta, &fresh("nobody")] {
        as_beta.delete(&format!("/ojs/v1/admin/tenants/{id}")).expect_error(403, "forbidden");
    }
    let fairness = as_beta.get("/ojs/v1/admin/fairness");
    assert!(!fairness.text.contains(&acme), "{}", fairness.text);
    assert_eq!(list(&fairness.expect(200)["tenants"]).len(), 1);
}

#[test]
fn an_operator_can_ask_for_one_tenant() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    let own = enqueue_many(&server, &of(&acme, &queue), 2);
    enqueue_many(&server, &of(&beta, &queue), 3);
    for name in ["tenant", "tenant_id"] {
        let path = format!("/ojs/v1/admin/jobs?{name}={acme}&order=asc");
        let answer = server.get(&path).expect(200);
        assert_eq!(ids(&list(&answer["items"])), own);
        assert_eq!(answer["pagination"]["total"], 2);
        let answer = caller(&server, &beta).get(&path).expect(200);
        assert_eq!((&answer["items"], &answer["pagination"]["total"]), (&json!([]), &json!(0)));
    }
    server.get("/ojs/v1/admin/jobs?tenant=a%20b").expect_error(400, "invalid_request");
}

#[test]
fn totals_of_a_tenant_are_exact_where_a_counter_knows() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    enqueue_many(&server, &of(&acme, &queue), 3);
    enqueue_many(&server, &of(&acme, &fresh_queue()), 1);
    enqueue_many(&server, &of(&fresh("beta"), &queue), 5);
    let total = |query: &str| {
        let path = format!("/ojs/v1/admin/jobs?tenant={acme}{query}");
        server.get(&path).expect(200)["pagination"].clone()
    };
    assert_eq!(total("")["total"], 4);
    assert_eq!(total(&format!("&queue={queue}"))["total"], 3);
    assert_eq!(total("&state=active")["total"], 0);
    assert_eq!(total("&type=test.job")["total_known"], false);
}

#[test]
fn bulk_operations_of_an_operator_can_be_for_one_tenant() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    enqueue_many(&server, &of(&acme, &queue), 2);
    enqueue_many(&server, &of(&beta, &queue), 3);
    let body = |tenant: &str| json!({"filter": {"tenant_id": tenant}, "confirm": true});
    let path = "/ojs/v1/admin/jobs/bulk/cancel";
    assert_eq!(caller(&server, &beta).post(path, body(&acme)).expect(200)["matched"], 0);
    assert_eq!(server.post(path, body(&acme)).expect(200)["succeeded"], 2);
    assert_eq!(server.fetch(&queue, 9).len(), 3);
}

#[test]
fn a_purge_of_a_queue_takes_the_tenants_jobs() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    enqueue_many(&server, &of(&acme, &queue), 2);
    enqueue_many(&server, &of(&beta, &queue), 3);
    let purge = |who: &str| {
        let body = br#"{"states": ["available"], "confirm": true}"#;
        let path = format!("/ojs/v1/admin/queues/{queue}/jobs");
        server.send("DELETE", &path, &[JSON, ("X-OJS-Tenant", who)], Some(body))
    };
    purge(&fresh("gamma")).expect_error(404, "not_found");
    assert_eq!(purge(&beta).expect(200)["purged_count"], 3);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn a_purge_of_the_dead_letter_takes_the_tenants_jobs() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    for tenant in [&acme, &beta] {
        let job = of_with(tenant, &queue, json!({"retry": {"max_attempts": 1}}));
        let id = server.enqueue(job);
        assert_eq!(server.fetch(&queue, 1).len(), 1);
        nack(&server, &id, boom());
    }
    let headers = [JSON, ("X-OJS-Tenant", &*beta)];
    let path = "/ojs/v1/admin/dead-letter";
    let answer = server.send("DELETE", path, &headers, Some(br#"{"confirm": true}"#)).expect(200);
    assert_eq!(answer["purged_count"], 1);
    assert_eq!(caller(&server, &acme).get(path).expect(200)["pagination"]["total"], 1);
    assert_eq!(caller(&server, &beta).get(path).expect(200)["pagination"]["total"], 0);
}

#[test]
fn figures_are_the_tenants_own() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    enqueue_many(&server, &of(&acme, &queue), 2);
    enqueue_many(&server, &of(&beta, &queue), 3);
    let stats = caller(&server, &beta).get("/ojs/v1/admin/stats").expect(200);
    assert_eq!((&stats["queues"], &stats["jobs"]["available"]), (&json!(1), &json!(3)));
    let queues = caller(&server, &beta).get("/ojs/v1/admin/queues").expect(200);
    assert_eq!(queues["pagination"]["total"], 1);
    assert_eq!(queues["items"][0]["counts"]["available"], 3);
    let shown = caller(&server, &beta).get(&format!("/ojs/v1/queues/{queue}")).expect(200);
    assert!(shown["stats"]["enqueued_last_hour"].is_null(), "kept for whole queues: {shown}");
    let gamma = fresh("gamma");
    for path in ["queues", "admin/queues"] {
        let path = format!("/ojs/v1/{path}/{queue}");
        caller(&server, &gamma).get(&path).expect_error(404, "not_found");
    }
    let path = "/ojs/v1/admin/stats/history";
    caller(&server, &beta).get(path).expect_error(422, "unsupported");
}

#[test]
fn streams_of_others_are_not_there() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    let id = server.enqueue(of(&acme, &queue));
    for path in [format!("jobs/{id}/events"), format!("queues/{queue}/events")] {
        let path = format!("/ojs/v1/{path}");
        caller(&server, &beta).get(&path).expect_error(404, "not_found");
    }
}

#[test]
fn a_repeated_id_tells_nothing_to_a_body_of_another_tenant_either() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    let id = format!("019461a8-1a2b-7c3d-8e4e-{:012x}", std::process::id());
    server.enqueue(of_with(&acme, &queue, json!({"id": id, "args": ["secret"]})));
    let again = of_with(&beta, &queue, json!({"id": id}));
    for (path, body) in [
        ("/ojs/v1/jobs", again.clone()),
        ("/ojs/v1/jobs/batch", json!({"jobs": [of(&beta, &queue), again]})),
    ] {
        let reply = server.post(path, body);
        assert!(!reply.text.contains("secret") && !reply.text.contains(&acme), "{}", reply.text);
        let error = reply.expect_error(409, "duplicate");
        assert!(error["details"].get("existing_job_id").is_none(), "{error}");
    }
    let own = of_with(&acme, &queue, json!({"id": id}));
    assert_eq!(server.post("/ojs/v1/jobs", own).expect(409)["job"]["args"], json!(["secret"]));
}

#[test]
fn an_operator_finds_a_schedule_by_its_name_and_tenant() {
    let server = shared();
    let (acme, beta, name) = (fresh("acme"), fresh("beta"), fresh("nightly"));
    let cron = |tenant: &str| {
        json!({"name": name, "cron": "@daily", "type": "a.b", "queue": fresh_queue(),
            "meta": {"tenant_id": tenant}})
    };
    let path = format!("/ojs/v1/cron/{name}");
    server.post("/ojs/v1/cron", cron(&acme)).expect(201);
    assert_has(&server.get(&path).expect(200)["cron"], json!({"name": name, "tenant_id": acme}));
    server.post("/ojs/v1/cron", cron(&beta)).expect(201);
    server.get(&path).expect_error(409, "conflict");
    let shown = server.get(&format!("{path}?tenant={beta}")).expect(200);
    assert_eq!(shown["cron"]["tenant_id"], beta);
    assert_eq!(server.get(&format!("/ojs/v1/cron?tenant={acme}")).expect(200)["count"], 1);
    server.delete(&format!("{path}?tenant={acme}")).expect(200);
    assert_eq!(server.get(&path).expect(200)["cron"]["tenant_id"], beta);
}

#[test]
fn schedules_of_tenants_survive_a_restart() {
    let mut server = start(&[]);
    let cron = json!({"name": "often", "cron": "@every 1s", "type": "a.b", "queue": "q",
        "overlap_policy": "allow"});
    caller(&server, "acme").post("/ojs/v1/cron", cron).expect(201);
    server.restart();
    let runs = eventually("a run", || {
        Some(caller(&server, "acme").fetch("q", 1)).filter(|jobs| !jobs.is_empty())
    });
    assert_eq!(runs[0]["metadata"]["cron_name"], "often");
    let path = "/ojs/v1/events?types=cron.triggered";
    // The first run may have been before the restart.
    let event = eventually("an event of a run", || {
        list(&caller(&server, "acme").get(path).expect(200)["events"]).pop()
    });
    assert_eq!(
        (&event["subject"], &event["data"]["cron_name"]),
        (&json!("often"), &json!("often"))
    );
    assert_eq!(caller(&server, "beta").get(path).expect(200)["events"], json!([]));
}

#[test]
fn a_purge_takes_the_schedules_with_it() {
    let server = shared();
    let acme = fresh("acme");
    let cron = json!({"name": "nightly", "cron": "@daily", "type": "a.b", "queue": fresh_queue()});
    caller(&server, &acme).post("/ojs/v1/cron", cron).expect(201);
    caller(&server, &acme).enqueue(job_on(&fresh_queue()));
    let path = format!("/ojs/v1/admin/tenants/{acme}?purge=true&confirm=true");
    server.delete(&path).expect(200);
    assert_eq!(caller(&server, &acme).get("/ojs/v1/cron").expect(200)["count"], 0);
}

#[test]
fn a_worker_shows_a_tenant_only_its_own_jobs() {
    let server = shared();
    let (acme, beta, queue, worker) = (fresh("acme"), fresh("beta"), fresh_queue(), fresh("w"));
    let own = server.enqueue(of(&acme, &queue));
    server.enqueue(of(&beta, &queue));
    let ask = json!({"queues": [queue], "count": 9, "worker_id": worker});
    caller(&server, &acme).post("/ojs/v1/workers/fetch", ask).expect(200);
    let path = format!("/ojs/v1/admin/workers/{worker}");
    let jobs = |shown: Value| list(&shown["active_job_ids"]).iter().map(text).collect::<Vec<_>>();
    assert_eq!(jobs(caller(&server, &acme).get(&path).expect(200)), [own]);
    caller(&server, &beta).get(&path).expect_error(404, "not_found");
}

#[test]
fn tenants_are_listed_by_cursor() {
    let server = start(&[]);
    for n in 0..7 {
        server.enqueue(of(&format!("t{n}"), "q"));
    }
    let (mut seen, mut query) = (Vec::new(), "?per_page=3".to_owned());
    loop {
        let page = server.get(&format!("/ojs/v1/admin/tenants{query}")).expect(200);
        seen.extend(list(&page["items"]).iter().map(|one| text(&one["tenant_id"])));
        let Some(next) = page["pagination"]["next_cursor"].as_str() else { break };
        query = format!("?per_page=3&cursor={next}");
    }
    seen.retain(|tenant| tenant != "_default");
    assert_eq!(seen, ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
    server.get("/ojs/v1/admin/tenants?sort=depth&cursor=t1").expect_error(400, "invalid_request");
    server.get("/ojs/v1/admin/tenants?sort=size").expect_error(400, "invalid_request");
}
