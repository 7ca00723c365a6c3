//! A wrong answer ends a measurement; it is never a fast one.

use std::sync::Mutex;

use serde_json::json;

use crate::bench::is_too_short;
use crate::fake::{Said, conversing, nobody};
use crate::run::{Ran, rota_at};

const STATS: &str = "/ojs/v1/queues/rota-bench/stats";
const ENQUEUE: &str = "/ojs/v1/jobs";
const BATCH: &str = "/ojs/v1/jobs/batch";
const FETCH: &str = "/ojs/v1/workers/fetch";
const ACK: &str = "/ojs/v1/workers/ack";

/// As much of a job server as a measurement can see.
#[derive(Default)]
struct Jobs {
    available: usize,
    active: usize,
    completed: usize,
}

impl Jobs {
    fn say(&mut self, path: &str, body: &str) -> Said {
        let ok = |status, value: serde_json::Value| Said::Answer(status, value.to_string());
        match path {
            STATS => {
                let Self { available, active, completed } = self;
                let stats =
                    json!({"available": available, "active": active, "completed": completed});
                ok(200, json!({"stats": stats}))
            }
            ENQUEUE => {
                self.available += 1;
                ok(201, json!({"job": {"state": "available"}}))
            }
            BATCH => {
                let count = body.matches("bench.job").count();
                self.available += count;
                ok(201, json!({"count": count}))
            }
            FETCH => {
                let asked: serde_json::Value = serde_json::from_str(body).unwrap();
                let count = self.available.min(asked["count"].as_u64().unwrap() as usize);
                self.available -= count;
                self.active += count;
                Said::Answer(200, handed_out(count))
            }
            ACK => {
                let count = body.matches("job_id").count();
                self.active -= count;
                self.completed += count;
                ok(200, json!({"acknowledged": true, "failed": 0, "succeeded": count}))
            }
            other => panic!("nobody asks for {other}"),
        }
    }
}

