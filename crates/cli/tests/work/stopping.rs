//! Signals and operators that end a worker.

use std::time::Duration;

use serde_json::{Value, json};

use crate::worker_setup::Bench;

fn job() -> Value {
    json!({"type": "a.b", "args": []})
}

/// Runs until the test says so.
const UNTIL_TOLD: &str = "echo run >> runs; echo $$ > leader; until [ -e go ]; do sleep 0.02; done";

#[test]
fn sigterm_lets_the_running_job_finish_and_takes_no_other() {
    for signal in ["TERM", "INT"] {
        let bench = Bench::new();
        let (first, second) = (bench.server.enqueue(job()), bench.server.enqueue(job()));
        let work = bench.work(&[], UNTIL_TOLD);
        bench.wait_for_text("leader");
        work.signal(signal);
        work.wait_for_words("ending with 1 command left");
        std::fs::write(bench.path("go"), "").unwrap();
        let ended = work.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(bench.server.job(&first)["state"], "completed");
        let other = bench.server.job(&second);
        assert_eq!((&other["state"], &other["attempt"]), (&json!("available"), &json!(0)));
        assert_eq!(bench.text("runs"), "run\n");
        let workers = bench.server.get("/ojs/v1/admin/workers").expect(200);
        assert_eq!(workers["items"], json!([]), "it has said goodbye");
    }
}

/// That it does not wait for its fetch is proven with a server that never answers, in the client's tests.
#[test]
fn an_idle_workers_fetch_ends_with_it() {
    let bench = Bench::new();
    let work = bench.work(&["--worker-id", "w1"], "true");
    work.wait_for_words("ready     w1");
    bench.wait_for_fetches(1);
    work.signal("TERM");
    assert_eq!(work.wait().code, Some(0));
    bench.wait_for_fetches(0);
    let id = bench.server.enqueue(job());
    assert_eq!(bench.server.job(&id)["attempt"], 0, "its fetch has ended with it");
}

#[test]
fn a_second_sigterm_stops_the_command_and_hands_the_job_back() {
    let bench = Bench::new();
    // It has no other attempt: a failure would end it.
    let id = bench.server.enqueue(json!({"type": "a.b", "args": [], "retry": {"max_attempts": 1}}));
    let work = bench.work(&[], UNTIL_TOLD);
    bench.wait_for_text("leader");
    work.signal("TERM");
    work.wait_for_words("ending with");
    work.signal("TERM");
    let ended = work.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("1 job stopped and handed back"), "{}", ended.stderr);
    bench.wait_for_end_of("leader");
    let job = bench.server.job(&id);
    assert_eq!(job["state"], "available", "{job}");
    assert_eq!(job["errors"][0]["type"], "ShutdownError");
}

#[test]
fn when_the_time_to_finish_is_over_the_job_is_handed_back() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    let flags = ["--drain-timeout", "300ms", "--kill-after", "300ms"];
    let script = "trap '' TERM; echo $$ > leader; while :; do sleep 0.02; done";
    let work = bench.work(&flags, script);
    bench.wait_for_text("leader");
    work.signal("TERM");
    assert_eq!(work.wait().code, Some(1));
    bench.wait_for_end_of("leader");
    assert_eq!(bench.server.job(&id)["state"], "available");
}

#[test]
fn an_operator_can_end_a_worker() {
    let bench = Bench::with(&["--workers-heartbeat-interval", "100ms"]);
    let id = bench.server.enqueue(job());
    let work = bench.work(&["--worker-id", "w1"], UNTIL_TOLD);
    bench.wait_for_text("leader");
    bench.server.post("/ojs/v1/admin/workers/w1/terminate", json!({})).expect(200);
    work.wait_for_words("ending with 1 command left");
    std::fs::write(bench.path("go"), "").unwrap();
    assert_eq!(work.wait().code, Some(0));
    assert_eq!(bench.server.job(&id)["state"], "completed");
}

#[test]
fn an_operator_can_quiet_and_resume_a_worker() {
    let bench = Bench::with(&["--workers-heartbeat-interval", "100ms"]);
    let work = bench.work(&["--worker-id", "w1"], "true");
    work.wait_for_words("ready");
    bench.server.post("/ojs/v1/admin/workers/w1/quiet", json!({})).expect(200);
    work.wait_for_words("fetch no more for now");
    let id = bench.server.enqueue(job());
    bench.server.post("/ojs/v1/admin/workers/w1/resume", json!({})).expect(200);
    work.wait_for_words("fetch again");
    bench.server.wait_for_state(&id, "completed");
}

#[test]
fn sigtstp_pauses_and_sigcont_resumes() {
    let bench = Bench::new();
    let first = bench.server.enqueue(job());
    let work = bench.work(&[], UNTIL_TOLD);
    bench.wait_for_text("leader");
    work.signal("TSTP");
    work.wait_for_words("until SIGCONT");
    std::fs::write(bench.path("go"), "").unwrap();
    bench.server.wait_for_state(&first, "completed");
    let second = bench.server.enqueue(job());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(bench.server.job(&second)["state"], "available");
    work.signal("CONT");
    bench.server.wait_for_state(&second, "completed");
}

#[test]
fn a_paused_worker_does_not_wait_for_jobs_any_longer() {
    let bench = Bench::new();
    let work = bench.work(&[], "true");
    work.wait_for_words("ready");
    bench.wait_for_fetches(1);
    work.signal("TSTP");
    work.wait_for_words("until SIGCONT");
    bench.wait_for_fetches(0);
    let id = bench.server.enqueue(job());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(bench.server.job(&id)["state"], "available");
    work.signal("CONT");
    bench.server.wait_for_state(&id, "completed");
}
