//! Registering, showing and removing recurring schedules.

use serde_json::{Value, json};

use crate::shorthand::{merged, millis, now_ms};
use crate::support::Server;

fn hourly(name: &str) -> Value {
    hourly_at(0, name)
}

fn hourly_at(minute: i64, name: &str) -> Value {
    let expression = format!("{minute} * * * *");
    json!({"name": name, "expression": expression, "job_template": {"type": "report.make", "args": [1]}})
}

fn put(server: &Server, body: Value) -> crate::support::Reply {
    server.post("/ojs/v1/cron", body)
}

#[test]
fn a_schedule_is_registered_shown_listed_and_deleted() {
    let server = Server::start();
    let more = json!({"timezone": "Europe/Berlin", "overlap_policy": "allow", "description": "hm"});
    // Half an hour away, so that it does not run meanwhile.
    let minute = (now_ms() / 60_000 + 30) % 60;
    let cron = put(&server, merged(hourly_at(minute, "hourly"), more)).expect(201)["cron"].clone();
    let expression = format!("{minute} * * * *");
    let expected = json!({"name": "hourly", "expression": expression, "cron": expression,
        "timezone": "Europe/Berlin", "overlap_policy": "allow", "enabled": true, "run_count": 0,
        "last_run_at": null, "type": "report.make", "args": [1], "description": "hm",
        "status": "active"});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(cron[key], *value, "{key} of {cron}");
    }
    let next = millis(&cron["next_run_at"]);
    assert!(next > now_ms() - 60_000 && next <= now_ms() + 3_600_000);
    assert_eq!(next % 3_600_000, minute * 60_000);
    assert_eq!(server.get("/ojs/v1/cron/hourly").expect(200)["cron"], cron);
    let list = server.get("/ojs/v1/cron").expect(200);
    assert_eq!((&list["crons"], &list["count"]), (&json!([cron]), &json!(1)));
    assert_eq!(server.delete("/ojs/v1/cron/hourly").expect(200)["deleted"], true);
    server.delete("/ojs/v1/cron/hourly").expect_error(404, "not_found");
    server.get("/ojs/v1/cron/hourly").expect_error(404, "not_found");
}

#[test]
fn registering_a_name_again_replaces_the_schedule() {
    let server = Server::start();
    put(&server, hourly("report")).expect(201);
    let again = json!({"name": "report", "cron": "30 2 * * *", "type": "other.kind"});
    let cron = put(&server, again).expect(200)["cron"].clone();
    assert_eq!((&cron["expression"], &cron["type"]), (&json!("30 2 * * *"), &json!("other.kind")));
    assert_eq!(server.get("/ojs/v1/cron").expect(200)["count"], 1);
}

#[test]
fn the_job_is_described_in_a_template_or_beside_the_schedule() {
    let server = Server::start();
    let nested = json!({"name": "a", "cron": "@daily", "job_template":
        {"type": "a.b", "args": ["x"], "options": {"queue": "deep", "priority": 4}}});
    let flat = json!({"name": "b", "schedule": "@daily", "type": "a.b", "args": ["x"],
        "options": {"queue": "deep", "priority": 4}});
    for body in [nested, flat] {
        let cron = put(&server, body).expect(201)["cron"].clone();
        assert_eq!((&cron["type"], &cron["args"]), (&json!("a.b"), &json!(["x"])), "{cron}");
        assert_eq!(cron["job_template"]["options"]["queue"], "deep", "{cron}");
    }
}

#[test]
fn a_schedule_is_switched_off_and_on() {
    let server = Server::start();
    put(&server, hourly("report")).expect(201);
    let toggle = |enabled: Value| {
        let body = json!({"enabled": enabled}).to_string();
        server.send("PATCH", "/ojs/v1/cron/report", &[crate::support::JSON], Some(body.as_bytes()))
    };
    let cron = toggle(json!(false)).expect(200)["cron"].clone();
    assert_eq!((&cron["enabled"], &cron["next_run_at"]), (&json!(false), &json!(null)));
    assert_eq!(server.get("/ojs/v1/cron?enabled=true").expect(200)["count"], 0);
    assert_eq!(server.get("/ojs/v1/cron?enabled=false").expect(200)["count"], 1);
    assert!(toggle(json!(true)).expect(200)["cron"]["next_run_at"].is_string());
    toggle(json!("maybe")).expect_error(400, "invalid_request");
    server.delete("/ojs/v1/cron/report").expect(200);
    toggle(json!(true)).expect_error(404, "not_found");
}

#[test]
fn lists_are_paged() {
    let server = Server::start();
    for n in 0..5 {
        put(&server, hourly(&format!("cron-{n}"))).expect(201);
    }
    let page = server.get("/ojs/v1/cron?limit=2&offset=2").expect(200);
    let names: Vec<_> =
        page["crons"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert_eq!(names, [json!("cron-2"), json!("cron-3")]);
    assert_eq!(
        (&page["pagination"]["total"], &page["pagination"]["has_more"]),
        (&json!(5), &json!(true))
    );
}

#[test]
fn schedules_that_cannot_be_understood_are_refused() {
    let server = Server::start();
    for expression in [
        "",
        "* * * *",
        "61 * * * *",
        "0 0 31 2 *",
        "@sometimes",
        "@every 10ms",
        "@every never",
        "a b c d e",
    ] {
        let body = merged(hourly("x"), json!({"expression": expression}));
        let reply = put(&server, body);
        assert_eq!(reply.status, 400, "{expression}: {}", reply.text);
    }
    for more in [
        json!({"timezone": "Mars/Olympus"}),
        json!({"overlap_policy": "maybe"}),
        json!({"enabled": "yes"}),
        json!({"cron": "1 * * * *"}),
        json!({"job_template": []}),
        json!({"job_template": {"args": []}}),
        json!({"name": null}),
        json!({"expression": null}),
    ] {
        put(&server, merged(hourly("x"), more.clone())).expect_error(400, "invalid_request");
    }
    assert_eq!(server.get("/ojs/v1/cron").expect(200)["count"], 0);
}

#[test]
fn options_of_a_single_job_do_not_go_with_a_schedule() {
    let server = Server::start();
    for more in [
        json!({"scheduled_at": "+PT1S"}),
        json!({"id": crate::shorthand::NOBODY}),
        json!({"options": {"expires_at": "+PT1S"}}),
        json!({"pending": true}),
    ] {
        let template = merged(json!({"type": "a.b"}), more.clone());
        let body = json!({"name": "x", "cron": "@daily", "job_template": template});
        assert_eq!(put(&server, body).status, 422, "{more}");
    }
}
