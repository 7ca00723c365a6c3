//! What the end of a command means for its job.

use serde_json::{Value, json};

use crate::support::{JSON, command};
use crate::worker_setup::{Bench, Work};

/// Not tried again while the test looks at it.
fn job() -> Value {
    json!({"type": "a.b", "args": [], "retry": {"initial_interval": "PT1H"}})
}

#[test]
fn output_that_is_json_is_the_result() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "sum.up", "args": [2, 3]}));
    bench.once(&[], "jq '{sum: (.args | add)}'");
    let job = bench.server.job(&id);
    assert_eq!((&job["state"], &job["result"]), (&json!("completed"), &json!({"sum": 5})), "{job}");
}

#[test]
fn any_other_output_is_a_text_in_the_result() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    bench.once(&[], "echo grüße; echo two");
    assert_eq!(bench.server.job(&id)["result"], json!({"output": "grüße\ntwo\n"}));
}

#[test]
fn without_output_there_is_no_result() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    bench.once(&[], "echo words for people >&2");
    let job = bench.server.job(&id);
    assert_eq!((&job["state"], &job["result"]), (&json!("completed"), &Value::Null), "{job}");
}

#[test]
fn a_command_knows_its_job() {
    let bench = Bench::new();
    let id = bench.server.enqueue(json!({"type": "a.b", "args": ["x"], "queue": "q"}));
    let script = r#"cat > stdin; echo "$ROTA_JOB_ID $ROTA_JOB_TYPE $ROTA_QUEUE $ROTA_ATTEMPT $ROTA_URL" > env"#;
    bench.once(&["--queue", "q"], script);
    assert_eq!(bench.text("env"), format!("{id} a.b q 1 {}\n", bench.server.url("")));
    let stdin = bench.text("stdin");
    assert_eq!(stdin.lines().count(), 1);
    let given: Value = serde_json::from_str(&stdin).unwrap();
    assert_eq!((&given["id"], &given["args"]), (&json!(id), &json!(["x"])));
}

#[test]
fn a_command_knows_whose_job_it_is() {
    let bench = Bench::new();
    bench.server.enqueue(json!({"type": "a.b", "args": [], "meta": {"tenant_id": "acme"}}));
    bench.once(&[], "echo $ROTA_TENANT > env");
    assert_eq!(bench.text("env"), "acme\n");
}

#[test]
fn a_command_does_not_get_the_workers_secrets() {
    let bench = Bench::new();
    bench.server.enqueue(job());
    let url = bench.server.url("");
    let mut command = command(&["work", "--once", "--url", &url, "--", "bash", "-c", "env > env"]);
    command.current_dir(bench.path("")).env("MINE", "kept");
    for name in ["ROTA_TOKEN", "ROTA_BOOTSTRAP_KEY"] {
        command.env(name, "rota_a_secret");
    }
    assert_eq!(Work::start(command).wait().code, Some(0));
    let environment = bench.text("env");
    assert!(environment.contains("MINE=kept") && environment.contains("ROTA_JOB_ID="));
    assert!(!environment.contains("rota_a_secret"), "{environment}");
}

