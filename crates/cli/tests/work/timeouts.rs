//! Commands that take too long, and commands that may.

use serde_json::json;

use crate::bench::Bench;

#[test]
fn a_timeout_ends_everything_that_the_command_started() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let script = "
        sleep 60 & echo $! > child
        (trap '' TERM; sleep 60 & echo $! > stubborn; wait; sleep 60) &
        echo $$ > leader; echo in vain >&2; wait";
    let work = bench.work(&["--timeout", "1s", "--kill-after", "500ms"], script);
    let job = bench.server.wait_for_state(&id, "retryable");
    assert_eq!(job["error"]["type"], "timeout", "{job}");
    assert_eq!(job["error"]["details"]["stderr"], "in vain\n");
    for process in ["leader", "child", "stubborn"] {
        bench.wait_for_end_of(process);
    }
    drop(work);
}

#[test]
fn sigterm_comes_first_and_sigkill_only_if_it_must() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let script = "trap 'echo tidied > trace; exit 1' TERM; echo > begun; sleep 60 & wait";
    let work = bench.work(&["--timeout", "1s", "--kill-after", "20s"], script);
    bench.server.wait_for_state(&id, "retryable");
    assert_eq!(bench.text("trace"), "tidied\n");
    drop(work);
}

#[test]
fn the_timeout_of_a_job_counts_too() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": [], "timeout_ms": 2_000}));
    let work = bench.work(&[], "echo $$ > leader; echo in vain >&2; exec sleep 60");
    let job = bench.server.wait_for_state(&id, "retryable");
    assert_eq!(job["error"]["type"], "timeout", "{job}");
    // The worker was faster than the server, which knows nothing of this.
    assert_eq!(job["error"]["details"]["stderr"], "in vain\n", "{job}");
    bench.wait_for_end_of("leader");
    drop(work);
}

#[test]
fn heartbeats_keep_a_job_for_longer_than_its_visibility_timeout() {
    let bench = Bench::new();
    let id =
        bench.server.enqueue(json!({"type": "a.b", "args": [], "visibility_timeout_ms": 1_000}));
    let ended = bench.once(&["--json"], "echo run >> runs; sleep 4; echo 1");
    let job = bench.server.job(&id);
    assert_eq!((&job["state"], &job["attempt"]), (&json!("completed"), &json!(1)), "{job}");
    assert_eq!(bench.text("runs"), "run\n");
    assert_eq!(ended.lines()[0]["reported"], "taken");
}
