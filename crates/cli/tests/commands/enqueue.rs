use serde_json::{Value, json};

use crate::looks_like;
use crate::run::rota;
use crate::support::Server;

#[track_caller]
fn enqueued(server: &Server, arguments: &[&str]) -> Value {
    let id = rota(server, arguments).printed();
    server.job(id.trim_end())
}

/// A time is read before the job is created, and a machine may be held up between the two.
#[track_caller]
fn assert_seconds_between(earlier: &Value, later: &Value, seconds: i64) {
    let at = |time: &Value| {
        rota_model::Millis::parse_rfc3339(time.as_str().expect("a time")).expect("a time").0
    };
    let ms = at(later) - at(earlier);
    assert!((seconds * 1_000 - 60_000..=seconds * 1_000).contains(&ms), "{ms}");
}

#[test]
fn a_job_is_enqueued_and_its_id_printed() {
    let server = Server::start();
    let job = enqueued(&server, &["enqueue", "email.send", "--args", r#"["you@example.com", 3]"#]);
    assert_eq!(job["type"], "email.send");
    assert_eq!(job["args"], json!(["you@example.com", 3]));
    assert_eq!((&job["queue"], &job["state"]), (&json!("default"), &json!("available")));
}

#[test]
fn every_option_arrives() {
    let server = Server::start();
    #[rustfmt::skip]
    let job = enqueued(&server, &[
        "enqueue", "report.build", "--queue", "reports", "--priority", "-5", "--max-attempts", "7",
        "--retry", r#"{"backoff_strategy": "linear"}"#, "--timeout", "90s",
        "--visibility-timeout", "2m", "--meta", "customer=42", "--meta", "note=a=b", "--tag", "x",
        "--tag", "y", "--id", "01936c7e-1111-7abc-8def-0123456789ab", "--pending",
    ]);
    assert_eq!((&job["queue"], &job["priority"]), (&json!("reports"), &json!(-5)));
    assert_eq!(job["retry"], json!({"max_attempts": 7, "backoff_strategy": "linear"}));
    assert_eq!(
        (&job["timeout_ms"], &job["visibility_timeout_ms"]),
        (&json!(90_000), &json!(120_000))
    );
    assert_eq!(job["meta"], json!({"customer": "42", "note": "a=b"}));
    assert_eq!(job["tags"], json!(["x", "y"]));
    assert_eq!(job["id"], "01936c7e-1111-7abc-8def-0123456789ab");
    assert_eq!(job["state"], "pending");
}

#[test]
fn times_are_given_or_counted_from_now() {
    let server = Server::start();
    let job = enqueued(&server, &["enqueue", "a.b", "--in", "1h30m", "--expires-in", "2d"]);
    assert_eq!(job["state"], "scheduled");
    assert_seconds_between(&job["created_at"], &job["scheduled_at"], 5_400);
    assert_seconds_between(&job["created_at"], &job["expires_at"], 172_800);

    #[rustfmt::skip]
    let job = enqueued(&server, &[
        "enqueue", "a.b", "--at", "2090-01-01T06:00:00+01:00", "--expires-at", "2091-01-01T00:00:00Z",
    ]);
    assert_seconds_between(&job["scheduled_at"], &json!("2090-01-01T05:00:00Z"), 0);
    assert_seconds_between(&job["expires_at"], &json!("2091-01-01T00:00:00Z"), 0);
}

#[test]
fn priorities_have_names() {
    let server = Server::start();
    for (word, number) in [("high", 10), ("normal", 0), ("low", -10)] {
        let job = enqueued(&server, &["enqueue", "a.b", "--priority", word]);
        assert_eq!(job["priority"], number);
    }
}

#[test]
fn very_large_numbers_are_kept_verbatim() {
    let server = Server::start();
    let arguments = ["enqueue", "a.b", "--args", "[12345678901234567890123]", "--json"];
    let text = rota(&server, &arguments).printed();
    assert!(text.contains(r#""args":[12345678901234567890123]"#), "{text}");
}

#[test]
fn json_is_the_job() {
    let server = Server::start();
    let job = rota(&server, &["enqueue", "a.b", "--queue", "q", "--json"]).json();
    assert_eq!(
        (&job["type"], &job["queue"], &job["attempt"]),
        (&json!("a.b"), &json!("q"), &json!(0))
    );
    assert_eq!(server.job(job["id"].as_str().unwrap())["state"], "available");
}

#[test]
fn bad_arguments_are_explained() {
    let server = Server::start();
    let message = |arguments: &[&str]| rota(&server, &[&["enqueue"], arguments].concat()).failed(2);
    looks_like!("not_json", message(&["a.b", "--args", "you@example.com"]));
    looks_like!("not_an_array", message(&["a.b", "--args", "\"text\""]));
    assert!(message(&["a.b", "--retry", "[]"]).contains("must be a JSON object"));
    assert!(message(&["a.b", "--in", "soon"]).contains("a duration such as 30s"));
    assert!(message(&["a.b", "--meta", "x"]).contains("KEY=TEXT is expected"));
    assert!(
        message(&["a.b", "--in", "1s", "--at", "2090-01-01T00:00:00Z"]).contains("cannot be used")
    );
    assert!(message(&[]).contains("<TYPE>"));
    assert_eq!(server.get("/ojs/v1/admin/jobs").expect(200)["pagination"]["total"], 0);
}

#[test]
fn mistakes_are_told_as_json_too() {
    let server = Server::start();
    let error = rota(&server, &["enqueue", "a.b", "--args", "x", "--json"]).json_error(2);
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("invalid value 'x' for '--args <JSON>'"), "{message}");
    let error = rota(&server, &["enqueue", "--json"]).json_error(2);
    assert!(error["message"].as_str().unwrap().contains("<TYPE>"), "{error}");
    assert!(rota(&server, &["enqueue", "--json", "--help"]).printed().contains("Examples:"));
}

#[test]
fn what_the_server_rejects_is_exit_code_5_in_its_words() {
    let server = Server::start();
    looks_like!("rejected", rota(&server, &["enqueue", "a.b", "--queue", "No Queue"]).failed(5));
    let error = rota(&server, &["enqueue", "NotAType", "--json"]).json_error(5);
    assert_eq!((&error["code"], &error["status"]), (&json!("invalid_request"), &json!(400)));
    assert_eq!(error["details"]["field"], "type");
}

#[test]
fn the_same_job_twice_is_one_job_and_another_one_with_its_id_is_rejected() {
    let server = Server::start();
    let arguments = ["enqueue", "a.b", "--id", "01936c7e-1111-7abc-8def-0123456789ab", "--json"];
    let first = rota(&server, &arguments).json();
    let again = rota(&server, &arguments).json();
    assert_eq!(first["id"], again["id"]);
    let other = [&arguments[..], &["--args", "[1]"]].concat();
    let error = rota(&server, &other).json_error(5);
    assert_eq!((&error["code"], &error["status"]), (&json!("duplicate"), &json!(409)));
}
