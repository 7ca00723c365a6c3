//! Triggering, pausing and changing schedules, and what became of their runs.

use serde_json::{Value, json};

use crate::shorthand::{ack, ids, take, text};
use crate::support::{JSON, Reply, Server};

/// A schedule that is not due for a long time.
fn yearly(server: &Server, name: &str, policy: &str) {
    let template = json!({"type": "report.make", "args": [12345678901234567890_u64],
        "options": {"queue": "q", "priority": 5}});
    let body = json!({"name": name, "expression": "0 0 1 1 *", "overlap_policy": policy,
        "job_template": template});
    server.post("/ojs/v1/cron", body).expect(201);
}

fn trigger(server: &Server, name: &str) -> Reply {
    server.post(&format!("/ojs/v1/cron/{name}/trigger"), json!({}))
}

fn patch(server: &Server, path: &str, body: Value) -> Reply {
    server.send("PATCH", path, &[JSON], Some(body.to_string().as_bytes()))
}

fn history(server: &Server, name: &str) -> Vec<Value> {
    let answer = server.get(&format!("/ojs/v1/cron/{name}/history")).expect(200);
    assert_eq!(answer["executions"], answer["items"]);
    answer["executions"].as_array().unwrap().clone()
}

#[test]
fn a_triggered_run_is_an_ordinary_run() {
    let server = Server::start();
    yearly(&server, "report", "skip");
    let before = server.get("/ojs/v1/cron/report").expect(200);
    // As a client without a body sends it.
    let answer = server.send("POST", "/ojs/v1/crons/report/trigger", &[], None).expect(201);
    let job = take(&server, "q");
    assert_eq!(job["id"], answer["job_id"]);
    assert_eq!(job["metadata"]["cron_name"], "report");
    assert_eq!(answer["cron"]["run_count"], 1);
    assert!(answer["cron"]["last_run_at"].is_string(), "{answer}");
    assert_eq!(answer["cron"]["next_run_at"], before["next_run_at"]);
    // Its policy holds for this run, too.
    let error = trigger(&server, "report").expect_error(409, "conflict");
    assert_eq!(error["details"]["job_id"], job["id"]);
    ack(&server, &text(&job["id"]));
    trigger(&server, "report").expect(201);
    trigger(&server, "nobody").expect_error(404, "not_found");
}

#[test]
fn a_disabled_schedule_can_be_triggered_and_quotas_hold() {
    let server = Server::start();
    yearly(&server, "report", "allow");
    let paused = server.post("/ojs/v1/cron/report/pause", json!({})).expect(200);
    assert_eq!((&paused["enabled"], &paused["next_run_at"]), (&json!(false), &Value::Null));
    trigger(&server, "report").expect(201);
    assert_eq!(server.get("/ojs/v1/cron/report").expect(200)["enabled"], false);
    server.put("/ojs/v1/admin/tenants/_default", json!({"max_queue_depth": 1})).expect(201);
    trigger(&server, "report").expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(server.fetch("q", 9).len(), 1);
    let resumed = server.post("/ojs/v1/cron/report/resume", json!({})).expect(200);
    assert_eq!(resumed["enabled"], true);
    assert!(resumed["next_run_at"].is_string(), "{resumed}");
    assert_eq!(resumed["run_count"], 1, "a refused run does not count");
}

#[test]
fn the_history_tells_what_became_of_the_last_runs_and_survives() {
    let mut server = Server::start();
    yearly(&server, "report", "allow");
    assert!(history(&server, "report").is_empty());
    let runs: Vec<Value> =
        (0..23).map(|_| trigger(&server, "report").expect(201)["job_id"].clone()).collect();
    let first = ids(&server.fetch("q", 22));
    ack(&server, &first[3]);
    server.delete(&format!("/ojs/v1/jobs/{}", first[4])).expect(200);
    let deleted = json!({"confirm": true, "filter": {"state": "cancelled"}});
    server.post("/ojs/v1/admin/jobs/bulk/delete", deleted).expect(200);
    let expected = |n: usize| match n {
        3 => "completed",
        4 => "deleted",
        22 => "available",
        _ => "active",
    };
    for restarted in [false, true] {
        if restarted {
            server.restart();
        }
        let shown = history(&server, "report");
        assert_eq!(shown.len(), 20, "the oldest are forgotten");
        for (run, n) in shown.iter().zip((0..23).rev()) {
            assert_eq!((&run["job_id"], &run["state"]), (&runs[n], &json!(expected(n))), "{run}");
            assert_eq!(run["trigger"], "manual");
            assert!(run["scheduled_at"].is_string(), "{run}");
            assert_eq!(run["completed_at"].is_string(), n == 3, "{run}");
            assert_eq!(run["started_at"].is_string(), n != 22 && n != 4, "{run}");
        }
    }
    let page = server.get("/ojs/v1/cron/report/history?limit=3&page=2").expect(200);
    assert_eq!(page["executions"][0]["job_id"], runs[19]);
    assert_eq!((&page["count"], &page["pagination"]["total"]), (&json!(3), &json!(20)));
    assert_eq!(page["pagination"]["has_more"], true);
    server.get("/ojs/v1/cron/nobody/history").expect_error(404, "not_found");
    // Registering it again keeps what happened.
    yearly(&server, "other", "allow");
    let again = json!({"name": "report", "cron": "0 0 2 1 *", "type": "report.make"});
    server.post("/ojs/v1/cron", again).expect(200);
    assert_eq!(history(&server, "report").len(), 20);
    assert!(history(&server, "other").is_empty());
}

