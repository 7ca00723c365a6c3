//! Jobs that start later.

use serde_json::{Value, json};

use crate::shorthand::{eventually, fresh_queue, job_with, millis, now_ms, take};
use crate::states::events;
use crate::support::Server;

fn counts(server: &Server, queue: &str) -> Value {
    server.get(&format!("/ojs/v1/queues/{queue}")).expect(200)["stats"].clone()
}

#[test]
fn a_delayed_job_starts_at_its_time() {
    let server = Server::start();
    let queue = fresh_queue();
    for field in ["scheduled_at", "delay_until"] {
        let late = || {
            let id = server.enqueue(job_with(&queue, json!({field: "+PT0.3S"})));
            let due = millis(&server.job(&id)["scheduled_at"]);
            let job = take(&server, &queue);
            assert_eq!(job["id"], id);
            let started = millis(&job["started_at"]);
            assert!(started >= due, "{} ms early", due - started);
            started - due
        };
        // A machine may be held up now and then, but not each time.
        assert!((0..10).any(|_| late() < 1000), "always more than a second late");
    }
}

#[test]
fn a_time_in_the_past_means_now() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"scheduled_at": "2001-01-01T00:00:00Z"})));
    assert_eq!(server.job(&id)["state"], "available");
    assert_eq!(server.fetch("q", 1)[0]["id"], id);
}

#[test]
fn delayed_jobs_come_in_the_order_of_their_times() {
    let server = Server::start();
    let jobs =
        ["+PT0.4S", "+PT0.2S", "+PT0.3S"].map(|at| job_with("q", json!({"scheduled_at": at})));
    let body = server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    let due = [1, 2, 0].map(|n| body["jobs"][n]["id"].clone());
    let enqueued = eventually("all are enqueued", || {
        Some(events(&server, "job.enqueued")).filter(|events| events.len() == 3)
    });
    assert_eq!(enqueued.iter().map(|event| event["subject"].clone()).collect::<Vec<_>>(), due);
    (0..3).for_each(|_| drop(take(&server, "q")));
}

#[test]
fn a_delayed_job_survives_a_restart() {
    let mut server = Server::start();
    let id = server.enqueue(job_with("q", json!({"scheduled_at": "+PT1S"})));
    let due = millis(&server.job(&id)["scheduled_at"]);
    server.kill();
    server.restart();
    let job = take(&server, "q");
    assert_eq!(job["id"], id);
    assert!(millis(&job["started_at"]) >= due);
}

#[test]
fn a_job_that_fell_due_while_the_server_was_down_starts_at_once() {
    let mut server = Server::start();
    let id = server.enqueue(job_with("q", json!({"scheduled_at": "+PT0.2S"})));
    let due = millis(&server.job(&id)["scheduled_at"]);
    server.kill();
    while now_ms() <= due {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    server.restart();
    assert_eq!(take(&server, "q")["id"], id);
}

#[test]
fn thousands_of_jobs_may_be_due_at_the_same_instant() {
    let server = Server::start();
    let probe = server.enqueue(job_with("q", json!({"scheduled_at": "+PT2S"})));
    let at = server.job(&probe)["scheduled_at"].clone();
    for _ in 0..2 {
        let jobs = vec![job_with("q", json!({"scheduled_at": at})); 1000];
        server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    }
    eventually("all are available", || (counts(&server, "q")["available"] == 2001).then_some(()));
    assert_eq!(counts(&server, "q")["scheduled"], 0);
    let mut got = 0;
    while got < 2001 {
        let jobs = server.fetch("q", 1000);
        assert!(!jobs.is_empty(), "only {got} jobs came");
        assert!(jobs.iter().all(|job| millis(&job["started_at"]) >= millis(&at)));
        got += jobs.len();
    }
    assert!(server.fetch("q", 10).is_empty());
}

#[test]
fn a_start_too_far_ahead_is_refused() {
    let server = Server::start_with(&["--jobs-max-schedule", "1d"]);
    let job = job_with("q", json!({"scheduled_at": "+P2D"}));
    server.post("/ojs/v1/jobs", job).expect_error(422, "invalid_request");
    server.enqueue(job_with("q", json!({"scheduled_at": "+PT23H"})));
}

#[test]
fn a_pending_job_cannot_have_a_start_in_the_future() {
    let server = Server::start();
    let job = job_with("q", json!({"pending": true, "scheduled_at": "+PT1H"}));
    server.post("/ojs/v1/jobs", job).expect_error(422, "invalid_request");
}
