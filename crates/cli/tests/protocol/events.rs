//! Events: what happened, in order, each once.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, heartbeat, job_on, job_with, nack, quick_retry, take_with};
use crate::shorthand::{eventually, millis, register, take, text};
use crate::states::events;
use crate::support::Server;

/// The events of one job, as their types.
fn story(server: &Server, id: &str) -> Vec<String> {
    let of_job = |event: &Value| event["data"]["job_id"] == id;
    events(server, "").iter().filter(|e| of_job(e)).map(|e| text(&e["type"])).collect()
}

fn only(server: &Server, kind: &str) -> Value {
    let mut all = events(server, kind);
    assert_eq!(all.len(), 1, "{kind}: {all:?}");
    all.remove(0)
}

#[track_caller]
fn assert_data(event: &Value, expected: Value) {
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(event["data"][key], *value, "{key} of {event}");
    }
    assert_eq!(event["data"]["job_type"], "test.job");
    assert_eq!(event["data"]["queue"], "q");
    assert_eq!(event["specversion"], "1.0");
    for key in ["id", "source", "time", "subject"] {
        assert!(event[key].is_string(), "{key} of {event}");
    }
}

#[test]
fn a_job_that_succeeds_tells_its_story() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"priority": 4})));
    take_with(&server, "q", json!({"worker_id": "w1"}));
    heartbeat(&server, "w1", json!({"active_jobs": [id]})).expect(200);
    ack(&server, &id);
    let expected = ["job.enqueued", "job.started", "job.heartbeat", "job.completed"];
    assert_eq!(story(&server, &id), expected);
    assert_data(&only(&server, "job.enqueued"), json!({"priority": 4}));
    assert_data(&only(&server, "job.started"), json!({"attempt": 1, "worker_id": "w1"}));
    let beat = only(&server, "job.heartbeat");
    assert_data(&beat, json!({"attempt": 1, "worker_id": "w1"}));
    assert!(beat["data"]["visible_until"].is_string());
    let completed = only(&server, "job.completed");
    assert_data(&completed, json!({"attempt": 1}));
    assert!(completed["data"]["duration_ms"].is_u64());
    assert_eq!(completed["subject"], id);
}

#[test]
fn a_job_that_is_retried_and_discarded_tells_its_story() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"retry": quick_retry(2)})));
    for _ in 0..2 {
        take(&server, "q");
        nack(&server, &id, boom());
    }
    let expected = [
        "job.enqueued",
        "job.started",
        "job.failed",
        "job.retrying",
        "job.enqueued",
        "job.started",
        "job.failed",
        "job.discarded",
        "dead_letter.added",
    ];
    assert_eq!(story(&server, &id), expected);
    let failed = events(&server, "job.failed").remove(0);
    assert_data(&failed, json!({"attempt": 1}));
    let error = &failed["data"]["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!("boom"), &json!("it broke")));
    assert_eq!(error["retryable"], true);
    let retrying = only(&server, "job.retrying");
    assert_data(&retrying, json!({"attempt": 1, "max_attempts": 2}));
    assert!(retrying["data"]["next_retry_at"].is_string());
    assert_eq!(retrying["data"]["error"]["code"], "boom");
    let discarded = only(&server, "job.discarded");
    assert_data(&discarded, json!({"total_attempts": 2}));
    assert_eq!(discarded["data"]["last_error"]["message"], "it broke");
}

#[test]
fn a_delayed_job_is_scheduled_then_enqueued() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"scheduled_at": "+PT0.1S"})));
    let scheduled = only(&server, "job.scheduled");
    assert_data(&scheduled, json!({"scheduled_at": server.job(&id)["scheduled_at"]}));
    server.wait_for_state(&id, "available");
    eventually("the event is there", || (story(&server, &id).len() == 2).then_some(()));
    assert_eq!(story(&server, &id), ["job.scheduled", "job.enqueued"]);
}

#[test]
fn a_cancelled_job_tells_its_story() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    assert_eq!(story(&server, &id), ["job.enqueued", "job.cancelled"]);
    assert_data(&only(&server, "job.cancelled"), json!({"previous_state": "available"}));
}

#[test]
fn an_expired_job_tells_how_long_it_had() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"expires_at": "+PT0.1S"})));
    let job = server.wait_for_state(&id, "discarded");
    let event = eventually("the event is there", || events(&server, "job.expired").pop());
    assert_data(&event, json!({"created_at": job["created_at"], "expired_at": job["expired_at"]}));
    let had = millis(&job["expires_at"]) - millis(&job["created_at"]);
    assert!(had <= 100, "{job}");
    assert_eq!(event["data"]["ttl_ms"], had, "{event}");
}

