//! Pipes have room for 64 KiB; commands and jobs do not care.

use serde_json::json;

use crate::worker_setup::Bench;

#[test]
fn long_output_on_both_pipes_is_read_and_kept_in_part() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": ["z".repeat(500_000)]}));
    // It reads its job only after it has printed more than a pipe holds.
    let script = "
        echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last
        head -c 3000000 /dev/zero | tr '\\0' y >&2; cat > stdin";
    bench.once(&["--output-limit", "4KiB"], script);
    let result = bench.server.job(&id)["result"].clone();
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("first\nxxx") && output.ends_with("xxx\nlast\n"), "{output}");
    assert!(output.len() < 4_096 + 100);
    assert_eq!(result["cut_bytes"], 3_000_012 - 4_096);
    assert!(bench.text("stdin").contains(&id));
}

#[test]
fn of_a_long_failure_the_end_is_kept() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    // Bytes that are no text, and such as need six in JSON.
    let script = "
        head -c 1000000 /dev/zero
        head -c 1000000 /dev/zero | tr '\\0' '\\1' >&2
        head -c 1000 /dev/zero | tr '\\0' '\\377' >&2
        echo >&2; echo the end >&2; exit 1";
    bench.once(&[], script);
    let error = &bench.server.job(&id)["errors"][0];
    assert_eq!(error["message"], "the end");
    assert!(error["details"]["stderr"].as_str().unwrap().ends_with("\nthe end\n"));
    assert!(error["details"]["stdout"].as_str().unwrap().starts_with('\0'));
}

#[test]
fn a_command_need_not_read_its_job() {
    let bench = Bench::new();
    let long = "x".repeat(500_000);
    let id = bench.server.enqueue(json!({"type": "a.b", "args": [long]}));
    bench.once(&[], "echo '\"unread\"'");
    let job = bench.server.job(&id);
    assert_eq!((&job["state"], &job["result"]), (&json!("completed"), &json!("unread")));
}

#[test]
fn a_long_job_is_given_whole() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": ["x".repeat(500_000)]}));
    bench.once(&[], "jq '.args[0] | length'");
    assert_eq!(bench.server.job(&id)["result"], 500_000);
}

#[test]
fn a_result_that_the_server_finds_too_large_does_not_undo_the_job() {
    let bench = Bench::with(&["--limits-result-bytes", "1KiB", "--limits-error-bytes", "1KiB"]);
    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    let ended = bench.once(&[], "seq 2000");
    assert_eq!(bench.server.job(&id)["state"], "completed");
    assert!(ended.stderr.contains("kept without its output"), "{}", ended.stderr);

    let id = bench.server.enqueue(json!({"type": "a.b", "args": []}));
    bench.once(&[], "seq 2000 >&2; exit 9");
    let error = &bench.server.job(&id)["errors"][0];
    assert_eq!((&error["type"], &error["message"]), (&json!("exit.9"), &json!("2000")));
}
