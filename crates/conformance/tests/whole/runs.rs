//! Whole runs against a server that answers over a real socket.

use std::sync::{
    Barrier,
    atomic::{AtomicUsize, Ordering},
};

use rota_conformance::{Error, Mode, Options, Verdict, run};
use serde_json::{Value, json};

use crate::{
    folder::Folder,
    stub::{self, Asked, answer},
};

fn greeter() -> String {
    stub::start(|_| answer(200, json!({"greeting": "hello", "list": [1, 2]})))
}

fn expecting(body: Value) -> Folder {
    Folder::with_steps(json!([{"id": "greet", "action": "GET", "path": "/",
                "assertions": {"status": 200, "body": body}}]))
}

#[test]
fn a_case_that_is_met_passes() {
    let report = expecting(json!({"$.greeting": "hello", "$.list": "array:length:2"}))
        .run(&greeter(), Mode::Strict);
    assert!(report.is_success(), "{report}");
    assert_eq!(report.closing_line(), "1 passed, 0 failed");
    assert_eq!(report.cases[0].test_id, "T-1");
    assert_eq!(report.cases[0].file, "level-9/case.json");
}

#[test]
fn a_failing_assertion_fails_the_run() {
    for mode in [Mode::Lenient, Mode::Strict] {
        let report = expecting(json!({"$.greeting": "goodbye"})).run(&greeter(), mode);
        assert!(!report.is_success());
        assert_eq!(report.closing_line(), "0 passed, 1 failed");
        let failure = &report.cases[0].failures[0];
        assert_eq!(failure.step, "greet");
        assert_eq!(failure.problems[0].what, "$.greeting");
        assert_eq!(failure.problems[0].expected, "\"goodbye\"");
        assert_eq!(failure.problems[0].actual, "\"hello\"");
        assert!(failure.request.as_ref().unwrap().starts_with("GET /"));
        assert!(failure.response.as_ref().unwrap().starts_with("200\n"));
        let shown = report.to_string();
        assert!(shown.contains("FAIL  level-9/case.json T-1 a case"), "{shown}");
        assert!(shown.ends_with("\n0 passed, 1 failed\n"), "{shown}");
    }
}

#[test]
fn an_unknown_matcher_fails_in_strict_mode_only() {
    let folder = expecting(json!({"$.greeting": "string:shouting"}));
    let url = greeter();
    assert!(!folder.run(&url, Mode::Strict).is_success());
    let lenient = folder.run(&url, Mode::Lenient);
    assert!(lenient.is_success());
    assert!(lenient.cases[0].warnings[0].contains("string:shouting"), "{lenient}");
}

#[test]
fn unknown_words_of_a_case_fail_in_strict_mode_only() {
    let strange = [
        json!({"action": "GET", "path": "/", "retries": 3}),
        json!({"action": "BREW", "path": "/"}),
        json!({"action": "GET", "path": "/", "assertions": {"timing_ms": 5}}),
    ];
    let url = greeter();
    for step in strange {
        let folder = Folder::with_steps(json!([step]));
        assert!(!folder.run(&url, Mode::Strict).is_success(), "{step}");
        let lenient = folder.run(&url, Mode::Lenient);
        assert!(lenient.is_success() && lenient.cases[0].warnings.len() == 1, "{lenient}");
    }
}

#[test]
fn selecting_nothing_is_an_error() {
    let folder = expecting(json!({}));
    let options = Options {
        only: vec!["level-8".into()],
        ..folder.options("http://127.0.0.1:1", Mode::Lenient)
    };
    assert!(matches!(run(&options), Err(Error::PatternSelectsNothing(_))));
    std::fs::remove_file(folder.suites().join("level-9/case.json")).unwrap();
    assert!(matches!(
        run(&folder.options("http://127.0.0.1:1", Mode::Lenient)),
        Err(Error::NothingSelected(_))
    ));
}

#[test]
fn a_case_that_cannot_be_read_fails() {
    let folder = expecting(json!({"$.greeting": "hello"}));
    folder.add("level-9/broken.json", &json!(["not a case"]));
    let report = folder.run(&greeter(), Mode::Lenient);
    assert_eq!((report.passed, report.failed), (1, 1));
}