#[test]
fn a_job_that_returns_to_its_queue_is_enqueued_again() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"pending": true, "retry": {"max_attempts": 1}})));
    server.post(&format!("/ojs/v1/jobs/{id}/activate"), json!({})).expect(200);
    take(&server, "q");
    server
        .post("/ojs/v1/workers/nack", json!({"job_id": id, "error": boom(), "requeue": true}))
        .expect(200);
    server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).expect(200);
    let expected = [
        "job.enqueued",
        "job.started",
        "job.failed",
        "job.enqueued",
        "job.cancelled",
        "job.enqueued",
    ];
    assert_eq!(story(&server, &id), expected);
}

#[test]
fn all_events_of_a_job_tell_its_trace() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let server = Server::start();
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    for meta in [json!({"trace_id": TRACE}), json!({"traceparent": parent})] {
        let id = server.enqueue(job_with("q", json!({"meta": meta, "retry": {"max_attempts": 1}})));
        take(&server, "q");
        nack(&server, &id, boom());
        let of_job = |event: &Value| event["data"]["job_id"] == id;
        let all: Vec<Value> = events(&server, "").into_iter().filter(of_job).collect();
        assert_eq!(all.len(), 5);
        all.iter().for_each(|event| assert_eq!(event["data"]["trace_id"], TRACE, "{event}"));
    }
    let id = server.enqueue(job_on("q"));
    let last = events(&server, "").pop().unwrap();
    assert_eq!((&last["subject"], &last["data"]["trace_id"]), (&json!(id), &Value::Null));
}

#[test]
fn required_members_have_defaults() {
    let server = Server::start();
    let dropped = server.enqueue(job_with(
        "q",
        json!({"rate_limit": {"key": "k", "concurrency": 1, "on_limit": "drop"}}),
    ));
    let held = server.enqueue(job_with(
        "q",
        json!({"rate_limit": {"key": "k", "concurrency": 1, "on_limit": "drop"}}),
    ));
    // The first starts, so the second is dropped when it would start.
    server.fetch("q", 1);
    server.fetch("q", 1);
    let started = only(&server, "job.started");
    assert_eq!(
        (&started["subject"], &started["data"]["worker_id"]),
        (&json!(dropped), &json!("anonymous"))
    );
    server.wait_for_state(&held, "discarded");
    let event = eventually("the event is there", || events(&server, "job.discarded").pop());
    let error = &event["data"]["last_error"];
    assert_eq!(error["code"], "dropped_by_rate_limit", "{event}");
    assert!(error["message"].is_string(), "{event}");
}

#[test]
fn queues_and_workers_have_events() {
    let server = Server::start();
    for action in ["pause", "pause", "resume", "resume"] {
        server.post(&format!("/ojs/v1/queues/q/{action}"), json!({})).expect(200);
    }
    assert_eq!(only(&server, "queue.paused")["data"]["queue"], "q");
    assert_eq!(only(&server, "queue.resumed")["subject"], "q");
    register(&server, "w1", json!({"queues": ["a", "b"], "concurrency": 7}));
    heartbeat(&server, "w1", json!({})).expect(200);
    heartbeat(&server, "w2", json!({"state": "quiet", "queues": ["c"]})).expect(200);
    let fetch = json!({"worker_id": "w3", "queues": ["q"]});
    server.post("/ojs/v1/workers/fetch", fetch).expect(200);
    let data = |kind: &str| -> Vec<Value> {
        events(&server, kind).into_iter().map(|event| event["data"].clone()).collect()
    };
    assert_eq!(
        data("worker.started"),
        [
            json!({"worker_id": "w1", "queues": ["a", "b"], "concurrency": 7}),
            json!({"worker_id": "w2", "queues": ["c"], "concurrency": 0}),
            json!({"worker_id": "w3", "queues": ["q"], "concurrency": 0}),
        ]
    );
    assert_eq!(
        data("worker.heartbeat"),
        [
            json!({"worker_id": "w1", "queues": ["a", "b"], "active_jobs": 0}),
            json!({"worker_id": "w2", "queues": ["c"], "active_jobs": 0}),
        ]
    );
    assert_eq!(data("worker.quiet"), [json!({"worker_id": "w2", "active_jobs": 0})]);
    server.delete("/ojs/v1/workers/w2").expect(200);
    let stopped = only(&server, "worker.stopped");
    assert_eq!(
        (&stopped["data"]["reason"], &stopped["data"]["cause"]),
        (&json!("shutdown"), &json!("deregistered"))
    );
}

#[test]
fn quieting_a_worker_emits_an_event() {
    let server = Server::start();
    heartbeat(&server, "w1", json!({})).expect(200);
    server.post("/ojs/v1/admin/workers/w1/quiet", json!({})).expect(200);
    heartbeat(&server, "w1", json!({"state": "quiet"})).expect(200);
    server.delete("/ojs/v1/workers/w1").expect(200);
    for kind in ["worker.started", "worker.quiet", "worker.stopped"] {
        assert_eq!(only(&server, kind)["data"]["worker_id"], "w1", "{kind}");
    }
}