#[test]
fn some_members_are_changed_and_the_others_stay() {
    let server = Server::start();
    yearly(&server, "report", "allow");
    let path = "/ojs/v1/cron/report";
    let changed = patch(&server, path, json!({"expression": "0 0 2 1 *"})).expect(200);
    assert_eq!(
        (&changed["expression"], &changed["schedule"]),
        (&json!("0 0 2 1 *"), &json!("0 0 2 1 *"))
    );
    assert_eq!(
        (&changed["overlap_policy"], &changed["type"]),
        (&json!("allow"), &json!("report.make"))
    );
    let template = json!({"type": "report.send", "options": {"queue": "other"}});
    let changed = patch(&server, path, json!({"job_template": template, "schedule": "0 0 3 1 *"}));
    let changed = changed.expect(200);
    assert_eq!(changed["job_template"]["options"], json!({"priority": 5, "queue": "other"}));
    assert_eq!((&changed["queue"], &changed["expression"]), (&json!("other"), &json!("0 0 3 1 *")));
    let off = patch(&server, "/ojs/v1/crons/report", json!({"enabled": false})).expect(200);
    assert_eq!((&off["enabled"], &off["cron"]["enabled"]), (&json!(false), &json!(false)));
    assert_eq!(off["cron_job"]["type"], "report.send");
    trigger(&server, "report").expect(201);
    let job = take(&server, "other");
    assert_eq!(job["args"].to_string(), "[12345678901234567890]", "{job}");
    for (body, status, field) in [
        (json!({}), 400, "enabled"),
        (json!({"enabled": "no"}), 400, "enabled"),
        (json!({"name": "other"}), 422, "name"),
        (json!({"expression": "never"}), 400, "expression"),
        (json!({"job_template": {"scheduled_at": "2030-01-01T00:00:00Z"}}), 422, "scheduled_at"),
    ] {
        let error = patch(&server, path, body.clone()).expect(status)["error"].clone();
        assert_eq!(error["details"]["field"], field, "{body}: {error}");
    }
    assert_eq!(server.get(path).expect(200)["expression"], "0 0 3 1 *");
    patch(&server, "/ojs/v1/cron/nobody", json!({"enabled": true})).expect_error(404, "not_found");
}

#[test]
fn a_tenant_triggers_and_sees_its_own_schedules_only() {
    let server = Server::start();
    fn of(tenant: &str) -> (&str, &str) {
        ("X-OJS-Tenant", tenant)
    }
    let body =
        json!({"name": "report", "cron": "0 0 1 1 *", "type": "t", "queue": "q"}).to_string();
    for tenant in ["acme", "rival"] {
        let headers = [JSON, of(tenant)];
        server.send("POST", "/ojs/v1/cron", &headers, Some(body.as_bytes())).expect(201);
    }
    let send = |method: &str, action: &str, tenant: &str| {
        server.send(method, &format!("/ojs/v1/cron/report{action}"), &[of(tenant)], None)
    };
    send("POST", "/trigger", "acme").expect(201);
    assert_eq!(send("GET", "/history", "acme").expect(200)["count"], 1);
    assert_eq!(send("GET", "/history", "rival").expect(200)["count"], 0);
    assert_eq!(send("POST", "/pause", "rival").expect(200)["tenant_id"], "rival");
    assert_eq!(send("GET", "", "acme").expect(200)["enabled"], true);
    send("POST", "/trigger", "stranger").expect_error(404, "not_found");
    trigger(&server, "report").expect_error(409, "conflict");
    server.post("/ojs/v1/cron/report/trigger?tenant=rival", json!({})).expect(201);
    let changed = json!({"timezone": "Europe/Berlin"});
    let changed = patch(&server, "/ojs/v1/cron/report?tenant=acme", changed).expect(200);
    assert_eq!(changed["tenant_id"], "acme");
    assert_eq!(take(&server, "q")["meta"]["tenant_id"], "acme");
}

#[test]
fn both_paths_list_the_same_with_pages() {
    let server = Server::start();
    for name in ["a", "b", "c"] {
        yearly(&server, name, "skip");
    }
    let list = server.get("/ojs/v1/crons?page=2&per_page=2").expect(200);
    assert_eq!(list, server.get("/ojs/v1/cron?page=2&per_page=2").expect(200));
    let names: Vec<_> = list["items"].as_array().unwrap().iter().map(|c| &c["id"]).collect();
    assert_eq!(names, ["c"]);
    assert_eq!((&list["items"], &list["crons"]), (&list["cron_jobs"], &list["items"]));
    assert_eq!(list["pagination"]["total"], 3);
    server.delete("/ojs/v1/crons/c").expect(200);
    server.get("/ojs/v1/cron/c").expect_error(404, "not_found");
}