#[test]
fn a_server_that_does_not_answer_fails_the_case() {
    let report = expecting(json!({})).run("http://127.0.0.1:1", Mode::Lenient);
    assert_eq!(report.failed, 1);
}

#[test]
fn a_known_failure_does_not_fail_the_run_and_a_known_success_does() {
    let url = greeter();
    let failing = expecting(json!({"$.greeting": "goodbye"}));
    let report =
        run(&Options { known: Some(failing.known()), ..failing.options(&url, Mode::Strict) })
            .unwrap();
    assert_eq!(report.closing_line(), "0 passed, 0 failed, 1 skipped");
    assert_eq!(report.cases[0].verdict, Verdict::Known);
    assert_eq!(report.cases[0].reason.as_deref(), Some("it contradicts itself"));

    let passing = expecting(json!({"$.greeting": "hello"}));
    let report =
        run(&Options { known: Some(passing.known()), ..passing.options(&url, Mode::Strict) })
            .unwrap();
    assert_eq!(report.closing_line(), "0 passed, 1 failed");
    assert!(report.cases[0].reason.as_ref().unwrap().starts_with("no longer fails"));
}

/// A server that gives each job a number, and remembers nothing else.
fn jobs() -> String {
    let count = AtomicUsize::new(0);
    stub::start(move |asked: &Asked| match asked.method.as_str() {
        "POST" => {
            let id = format!("job-{}", count.fetch_add(1, Ordering::Relaxed) + 1);
            let sent: Value = serde_json::from_str(&asked.body).unwrap_or_default();
            answer(
                201,
                json!({"id": id, "job": {"id": id, "sent": sent}, "as": asked.content_type}),
            )
        }
        _ => answer(200, json!({"path": asked.path, "job": {"state": "available"}})),
    })
}

#[test]
fn steps_build_on_each_other() {
    let report = Folder::with_steps(json!([
        {"id": "first", "action": "POST", "path": "/ojs/v1/jobs", "body": {"type": "t"},
         "repeat": 3,
         "assertions": {"status": 201, "body": {"$.as": "application/openjobspec+json"}},
         "capture": {"job_id": "$.id"}},
        {"id": "again", "action": "GET",
         "path": "/jobs/${job_id}/{{steps.first.response.body.job.id}}",
         "expect": {"status": 200, "body.path": "/jobs/job-3/{{job_id}}"}},
        {"action": "push", "request": {"type": "t", "twin": "$ref.job_id"},
         "store": {"pushed": "id"},
         "expect": {"status": 201, "body": {"sent": {"twin": "job-3"}}}},
        {"action": "get", "request": {"id": "$ref.pushed"},
         "expect": {"body": {"state": "available", "path": "/ojs/v1/jobs/job-4"}}},
        {"id": "raw", "action": "POST", "path": "/", "raw_body": "{ invalid json }",
         "assertions": {"body": {"$.job.sent": null}}},
    ]))
    .run(&jobs(), Mode::Strict);
    assert!(report.is_success(), "{report}");
}

#[test]
fn a_step_without_its_value_is_not_sent() {
    let report = Folder::with_steps(json!([
        {"action": "GET", "path": "/{{steps.nothing.response.body.id}}"},
        {"action": "GET", "path": "/", "assertions": {"status": 500}},
    ]))
    .run(&jobs(), Mode::Lenient);
    assert_eq!(report.failed, 1);
    assert_eq!(report.cases[0].failures.len(), 1, "{report}");
    assert!(report.cases[0].failures[0].request.is_none());
}

#[test]
fn parallel_steps_are_under_way_together() {
    let barrier = Barrier::new(2);
    // Neither request is answered before the other has arrived.
    let url = stub::start(move |_| {
        barrier.wait();
        answer(200, json!({"jobs": []}))
    });
    let report = Folder::with_steps(json!([
        {"id": "a", "action": "POST", "path": "/", "parallel_with": "b",
         "assertions": {"status": 200}},
        {"id": "b", "action": "POST", "path": "/", "parallel_with": "a",
         "assertions": {"status": 200}},
    ]))
    .run(&url, Mode::Strict);
    assert!(report.is_success(), "{report}");
}
