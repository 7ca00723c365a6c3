//! The envelope: what is read, what is kept and what is refused.

use serde_json::{Value, json};

use crate::shorthand::{job_with, merged, millis, now_ms};
use crate::support::Server;

fn send(server: &Server, more: Value) -> Value {
    let job = merged(json!({"type": "test.job", "args": []}), more);
    server.post("/ojs/v1/jobs", job).expect(201)["job"].clone()
}

#[test]
fn options_are_read_at_the_top_and_inside_options() {
    let server = Server::start();
    let options = json!({"queue": "deep", "priority": 7, "timeout_ms": 5000, "tags": ["a"],
        "retry": {"max_attempts": 9}});
    let flat = send(&server, options.clone());
    let nested = send(&server, json!({"options": options}));
    let both = send(&server, merged(options.clone(), json!({"options": options})));
    for job in [flat, nested, both] {
        assert_eq!((&job["queue"], &job["priority"]), (&json!("deep"), &json!(7)), "{job}");
        assert_eq!((&job["timeout_ms"], &job["tags"]), (&json!(5000), &json!(["a"])), "{job}");
        assert_eq!(job["max_attempts"], 9);
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let server = Server::start();
    for (top, nested) in [
        (json!({"queue": "a"}), json!({"queue": "b"})),
        (json!({"priority": 1}), json!({"priority": 2})),
        (json!({"retry": {"max_attempts": 1}}), json!({"retry": {"max_attempts": 2}})),
    ] {
        let job = merged(json!({"type": "a.b", "args": [], "options": nested}), top);
        server.post("/ojs/v1/jobs", job).expect_error(400, "invalid_request");
    }
    let job = json!({"type": "a.b", "args": [], "timeout": 1, "timeout_ms": 5});
    server.post("/ojs/v1/jobs", job).expect_error(400, "invalid_request");
}

#[test]
fn a_null_option_counts_as_not_given() {
    let server = Server::start();
    let job = send(&server, json!({"priority": null, "queue": null}));
    assert_eq!((&job["priority"], &job["queue"]), (&json!(0), &json!("default")));
    let job = send(&server, json!({"priority": null, "options": {"priority": 5}}));
    assert_eq!(job["priority"], 5);
}

#[test]
fn what_is_left_out_has_defaults() {
    let server = Server::start();
    let reply = server.post("/ojs/v1/jobs", json!({"type": "a.b", "args": []}));
    let body = reply.expect(201);
    let job = &body["job"];
    assert_eq!(body["id"], job["id"]);
    let expected = json!({"specversion": "1.0", "queue": "default", "priority": 0, "meta": {},
        "max_attempts": 3, "state": "available", "attempt": 0});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(job[key], *value, "{key} of {job}");
    }
    assert!((millis(&job["created_at"]) - now_ms()).abs() < 60_000);
    assert_eq!(job["created_at"], job["enqueued_at"]);
}

#[test]
fn unknown_members_are_kept_unchanged() {
    let server = Server::start();
    let unknown = json!({"x_vendor": {"deep": [1, null, "ü"]}, "ojs.federation.origin": "eu"});
    let more = merged(unknown.clone(), json!({"options": {"future": [true]}, "meta": {"a.b": 1}}));
    let job = send(&server, more);
    let id = job["id"].as_str().unwrap();
    let fetched = server.fetch("default", 1).remove(0);
    for job in [job.clone(), server.job(id), fetched] {
        for (key, value) in unknown.as_object().unwrap() {
            assert_eq!(job[key], *value, "{key} of {job}");
        }
        assert_eq!(
            (&job["options"], &job["meta"]),
            (&json!({"future": [true]}), &json!({"a.b": 1}))
        );
    }
}