#[test]
fn json_goes_in_and_out_on_one_line_and_otherwise_as_it_is() {
    let bench = Bench::new();
    let job = "{\n\"type\": \"a.b\",\n\"args\": [\n1.10\n]\n}";
    let added = bench.server.send("POST", "/ojs/v1/jobs", &[JSON], Some(job.as_bytes()));
    let id = added.expect(201)["job"]["id"].as_str().unwrap().to_owned();
    bench.once(&[], r#"cat > stdin; printf '{\n "b": 1.10,\n "a": 12345678901234567890123\n}\n'"#);
    let stdin = bench.text("stdin");
    assert!(stdin.lines().count() == 1 && stdin.contains(r#""args":[1.10]"#), "{stdin}");
    let text = bench.server.get(&format!("/ojs/v1/jobs/{id}")).text;
    assert!(text.contains(r#""result":{"b":1.10,"a":12345678901234567890123}"#), "{text}");
}

#[test]
fn a_failure_keeps_what_was_printed_and_is_retried() {
    let bench = Bench::new();
    let retry = json!({"initial_interval_ms": 10, "jitter": false});
    let id = bench.server.enqueue(json!({"type": "a.b", "args": [], "retry": retry}));
    let script = r#"
        [ "$ROTA_ATTEMPT" = 2 ] && exit 0
        echo so far; echo warning >&2; echo the reason >&2; exit 3"#;
    let work = bench.work(&[], script);
    let job = bench.server.wait_for_state(&id, "completed");
    assert_eq!(job["attempt"], 2);
    let error = &job["errors"][0];
    assert_eq!((&error["type"], &error["message"]), (&json!("exit.3"), &json!("the reason")));
    let details = json!({"exit_code": 3, "stdout": "so far\n", "stderr": "warning\nthe reason\n"});
    assert_eq!(error["details"], details);
    work.wait_for_words("failed    a.b");
}

#[test]
fn exit_75_is_retried_like_any_other() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    bench.once(&[], "exit 75");
    let job = bench.server.job(&id);
    assert_ne!(job["state"], "discarded");
    let error = &job["errors"][0];
    assert_eq!((&error["type"], &error["message"]), (&json!("exit.75"), &json!("exit status 75")));
}

#[test]
fn a_command_that_was_killed_has_failed_and_the_signal_is_named() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    bench.once(&[], "echo going >&2; kill -9 $$");
    let error = &bench.server.job(&id)["errors"][0];
    assert_eq!(error["type"], "signal.SIGKILL");
    assert_eq!(error["message"], "killed by SIGKILL: going");
    assert_eq!(error["details"]["signal"], "SIGKILL");
}

#[test]
fn exit_100_ends_a_job_for_good() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    bench.once(&[], "echo no address >&2; exit 100");
    let job = bench.server.job(&id);
    assert_eq!((&job["state"], &job["attempt"]), (&json!("discarded"), &json!(1)), "{job}");
    let dead = bench.server.get("/ojs/v1/dead-letter").expect(200);
    assert_eq!(dead["jobs"][0]["id"], json!(id), "{dead}");
}

#[test]
fn the_exit_status_for_good_can_be_chosen() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    bench.once(&["--no-retry-exit", "65"], "exit 65");
    assert_eq!(bench.server.job(&id)["state"], "discarded");
    let id = bench.server.enqueue(job());
    bench.once(&["--no-retry-exit", "65"], "exit 100");
    assert_ne!(bench.server.job(&id)["state"], "discarded");
}

#[test]
fn what_a_command_leaves_in_the_background_does_not_hold_its_job() {
    let bench = Bench::new();
    let id = bench.server.enqueue(job());
    bench.once(&[], "sleep 600 & echo $! > background; echo done");
    let job = bench.server.job(&id);
    assert_eq!(job["result"], json!({"output": "done\n"}), "{job}");
    let id = bench.wait_for_text("background");
    assert!(std::process::Command::new("kill").arg(id).status().unwrap().success());
}

#[test]
fn scripts_read_one_line_of_json_for_each_job() {
    let bench = Bench::new();
    let good = bench.server.enqueue(json!({"type": "a.b", "args": [0]}));
    let later = json!({"initial_interval": "PT1H"});
    let bad = bench.server.enqueue(json!({"type": "a.b", "args": [7], "retry": later}));
    let ended = bench.once(&["--json", "--quiet"], "exit $(jq '.args[0]')");
    let lines = ended.lines();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["job_id"], &lines[0]["outcome"]), (&json!(good), &json!("completed")));
    assert_eq!((&lines[1]["job_id"], &lines[1]["outcome"]), (&json!(bad), &json!("failed")));
    assert_eq!(lines[1]["error"]["details"]["exit_code"], 7);
    assert_eq!(lines[1]["state"], "retryable");
    assert_eq!(ended.stderr, "");
}
