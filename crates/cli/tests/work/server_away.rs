//! Servers that are away for a while.

use serde_json::json;

use crate::worker_setup::Bench;

#[test]
fn a_job_that_ran_while_the_server_was_killed_and_started_again_is_acknowledged() {
    let mut bench = Bench::apart();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let script = "echo run >> runs; until [ -e go ]; do sleep 0.02; done; echo '\"late\"'";
    let work = bench.work(&["--max-jobs", "1", "--json"], script);
    bench.wait_for_text("runs");
    bench.server.kill();
    // The command ends while nobody is there to be told.
    std::fs::write(bench.path("go"), "").unwrap();
    work.wait_for_words("waiting for the server");
    bench.server.restart_on_its_port();
    let ended = work.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let job = bench.server.job(&id);
    assert_eq!((&job["state"], &job["attempt"]), (&json!("completed"), &json!(1)), "{job}");
    assert_eq!(job["result"], "late");
    assert_eq!(bench.text("runs"), "run\n");
    assert_eq!(ended.lines()[0]["reported"], "taken");
}

#[test]
fn a_worker_waits_for_its_server_and_says_so_once() {
    let mut bench = Bench::apart();
    let work = bench.work(&["--max-jobs", "1"], "true");
    work.wait_for_words("ready");
    bench.server.kill();
    work.wait_for_words("waiting for the server");
    std::thread::sleep(std::time::Duration::from_secs(1));
    bench.server.restart_on_its_port();
    work.wait_for_words("the server is back");
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let ended = work.wait();
    assert_eq!(bench.server.job(&id)["state"], "completed");
    assert_eq!(ended.stderr.matches("waiting for the server").count(), 1, "{}", ended.stderr);
}

#[test]
fn a_worker_without_its_server_can_be_ended() {
    let mut bench = Bench::apart();
    bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let work = bench.work(&["--kill-after", "100ms"], "echo $$ > leader; exec sleep 600");
    bench.wait_for_text("leader");
    bench.server.kill();
    work.signal("TERM");
    work.wait_for_words("ending with");
    work.signal("TERM");
    let ended = work.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("of 1 job the server could not be told"), "{}", ended.stderr);
    bench.wait_for_end_of("leader");
}