#[test]
fn reading_on_with_the_cursor_gives_each_event_once() {
    let server = Server::start();
    let (mut seen, mut after) = (Vec::new(), String::new());
    for round in 0..4 {
        (0..5).for_each(|_| drop(server.enqueue(job_on("q"))));
        server.fetch("q", round + 1);
        loop {
            let page = server.get(&format!("/ojs/v1/events?limit=4{after}")).expect(200);
            let events = page["events"].as_array().expect("events");
            assert!(events.len() <= 4);
            seen.extend(events.iter().map(|event| text(&event["id"])));
            after = format!("&after={}", text(&page["cursor"]));
            if page["has_more"] == false {
                break;
            }
        }
    }
    let all: Vec<String> = events(&server, "").iter().map(|event| text(&event["id"])).collect();
    assert_eq!(seen, all);
    assert_eq!(all.len(), 20 + 10);
    let nothing = server.get(&format!("/ojs/v1/events?limit=4{after}")).expect(200);
    assert_eq!(nothing["events"], json!([]));
    assert_eq!(format!("&after={}", text(&nothing["cursor"])), after);
    server.get("/ojs/v1/events?after=rubbish").expect_error(400, "invalid_request");
}

#[test]
fn a_list_without_a_cursor_says_that_the_first_events_are_gone() {
    let server = Server::start_with(&["--events-capacity", "3"]);
    (0..3).for_each(|_| drop(server.enqueue(job_on("q"))));
    let gap =
        |query: &str| server.get(&format!("/ojs/v1/events?{query}")).expect(200)["gap"].clone();
    assert_eq!(gap(""), false);
    server.enqueue(job_on("q"));
    assert_eq!(gap(""), true);
    let page = server.get("/ojs/v1/events").expect(200);
    assert_eq!(gap(&format!("after={}", text(&page["cursor"]))), false);
}

#[test]
fn pages_by_number_begin_with_the_newest() {
    let server = Server::start();
    let ids: Vec<String> = (0..5).map(|_| server.enqueue(job_on("q"))).collect();
    server.enqueue(job_on("other"));
    let page = server.get("/ojs/v1/events?page=2&per_page=2&type=job.enqueued&queue=q").expect(200);
    let items = page["items"].as_array().expect("items");
    assert_eq!(
        items.iter().map(|item| text(&item["subject"])).collect::<Vec<_>>(),
        [&*ids[2], &*ids[1]]
    );
    assert_eq!(page["pagination"], json!({"total": 5, "page": 2, "per_page": 2, "has_more": true}));
    assert!(items.iter().all(|item| item["timestamp"] == item["time"] && item["data"].is_object()));
    let future = "since=2999-01-01T00:00:00Z";
    let none = server.get(&format!("/ojs/v1/events?page=1&{future}")).expect(200);
    assert_eq!((&none["items"], &none["pagination"]["total"]), (&json!([]), &json!(0)));
    assert_eq!(server.get(&format!("/ojs/v1/events?{future}")).expect(200)["events"], json!([]));
    server.get("/ojs/v1/events?page=1&after=x").expect_error(400, "invalid_request");
}

#[test]
fn unknown_parameters_are_refused() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    for path in ["events", "events/stream", "queues/q/events", &format!("jobs/{id}/events")] {
        let reply = server.get(&format!("/ojs/v1/{path}?tpyes=job.started"));
        let error = reply.expect_error(400, "invalid_request");
        assert_eq!(error["details"]["field"], "tpyes", "{error}");
    }
}

#[test]
fn events_are_filtered_by_type_queue_and_job_type() {
    let server = Server::start();
    for (queue, kind) in [("a", "x.one"), ("b", "x.two"), ("a", "x.two")] {
        server.enqueue(json!({"type": kind, "args": [], "queue": queue}));
    }
    server.fetch("a", 1);
    let count = |query: &str| {
        let body = server.get(&format!("/ojs/v1/events?{query}")).expect(200);
        body["events"].as_array().expect("events").len()
    };
    assert_eq!(count("types=job.enqueued"), 3);
    assert_eq!(count("types=job.enqueued,job.started"), 4);
    assert_eq!(count("queues=a"), 3);
    assert_eq!(count("queues=a&types=job.enqueued"), 2);
    assert_eq!(count("job_types=x.two"), 2);
    assert_eq!(count("job_types=x.two&queues=b"), 1);
    assert_eq!(count("types=cron.skipped"), 0);
}

#[test]
fn events_of_a_job_that_was_removed_still_name_it() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
    take(&server, "q");
    nack(&server, &id, boom());
    server.delete(&format!("/ojs/v1/dead-letter/{id}")).expect(200);
    let discarded = only(&server, "job.discarded");
    assert_eq!((&discarded["subject"], &discarded["data"]["job_id"]), (&json!(id), &json!(id)));
}