fn handed_out(count: usize) -> String {
    let job = r#"{"specversion":"1.0","id":"01234567-89ab-7cde-8f01-23456789abcd"}"#;
    format!(r#"{{"jobs":[{}]}}"#, vec![job; count].join(","))
}

fn bench(url: &str) -> Ran {
    let measure = |duration| {
        let flags = ["--connections", "2", "--duration", duration, "--batch", "3"];
        rota_at(url, &[&["bench", "rates", "--server", url], &flags[..]].concat())
    };
    // A machine that is held up meanwhile has nothing to show, and is given longer.
    ["200ms", "3s", "15s"].into_iter().map(measure).find(|ran| !is_too_short(ran)).unwrap()
}

/// Measures a server that is as it should be, except that it says this, if anything, instead.
fn with(fault: impl Fn(&str, &str) -> Option<Said> + Send + Sync + 'static) -> Ran {
    let jobs = Mutex::new(Jobs::default());
    bench(&conversing(move |path, body| {
        fault(path, body).unwrap_or_else(|| jobs.lock().unwrap().say(path, body))
    }))
}

/// The same with one answer for all requests to a path.
fn instead(wrong: &'static str, status: u16, body: &'static str) -> Ran {
    with(move |path, _| (path == wrong).then(|| Said::Answer(status, body.into())))
}

#[track_caller]
fn assert_wrong(ran: Ran, words: &str) {
    let message = ran.failed(1);
    let said =
        format!("rota: the measurement ended: wrong answer, so nothing was measured: {words}");
    assert!(message.starts_with(&said), "{message}");
}

#[test]
fn a_server_that_is_as_it_should_be_is_measured() {
    assert!(with(|_, _| None).printed().contains("full cycles, 3 in a request"));
}

#[test]
fn a_server_that_refuses() {
    let busy = r#"{"error":{"code":"overloaded"}}"#;
    for path in [ENQUEUE, BATCH] {
        let words = format!("POST {path}: status 503 instead of 201: {busy}");
        assert_wrong(instead(path, 503, busy), &words);
    }
    for path in [FETCH, ACK] {
        let words = format!("POST {path}: status 503 instead of 200: {busy}");
        assert_wrong(instead(path, 503, busy), &words);
    }
    assert_wrong(instead(STATS, 503, busy), &format!("GET {STATS}: status 503 instead of 200"));
}

#[test]
fn a_server_that_says_something_else() {
    for (path, status) in [(ENQUEUE, 201), (BATCH, 201), (FETCH, 200), (ACK, 200)] {
        let words = format!("POST {path}: no ");
        assert_wrong(instead(path, status, r#"{"welcome":"here"}"#), &words);
    }
    assert_wrong(instead(STATS, 200, "<html>"), &format!("GET {STATS}: this is no JSON"));
    assert_wrong(instead(STATS, 200, "{}"), &format!("GET {STATS}: no count of available"));
}

#[test]
fn a_job_that_does_not_wait() {
    let scheduled = r#"{"job":{"state":"scheduled"}}"#;
    let words = format!(r#"POST {ENQUEUE}: no "state":"available" in {scheduled}"#);
    assert_wrong(instead(ENQUEUE, 201, scheduled), &words);
}

#[test]
fn a_batch_of_which_some_are_missing() {
    assert_wrong(instead(BATCH, 201, r#"{"count":2}"#), &format!("POST {BATCH}: no \"count\":3"));
}

#[test]
fn an_ack_that_failed() {
    let ran = with(|path, body| {
        let many = path == ACK && body.contains("jobs");
        many.then(|| Said::Answer(200, r#"{"succeeded":3,"failed":1}"#.into()))
    });
    assert_wrong(ran, &format!("POST {ACK}: no \"failed\":0 in "));
}

#[test]
fn more_jobs_than_were_asked_for() {
    let ran = with(|path, _| (path == FETCH).then(|| Said::Answer(200, handed_out(4))));
    assert_wrong(ran, &format!("POST {FETCH}: 4 jobs instead of 3"));
}

#[test]
fn jobs_that_are_not_understood_are_no_empty_queue() {
    let words = format!(r#"POST {FETCH}: no {{"jobs":[]}} in "#);
    assert_wrong(instead(FETCH, 200, r#"{"jobs":[{"id":"1"}]}"#), &words);
}

#[test]
fn a_server_that_hangs_up() {
    let ran = with(|path, _| (path == ENQUEUE).then_some(Said::Nothing));
    assert_wrong(ran, &format!("POST {ENQUEUE}: the "));
    let ran = with(|path, _| (path == STATS).then_some(Said::Nothing));
    assert_wrong(ran, &format!("GET {STATS}: the "));
}

#[test]
fn a_server_that_does_not_speak_http() {
    let words = "SSH-2.0-OpenSSH_9.9\r\n";
    let ran = with(move |path, _| (path == ENQUEUE).then_some(Said::Bytes(words)));
    assert_wrong(ran, &format!("POST {ENQUEUE}: this is not HTTP"));
    let ran = with(move |path, _| (path == STATS).then_some(Said::Bytes(words)));
    assert_wrong(ran, &format!("GET {STATS}: this is not HTTP"));
}

#[test]
fn a_server_that_answers_twice() {
    let twice = "HTTP/1.1 201 So\r\nContent-Length: 0\r\n\r\nHTTP/1.1 201 So\r\n";
    let ran = with(move |path, _| (path == ENQUEUE).then_some(Said::Bytes(twice)));
    assert_wrong(ran, &format!("POST {ENQUEUE}: more was answered than was asked"));
}

#[test]
fn a_server_that_loses_jobs() {
    let jobs = Mutex::new(Jobs::default());
    let ran = bench(&conversing(move |path, body| {
        let mut jobs = jobs.lock().unwrap();
        if path == STATS {
            jobs.available = jobs.available.saturating_sub(1);
        }
        jobs.say(path, body)
    }));
    let message = ran.failed(1);
    assert!(message.contains("the server counts "), "{message}");
    assert!(message.contains(" completed; it was seen to have "), "{message}");
}

#[test]
fn a_server_that_hands_out_jobs_that_nobody_sent() {
    let ran = with(|path, _| match path {
        FETCH => Some(Said::Answer(200, handed_out(1))),
        ACK => Some(Said::Answer(200, r#"{"acknowledged":true}"#.into())),
        _ => None,
    });
    assert_wrong(ran, "the server counts ");
}

#[test]
fn nobody_answers() {
    let url = nobody();
    let message = bench(&url).failed(3);
    assert!(message.starts_with(&format!("rota: no server answers at {url}: ")), "{message}");
    assert!(message.contains("leave --server out"), "{message}");
}

#[test]
fn errors_are_json_where_results_are() {
    let url = conversing(|_, _| Said::Answer(503, "{}".into()));
    let error = rota_at(&url, &["bench", "--server", &url, "--json"]).json_error(1);
    assert!(error["message"].as_str().unwrap().contains("status 503"), "{error}");
}

#[test]
fn bad_flags() {
    let bad: &[&[&str]] = &[
        &["nothing"],
        &["--duration", "0s"],
        &["--duration", "2h"],
        &["--connections", "0"],
        &["--batch", "1"],
        &["--jobs", "1"],
        &["--payload", "100001"],
        &["--durability", "none"],
        &["--server", "127.0.0.1:8080"],
        &["--server", "http://127.0.0.1:8080/path"],
        &["latency", "--server", "http://127.0.0.1:8080"],
    ];
    for flags in bad {
        let message = rota_at("", &[&["bench"], *flags].concat()).failed(2);
        assert!(!message.is_empty(), "{flags:?}");
    }
}

#[test]
fn a_directory_that_is_not_there() {
    let message = rota_at("", &["bench", "store", "--dir", "/nowhere/at/all"]).failed(1);
    assert!(message.contains("Check --dir"), "{message}");
}
