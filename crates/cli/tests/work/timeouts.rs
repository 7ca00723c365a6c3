//! Commands that take too long, and commands that may.
//!
//! A machine may be held up for as long as a short timeout: then nothing is proved, and the same is
//! tried with a longer one.

use serde_json::{Value, json};

use crate::worker_setup::Bench;

const SECONDS: [u64; 3] = [1, 5, 25];

/// Not tried again while the test looks at it.
fn job(more: &[(&str, Value)]) -> Value {
    let mut job = json!({"type": "a.b", "args": [], "retry": {"initial_interval": "PT1H"}});
    for (name, value) in more {
        job[*name] = value.clone();
    }
    job
}

#[test]
fn a_timeout_ends_everything_that_the_command_started() {
    let script = "
        sleep 600 & echo $! > child
        (trap '' TERM; sleep 600 & echo $! > stubborn; wait; sleep 600) &
        echo $$ > leader; echo in vain >&2; wait";
    const PROCESSES: [&str; 3] = ["leader", "child", "stubborn"];
    for seconds in SECONDS {
        let bench = Bench::new();
        let id = bench.server.enqueue(job(&[]));
        let flags = ["--timeout", &format!("{seconds}s"), "--kill-after", "500ms"];
        let _work = bench.work(&flags, script);
        let job = bench.server.wait_for_state(&id, "retryable");
        assert_eq!(job["error"]["type"], "timeout", "{job}");
        let begun = PROCESSES.iter().all(|name| bench.text(name).ends_with('\n'));
        if begun && job["error"]["details"]["stderr"] == "in vain\n" {
            PROCESSES.iter().for_each(|process| bench.wait_for_end_of(process));
            return;
        }
    }
    panic!("what the command did before is not known");
}

#[test]
fn sigterm_comes_first_and_sigkill_only_if_it_must() {
    let script = "trap 'echo tidied > trace; exit 1' TERM; echo > begun; sleep 600 & wait";
    for seconds in SECONDS {
        let bench = Bench::new();
        let id = bench.server.enqueue(job(&[]));
        let flags = ["--timeout", &format!("{seconds}s"), "--kill-after", "1m"];
        let _work = bench.work(&flags, script);
        bench.server.wait_for_state(&id, "retryable");
        if bench.text("begun") == "\n" {
            assert_eq!(bench.text("trace"), "tidied\n");
            return;
        }
    }
    panic!("the command never began");
}

#[test]
fn the_timeout_of_a_job_counts_too() {
    for seconds in SECONDS {
        let bench = Bench::new();
        let id = bench.server.enqueue(job(&[("timeout_ms", json!(seconds * 2_000))]));
        let _work = bench.work(&[], "echo $$ > leader; echo in vain >&2; exec sleep 600");
        let job = bench.server.wait_for_state(&id, "retryable");
        assert_eq!(job["error"]["type"], "timeout", "{job}");
        // The worker was faster than the server, which knows nothing of this.
        if job["error"]["details"]["stderr"] == "in vain\n" {
            bench.wait_for_end_of("leader");
            return;
        }
    }
    panic!("the worker is slower than the server");
}

#[test]
fn heartbeats_keep_a_job_for_longer_than_its_visibility_timeout() {
    for seconds in [1, 4, 15] {
        let bench = Bench::new();
        let id = bench.server.enqueue(job(&[("visibility_timeout_ms", json!(seconds * 1_000))]));
        let script = format!("echo run >> runs; sleep {}; echo 1", seconds * 3);
        let ended = bench.once(&["--json"], &script);
        if bench.text("runs") == "run\n" {
            let job = bench.server.job(&id);
            assert_eq!((&job["state"], &job["attempt"]), (&json!("completed"), &json!(1)), "{job}");
            assert_eq!(ended.lines()[0]["reported"], "taken");
            return;
        }
    }
    panic!("no heartbeat came in time");
}
