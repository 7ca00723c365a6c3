//! Wait, reschedule and drop.

use serde_json::{Value, json};

use crate::api::{enqueue_many, fetch, fresh, limited, shared, state};
use crate::shorthand::{ack, eventually, fresh_queue, ids, job_on, millis, now_ms, take};
use crate::watch::await_event;

fn one_per_hour(key: &str, on_limit: &str) -> Value {
    json!({"key": key, "rate": {"limit": 1, "period": "PT1H"}, "on_limit": on_limit})
}

#[test]
fn waiting_is_the_default() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let sent = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    server.fetch(&queue, 9);
    assert_eq!(state(&server, &sent[1]), "available");
    ack(&server, &sent[0]);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[1..]);
}

#[test]
fn a_rescheduled_job_gets_the_time_when_the_limit_opens() {
    let server = shared();
    let one_in = |period: &str| {
        let (key, queue) = (fresh("api"), fresh_queue());
        let limit =
            json!({"key": key, "rate": {"limit": 1, "period": period}, "on_limit": "reschedule"});
        let sent = enqueue_many(&server, &limited(&queue, limit), 2);
        let first = server.fetch(&queue, 9);
        assert_eq!(ids(&first), sent[..1]);
        (queue, sent, millis(&first[0]["started_at"]))
    };
    let (queue, sent, started) = one_in("PT1H");
    assert!(server.fetch(&queue, 9).is_empty());
    let job = server.wait_for_state(&sent[1], "scheduled");
    let (opens, at) = (started + 3_600_000, millis(&job["scheduled_at"]));
    assert!((opens - 5..=opens + 1000).contains(&at), "{at}, not {opens}");
    let (queue, sent, started) = one_in("PT0.5S");
    let again = take(&server, &queue);
    assert_eq!((&again["id"], &again["attempt"]), (&json!(sent[1]), &json!(1)));
    assert!(millis(&again["started_at"]) >= started + 500 - 1);
}

#[test]
fn rescheduled_jobs_fill_one_window_after_the_other_and_their_release_emits_events() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit =
        json!({"key": key, "rate": {"limit": 2, "period": "PT2S"}, "on_limit": "reschedule"});
    let sent = enqueue_many(&server, &limited(&queue, limit), 6);
    let first = server.fetch(&queue, 9);
    assert_eq!(ids(&first), sent[..2]);
    let opens = millis(&first[0]["started_at"]) + 2_000;
    for (id, at) in sent[2..].iter().zip([opens, opens, opens + 2_000, opens + 2_000]) {
        let event = await_event(&server, "job.scheduled", "job_id", id);
        assert_eq!(millis(&event["scheduled_at"]), at, "{event}");
    }
    for id in &sent[2..4] {
        assert_eq!(take(&server, &queue)["id"], json!(id));
        let event = await_event(&server, "rate_limit.released", "job_id", id);
        assert_eq!((&event["key"], &event["strategy"]), (&json!(key), &json!("rate")));
    }
}

#[test]
fn a_job_held_by_concurrency_is_rescheduled_with_a_delay_that_grows() {
    let server = crate::api::start(&[("ROTA_LIMITS_RESCHEDULE_DELAY", "200ms")]);
    let limit = json!({"key": "api", "concurrency": 1, "on_limit": "reschedule"});
    let sent = enqueue_many(&server, &limited("q", limit), 2);
    assert_eq!(ids(&server.fetch("q", 1)), sent[..1]);
    let mut first = None;
    eventually("the delay grows", || {
        server.wait_for_state(&sent[1], "available");
        let before = now_ms();
        assert!(server.fetch("q", 1).is_empty());
        let (job, after) = (server.job(&sent[1]), now_ms());
        // On a machine that is held up it may have come back already.
        if job["state"] != "scheduled" {
            return None;
        }
        // It was sent away between these two, so its delay is between these two.
        let at = millis(&job["scheduled_at"]);
        let (least, most) = (at - after, at - before);
        assert!(most >= 195, "{most}");
        (least > *first.get_or_insert(most)).then_some(())
    });
    ack(&server, &sent[0]);
    let job = take(&server, "q");
    assert_eq!((&job["id"], &job["attempt"]), (&json!(sent[1]), &json!(1)));
}

#[test]
fn a_dropped_job_is_discarded_with_an_event() {
    let server = shared();
    let (key, queue) = (fresh("push-notifications"), fresh_queue());
    let sent = enqueue_many(&server, &limited(&queue, one_per_hour(&key, "drop")), 3);
    // At the door they are all welcome.
    assert!(sent.iter().all(|id| state(&server, id) == "available"));
    let free = server.enqueue(job_on(&queue));
    assert_eq!(ids(&server.fetch(&queue, 9)), [sent[0].clone(), free]);
    for id in &sent[1..] {
        server.wait_for_state(id, "discarded");
        let event = await_event(&server, "rate_limit.dropped", "job_id", id);
        assert_eq!((&event["key"], &event["job_type"]), (&json!(key), &json!("test.job")));
    }
}

#[test]
fn a_job_that_may_run_is_neither_dropped_nor_rescheduled() {
    let server = shared();
    for action in ["drop", "reschedule"] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let limit = json!({"key": key, "rate": {"limit": 3, "period": "PT1H"}, "on_limit": action});
        let sent = enqueue_many(&server, &limited(&queue, limit), 3);
        assert_eq!(ids(&server.fetch(&queue, 9)), sent, "{action}");
    }
}

#[test]
fn each_job_of_a_key_follows_its_own_action() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    server.enqueue(limited(&queue, one_per_hour(&key, "wait")));
    assert_eq!(server.fetch(&queue, 1).len(), 1);
    let drop = server.enqueue(limited(&queue, one_per_hour(&key, "drop")));
    let wait = server.enqueue(limited(&queue, one_per_hour(&key, "wait")));
    let later = server.enqueue(limited(&queue, one_per_hour(&key, "reschedule")));
    assert!(fetch(&server, json!({"queues": [queue], "count": 9})).is_empty());
    server.wait_for_state(&drop, "discarded");
    server.wait_for_state(&later, "scheduled");
    assert_eq!(state(&server, &wait), "available");
}
