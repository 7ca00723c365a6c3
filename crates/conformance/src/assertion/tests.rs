use serde_json::{Value, json};
use ureq::http::HeaderValue;

use super::{Findings, check};
use crate::{case::Case, context::Context, http::Response, mode::Mode};

fn inspect(
    action: &str,
    expectations: Value,
    response: Option<&Response>,
    context: &Context,
    mode: Mode,
) -> Findings {
    let document = json!({"steps": [{"action": action, "assertions": expectations}]});
    let case = Case::parse(&document.to_string()).unwrap();
    check(&case.steps[0], response, context, mode)
}

fn problems(expectations: Value, response: &Response) -> usize {
    inspect("GET", expectations, Some(response), &Context::default(), Mode::Strict).problems.len()
}

#[track_caller]
fn assert_status(expected: Value, accepted: &[u16], refused: &[u16]) {
    for status in accepted {
        assert_eq!(
            problems(expected.clone(), &Response::of_json(*status, json!({}))),
            0,
            "{expected} refuses {status}"
        );
    }
    for status in refused {
        assert_eq!(
            problems(expected.clone(), &Response::of_json(*status, json!({}))),
            1,
            "{expected} accepts {status}"
        );
    }
}

#[test]
fn every_form_of_status() {
    assert_status(json!({"status": 200}), &[200], &[201, 404]);
    assert_status(json!({"status": "one_of:400,422"}), &[400, 422], &[401, 200]);
    assert_status(json!({"status": "number:range(400,422)"}), &[400, 409, 422], &[399, 423]);
    assert_status(json!({"status": {"$in": [200, 204]}}), &[200, 204], &[201]);
    assert_status(json!({"status_in": [201, 429]}), &[201, 429], &[200]);
    assert_status(json!({"status_one_of": [403, 404]}), &[403, 404], &[200]);
    // Not understood is not passed.
    assert_status(json!({"status": "one_of:many"}), &[], &[200]);
    assert_status(json!({"status": {"$near": 200}}), &[], &[200]);
    assert_status(json!({"status_in": []}), &[], &[200]);
    assert_status(json!({"status_in": 200}), &[], &[200]);
}

#[test]
fn headers_in_any_case_with_exact_values() {
    let mut response = Response::of_json(200, json!({}));
    response.headers.insert("content-type", HeaderValue::from_static("text/plain"));
    let count = |expected: Value| problems(json!({"headers": expected}), &response);
    assert_eq!(count(json!({"Content-Type": "text/plain"})), 0);
    assert_eq!(count(json!({"Content-Type": {"$match": "^text/"}})), 0);
    assert_eq!(count(json!({"Content-Type": {"$eq": "text/plain"}})), 0);
    assert_eq!(count(json!({"Content-Type": {"$exists": true}})), 0);
    assert_eq!(count(json!({"Content-Type": "text/plain; charset=utf-8"})), 1);
    assert_eq!(count(json!({"Retry-After": {"$exists": true}})), 1);
    assert_eq!(count(json!({"Retry-After": {"$near": 5}})), 1);
}

#[test]
fn bodies_by_path() {
    let response =
        Response::of_json(200, json!({"job": {"id": "a", "meta": {"ojs.key": 1}}, "jobs": []}));
    let count = |expected: Value| problems(json!({"body": expected}), &response);
    assert_eq!(
        count(json!({"$.job.id": "a", "$.jobs": [], "$.job.meta.ojs.key": 1, "$.no": "absent"})),
        0
    );
    assert_eq!(count(json!({"$.job.id": "b", "$.jobs": [1], "$.no": "exists"})), 3);
    assert_eq!(count(json!({"$.job[": "a"})), 1);
    assert_eq!(problems(json!({"body.job.id": "a"}), &response), 0);
    assert_eq!(problems(json!({"body.job.id": "b"}), &response), 1);
}

#[test]
fn a_body_that_is_not_json_has_no_values() {
    let mut response = Response::of_json(200, json!(null));
    response.text = "metric 1".into();
    assert_eq!(problems(json!({"body": {"$.job.id": {"$exists": true}}}), &response), 1);
}

