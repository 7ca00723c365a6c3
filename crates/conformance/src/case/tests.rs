use std::time::Duration;

use serde_json::{Value, json};

use super::Case;
use crate::action::Action;

fn case(steps: Value) -> Result<Case, String> {
    let document = json!({"test_id": "T-1", "name": "a case", "steps": steps});
    Case::parse(&document.to_string())
}

#[test]
fn reads_a_step() {
    let case = case(json!([
        {"action": "PUT", "path": "/x", "headers": {"A": "b"}, "delay_ms": 500, "repeat": 2,
         "store": {"job_id": "id"}, "expect": {"status": 200, "body.a": 1, "body_comment": "why"}},
        {"id": "pause", "action": "WAIT", "duration_ms": 30}
    ]))
    .unwrap();
    assert_eq!(case.unknown, Vec::<String>::new());
    assert_eq!(case.steps[0].id, "step-1");
    assert_eq!(case.steps[0].headers, [("A".into(), "b".into())]);
    assert_eq!(case.steps[0].captures, [("job_id".into(), "id".into())]);
    assert_eq!(case.steps[1].action, Action::Wait);
    assert_eq!(case.waiting(), Duration::from_millis(530));
}

#[test]
fn keeps_what_it_does_not_know() {
    let case =
        case(json!([{"action": "HEAD", "retries": 3, "assertions": {"timing": 1}}])).unwrap();
    assert_eq!(
        case.unknown,
        [
            "step-1 has the unknown key \"retries\"",
            "step-1 has the unknown action \"HEAD\"",
            "step-1 has the unknown assertion \"timing\"",
        ]
    );
}

#[test]
fn refuses_a_case_that_cannot_be_meant() {
    let senseless = [
        json!([]),
        json!(["step"]),
        json!([{"path": "/x"}]),
        json!([{"action": "GET", "headers": {"A": 1}}]),
        json!([{"action": "GET", "delay_ms": "long"}]),
        json!([{"action": "GET", "duration_ms": 5}]),
        json!([{"action": "GET", "assertions": {"status": 200}, "expect": {"status": 201}}]),
        json!([{"action": "GET", "parallel_with": "nobody"}]),
        json!([{"id": "a", "action": "GET"}, {"id": "a", "action": "GET"}]),
    ];
    for steps in senseless {
        assert!(case(steps.clone()).is_err(), "{steps} should be refused");
    }
}
