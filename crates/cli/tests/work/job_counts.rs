//! How many at once, and how many in all.

use serde_json::json;

use crate::worker_setup::{Bench, wait_until};

#[test]
fn as_many_run_at_once_as_were_asked_for_and_never_more() {
    let bench = Bench::new();
    let ids: Vec<String> =
        (0..8).map(|n| bench.server.enqueue(json!({"type": "a.b", "args": [n]}))).collect();
    // Each waits until three have begun, so that it ends only if three run at once; and each notes
    // how many others there are.
    let script = "
        mkdir -p running; : > running/$$
        until [ -e three ] || { [ $(ls running | wc -l) -ge 3 ] && : > three; }; do sleep 0.02; done
        sleep 0.1; ls running | wc -l >> seen; rm running/$$";
    bench.once(&["--concurrency", "3"], script);
    for id in ids {
        assert_eq!(bench.server.job(&id)["state"], "completed");
    }
    let seen: Vec<u32> = bench.text("seen").lines().map(|n| n.trim().parse().unwrap()).collect();
    assert_eq!(seen.len(), 8);
    assert_eq!(seen.iter().max(), Some(&3), "{seen:?}");
}

#[test]
fn one_job_at_a_time_by_default() {
    let bench = Bench::new();
    for n in 0..3 {
        bench.server.enqueue(json!({"type": "a.b", "args": [n]}));
    }
    bench.once(&[], "mkdir alone && sleep 0.1 && rmdir alone && echo ok >> oks");
    assert_eq!(bench.text("oks"), "ok\nok\nok\n");
}

#[test]
fn once_ends_when_nothing_is_waiting_also_what_commands_have_enqueued() {
    let bench = Bench::new();
    bench.once(&[], "echo never > never");
    assert_eq!(bench.text("never"), "");
    bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let script = r#"
        [ $ROTA_JOB_TYPE = c.d ] && { echo > child; exit 0; }
        curl -sf $ROTA_URL/ojs/v1/jobs -H 'Content-Type: application/json' -d '{"type": "c.d", "args": []}'"#;
    bench.once(&["--concurrency", "2"], script);
    assert_eq!(bench.text("child"), "\n");
}

#[test]
fn a_worker_can_be_given_a_number_of_jobs() {
    let bench = Bench::new();
    for n in 0..4 {
        bench.server.enqueue(json!({"type": "a.b", "args": [n]}));
    }
    let ended = bench.work(&["--max-jobs", "2", "--concurrency", "8"], "echo >> runs").wait();
    assert_eq!((ended.code, bench.text("runs").len()), (Some(0), 2), "{ended:?}");
    let left = bench.server.fetch("default", 9);
    assert_eq!(left.len(), 2);
}

#[test]
fn the_first_queue_is_served_first() {
    let bench = Bench::new();
    for queue in ["b", "c", "a"] {
        bench.server.enqueue(json!({"type": "a.b", "args": [], "queue": queue}));
    }
    bench.once(&["--queue", "a", "--queue", "b"], "echo $ROTA_QUEUE >> order");
    assert_eq!(bench.text("order"), "a\nb\n");
}

#[test]
fn a_job_that_comes_later_is_taken_without_delay() {
    let bench = Bench::new();
    let work = bench.work(&["--worker-id", "w1"], "echo >> runs");
    work.wait_for_words("ready");
    for count in 1..=3 {
        bench.server.enqueue(json!({"type": "a.b", "args": []}));
        wait_until("the job is not taken", || bench.text("runs").len() == count);
    }
}