#[test]
fn operations_look_into_the_job() {
    let response =
        Response::of_json(200, json!({"id": "a", "job": {"id": "a", "state": "available"}}));
    let expected = json!({"body": {"id": "a", "state": "available"}});
    let context = Context::default();
    assert!(
        inspect("push", expected.clone(), Some(&response), &context, Mode::Strict)
            .problems
            .is_empty()
    );
    assert_eq!(problems(expected, &response), 1);
}

#[test]
fn alternatives_for_the_whole_body() {
    let expected = json!({"body": {"$or": [{"$.jobs": {"$size": 0}}, {"$empty": true}]}});
    let mut nothing = Response::of_json(204, json!(null));
    nothing.text.clear();
    assert_eq!(problems(expected.clone(), &Response::of_json(200, json!({"jobs": []}))), 0);
    assert_eq!(problems(expected.clone(), &nothing), 0);
    assert_eq!(problems(expected, &Response::of_json(200, json!({"jobs": [1]}))), 1);
    let unknown = json!({"body": {"$or": [{"$.a": 1}, {"$.a": "string:odd"}]}});
    assert_eq!(problems(unknown, &Response::of_json(200, json!({"a": 1}))), 1);
}

#[test]
fn unknown_matchers_warn_when_lenient_and_fail_when_strict() {
    let response = Response::of_json(200, json!({"a": 1}));
    let expected = json!({"body": {"$.a": {"$near": 1}}});
    let context = Context::default();
    let lenient = inspect("GET", expected.clone(), Some(&response), &context, Mode::Lenient);
    assert_eq!((lenient.problems.len(), lenient.warnings.len()), (0, 1));
    let strict = inspect("GET", expected, Some(&response), &context, Mode::Strict);
    assert_eq!((strict.problems.len(), strict.warnings.len()), (1, 0));
}

fn fetched(first: Value, second: Value) -> Context {
    let mut context = Context::default();
    context.record("one", &Response::of_json(200, json!({"jobs": first})));
    context.record("two", &Response::of_json(200, json!({"jobs": second})));
    context
}

#[test]
fn an_exclusive_claim_has_one_holder() {
    let expected = json!({"exclusive_claim": {
        "job_id": "a",
        "fetches": ["{{steps.one.response.body.jobs}}", "{{steps.two.response.body.jobs}}"],
        "exactly_one_has_job": true,
        "exactly_one_empty": true,
    }});
    let count = |first: Value, second: Value, mode: Mode| {
        inspect("ASSERT", expected.clone(), None, &fetched(first, second), mode).problems.len()
    };
    assert_eq!(count(json!([{"id": "a"}]), json!([]), Mode::Strict), 0);
    assert_eq!(count(json!([{"id": "a"}]), json!([{"id": "a"}]), Mode::Strict), 2);
    assert_eq!(count(json!([]), json!([]), Mode::Strict), 2);
    assert_eq!(count(json!([{"id": "b"}]), json!([]), Mode::Strict), 1);
    assert_eq!(count(json!([]), json!([]), Mode::Lenient), 0);
}

#[test]
fn equality_is_exact() {
    let expected =
        json!({"equality": {"$.steps.one.response.body": "{{steps.two.response.body}}"}});
    let count = |second: Value, mode: Mode| {
        inspect("ASSERT", expected.clone(), None, &fetched(json!([1]), second), mode).problems.len()
    };
    assert_eq!(count(json!([1]), Mode::Strict), 0);
    assert_eq!(count(json!([1, 2]), Mode::Strict), 1);
    assert_eq!(count(json!([1, 2]), Mode::Lenient), 0);
}

#[test]
fn an_answer_is_needed_for_what_speaks_of_one() {
    let findings =
        inspect("ASSERT", json!({"status": 200}), None, &Context::default(), Mode::Lenient);
    assert_eq!(findings.problems.len(), 1);
}

#[test]
fn a_missing_reference_is_a_problem() {
    let response = Response::of_json(200, json!({"a": 1}));
    assert_eq!(problems(json!({"body": {"$.a": "{{steps.none.response.body.a}}"}}), &response), 1);
}