#[test]
fn numbers_and_texts_in_arguments_come_back_as_they_were() {
    let server = Server::start();
    let body = r#"{"type":"a.b","args":[1.0,10000000000000000000000000001,1e5,"\u00e9\n"]}"#;
    let reply = server.send("POST", "/ojs/v1/jobs", &[crate::support::JSON], Some(body.as_bytes()));
    let text = reply.text.clone();
    reply.expect(201);
    assert!(text.contains(r#"[1.0,10000000000000000000000000001,1e5,"\u00e9\n"]"#), "{text}");
}

#[test]
fn members_that_only_the_server_sets_cannot_be_forged() {
    let server = Server::start();
    let forged = json!({"state": "completed", "attempt": 7, "result": {"fake": 1}, "error": {"a": 1},
        "errors": [1], "created_at": "2001-01-01T00:00:00Z", "started_at": "2001-01-01T00:00:00Z",
        "completed_at": "2001-01-01T00:00:00Z", "enqueued_at": "2001-01-01T00:00:00Z",
        "cancelled_at": "2001-01-01T00:00:00Z", "discarded_at": "2001-01-01T00:00:00Z",
        "max_attempts": 99, "worker_id": "w"});
    let job = send(&server, forged);
    assert_eq!((&job["state"], &job["attempt"]), (&json!("available"), &json!(0)));
    assert_eq!(job["max_attempts"], 3);
    let shown = server.job(job["id"].as_str().unwrap());
    for job in [&job, &shown] {
        assert!(!job["created_at"].as_str().unwrap().starts_with("2001"), "{job}");
        assert!(!job["enqueued_at"].as_str().unwrap().starts_with("2001"), "{job}");
        for key in [
            "result",
            "error",
            "errors",
            "started_at",
            "completed_at",
            "cancelled_at",
            "discarded_at",
            "worker_id",
        ] {
            assert!(job.get(key).is_none(), "{key} of {job}");
        }
    }
    assert_eq!(server.fetch("default", 1).len(), 1);
}

#[test]
fn the_time_of_the_next_retry_cannot_be_forged() {
    let server = Server::start();
    let job = send(&server, json!({"next_retry_at": "2001-01-01T00:00:00Z"}));
    assert!(job.get("next_retry_at").is_none(), "{job}");
}

#[test]
fn times_in_utc_are_echoed_exactly_as_they_were_given() {
    let server = Server::start();
    let shown = "2099-02-12T08:30:00.500Z";
    let job = send(&server, json!({"scheduled_at": "2099-02-12T10:30:00.5+02:00"}));
    assert_eq!(job["scheduled_at"], shown, "other offsets are converted");
    for time in ["2099-02-12T10:30:00Z", "2099-02-12T10:30:00+00:00", "2099-02-12t10:30:00.123456z"]
    {
        let job = send(&server, json!({"scheduled_at": time, "expires_at": time}));
        assert_eq!((&job["scheduled_at"], &job["expires_at"]), (&json!(time), &json!(time)));
        assert_eq!(job["state"], "scheduled");
        assert_eq!(server.job(job["id"].as_str().unwrap())["scheduled_at"], time);
    }
    let job = send(&server, json!({"delay_until": "2099-02-12T10:30:00Z"}));
    assert_eq!(
        (&job["state"], &job["scheduled_at"]),
        (&json!("scheduled"), &json!("2099-02-12T10:30:00Z"))
    );
}

#[test]
fn relative_times_count_from_now() {
    let server = Server::start();
    let before = now_ms();
    let job = send(&server, json!({"scheduled_at": "+PT1H", "expires_at": "+P1D"}));
    let after = now_ms();
    for (field, ms) in [("scheduled_at", 3_600_000), ("expires_at", 86_400_000)] {
        let at = millis(&job[field]);
        assert!((before + ms..=after + ms).contains(&at), "{field}: {job}");
    }
}

#[test]
fn bad_times_are_refused() {
    let server = Server::start();
    for time in ["tomorrow", "2099-02-12", "2099-02-12T10:30:00", "2099-13-12T10:30:00Z", "+1h"] {
        for field in ["scheduled_at", "expires_at", "delay_until"] {
            let job = merged(job_with("q", json!({})), json!({field: time}));
            let error = server.post("/ojs/v1/jobs", job).expect_error(400, "invalid_request");
            assert_eq!(error["details"]["field"], field, "{time}");
        }
    }
}

#[test]
fn priorities_have_bounds() {
    let server = Server::start();
    for priority in [-100, 100] {
        assert_eq!(send(&server, json!({"priority": priority}))["priority"], priority);
    }
    for priority in [-101, 101, i64::MAX] {
        let job = job_with("q", json!({"priority": priority}));
        let error = server.post("/ojs/v1/jobs", job).expect_error(422, "invalid_request");
        assert_eq!(error["details"]["field"], "priority");
    }
    let job = job_with("q", json!({"priority": "urgent"}));
    server.post("/ojs/v1/jobs", job).expect_error(400, "invalid_request");
}

#[test]
fn an_envelope_that_is_not_one_is_refused() {
    let server = Server::start();
    let raw = |body: &str| {
        server.send("POST", "/ojs/v1/jobs", &[crate::support::JSON], Some(body.as_bytes()))
    };
    for body in ["", "{", "[]", "null", "\"x\"", "{\"type\":\"a.b\",\"args\":[],\"args\":[]}"] {
        raw(body).expect_error(400, "invalid_payload");
    }
    for (job, field) in [
        (json!({"args": []}), "type"),
        (json!({"type": "a.b"}), "args"),
        (json!({"type": "a.b", "args": {}}), "args"),
        (json!({"type": 5, "args": []}), "type"),
        (json!({"type": "", "args": []}), "type"),
        (json!({"type": "a b", "args": []}), "type"),
        (json!({"type": "a.b", "args": [], "queue": "UPPER CASE"}), "queue"),
        (json!({"type": "a.b", "args": [], "meta": []}), "meta"),
        (json!({"type": "a.b", "args": [], "tags": [1]}), "tags"),
        (json!({"type": "a.b", "args": [], "id": "42"}), "id"),
        (json!({"type": "a.b", "args": [], "options": []}), "options"),
    ] {
        let error = server.post("/ojs/v1/jobs", job.clone()).expect_error(400, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{job}");
    }
    let deep = format!("{{\"type\":\"a.b\",\"args\":{}{}}}", "[".repeat(150), "]".repeat(150));
    raw(&deep).expect_error(400, "invalid_payload");
}

#[test]
fn a_job_that_is_too_large_is_refused() {
    let server = Server::start_with(&["--limits-job-bytes", "2KiB"]);
    let job = json!({"type": "a.b", "args": ["x".repeat(3000)]});
    server.post("/ojs/v1/jobs", job).expect_error(413, "invalid_payload");
    let server = Server::start_with(&["--limits-job-bytes", "2KiB", "--limits-body-bytes", "4KiB"]);
    let small = json!({"type": "a.b", "args": ["x".repeat(900)]});
    let batch = json!({"jobs": vec![small; 5]});
    server.post("/ojs/v1/jobs/batch", batch).expect_error(413, "invalid_payload");
}
