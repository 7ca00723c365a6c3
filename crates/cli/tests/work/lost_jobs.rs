//! Jobs that are taken away while their commands run.

use serde_json::json;

use crate::worker_setup::Bench;

const BEATS: [&str; 2] = ["--workers-heartbeat-interval", "100ms"];

#[test]
fn the_command_of_a_cancelled_job_is_stopped() {
    let bench = Bench::with(&BEATS);
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let work = bench.work(&["--max-jobs", "1"], "echo $$ > leader; exec sleep 600");
    bench.wait_for_text("leader");
    bench.server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    let ended = work.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("cancelled a.b"), "{}", ended.stderr);
    bench.wait_for_end_of("leader");
    assert_eq!(bench.server.job(&id)["state"], "cancelled");
}

#[test]
fn the_command_of_a_lost_job_is_stopped_and_the_job_can_come_again() {
    let bench = Bench::with(&BEATS);
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let script = "[ $ROTA_ATTEMPT = 2 ] && exit 0; echo $$ > leader; exec sleep 600";
    let work = bench.work(&["--concurrency", "2"], script);
    bench.wait_for_text("leader");
    let back = json!({"job_id": id, "error": {"message": "taken away"}, "requeue": true});
    bench.server.post("/ojs/v1/workers/nack", back).expect(200);
    let job = bench.server.wait_for_state(&id, "completed");
    assert_eq!(job["attempt"], 2);
    work.wait_for_words("lost      a.b");
    bench.wait_for_end_of("leader");
}
