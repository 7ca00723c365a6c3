use serde_json::{Value, json};

use super::Matcher;
use crate::mode::Mode;

fn matches_in(mode: Mode, matcher: Value, actual: Option<Value>) -> bool {
    let parsed = Matcher::parse(&matcher, mode).expect("the matcher is known");
    parsed.check(actual.as_ref()).is_ok()
}

/// Each row: a matcher, values it must accept, values it must refuse. `None` is a missing value.
#[track_caller]
fn check(matcher: Value, accepted: &[Option<Value>], refused: &[Option<Value>]) {
    for value in accepted {
        assert!(
            matches_in(Mode::Strict, matcher.clone(), value.clone()),
            "{matcher} refuses {value:?}"
        );
    }
    for value in refused {
        assert!(
            !matches_in(Mode::Strict, matcher.clone(), value.clone()),
            "{matcher} accepts {value:?}"
        );
    }
}

fn some(value: Value) -> Option<Value> {
    Some(value)
}

#[test]
fn literals() {
    check(
        json!("available"),
        &[some(json!("available"))],
        &[some(json!("active")), some(json!(1)), None],
    );
    check(json!(5), &[some(json!(5)), some(json!(5.0))], &[some(json!(6)), some(json!("5")), None]);
    check(json!(0.7), &[some(json!(0.7))], &[some(json!(0.71))]);
    check(json!(true), &[some(json!(true))], &[some(json!(false)), some(json!("true")), None]);
    check(json!(null), &[some(json!(null))], &[some(json!(0)), None]);
    // A schema's type is the text "array", not a matcher.
    check(json!("array"), &[some(json!("array"))], &[some(json!([])), None]);
    check(json!("https://a.b/c"), &[some(json!("https://a.b/c"))], &[some(json!("https://a.b/"))]);
}

#[test]
fn presence() {
    let present = [some(json!(0)), some(json!("")), some(json!([])), some(json!(false))];
    let absent = [None, some(json!(null))];
    check(json!("exists"), &present, &absent);
    check(json!({"$exists": true}), &present, &absent);
    check(json!("absent"), &absent, &present);
    check(json!({"$exists": false}), &absent, &present);
    check(json!("any"), &[None, some(json!(1))], &[]);
}

#[test]
fn texts() {
    for word in ["string:nonempty", "string:non_empty"] {
        check(json!(word), &[some(json!("x"))], &[some(json!("")), some(json!(1)), None]);
    }
    check(
        json!("string:contains:max_"),
        &[some(json!("bad max_attempts"))],
        &[some(json!("max")), some(json!(["max_"]))],
    );
    check(json!("string:pattern(^a+$)"), &[some(json!("aa"))], &[some(json!("ab"))]);
    check(
        json!({"$match": "application/(openjobspec\\+)?json"}),
        &[some(json!("application/json"))],
        &[some(json!("text/plain")), None],
    );
}

#[test]
fn uuids() {
    let v7 = "019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0f";
    let v4 = "550e8400-e29b-41d4-a716-446655440000";
    let bad = [some(json!(v7.to_uppercase())), some(json!("019461a8")), some(json!(7)), None];
    check(json!("string:uuidv7"), &[some(json!(v7))], &bad);
    check(
        json!("string:uuidv7"),
        &[],
        &[some(json!(v4)), some(json!("019461a8-1a2b-7c3d-ce4f-5a6b7c8d9e0f"))],
    );
    check(json!("string:uuid"), &[some(json!(v7)), some(json!(v4))], &bad);
}

#[test]
fn datetimes() {
    let good = ["2026-02-28T09:30:00Z", "2026-02-28T09:30:00.123456Z", "2026-02-28T09:30:00+09:00"];
    let bad = [
        "2026-02-30T09:30:00Z",
        "2026-02-28 09:30:00Z",
        "2026-02-28T09:30:00",
        "2026-02-28",
        "+PT2S",
        "",
    ];
    let values = |texts: &[&str]| texts.iter().map(|text| some(json!(text))).collect::<Vec<_>>();
    check(json!("string:datetime"), &values(&good), &values(&bad));
    check(json!("string:datetime"), &[], &[some(json!(1700000000)), None]);
}

#[test]
fn numbers() {
    check(
        json!("number:positive"),
        &[some(json!(1)), some(json!(0.1))],
        &[some(json!(0)), some(json!("1")), None],
    );
    check(json!("number:non_negative"), &[some(json!(0))], &[some(json!(-1))]);
    check(
        json!("number:range(400,422)"),
        &[some(json!(400)), some(json!(422))],
        &[some(json!(399)), some(json!(423))],
    );
    check(json!({"$gte": 1}), &[some(json!(1)), some(json!(9))], &[some(json!(0)), None]);
    check(json!({"$lte": 1}), &[some(json!(1))], &[some(json!(2))]);
    check(
        json!({"range": {"min": 1000, "max": 3000}}),
        &[some(json!(1000)), some(json!(3000))],
        &[some(json!(999)), some(json!(3001)), None],
    );
}

#[test]
fn approximations_depend_on_the_mode() {
    check(
        json!("~1000"),
        &[some(json!(800)), some(json!(1200))],
        &[some(json!(799)), some(json!(1201)), some(json!("1000")), None],
    );
    // Never closer than 50.
    check(json!("~10"), &[some(json!(60))], &[some(json!(61))]);
    assert!(matches_in(Mode::Lenient, json!("~1000"), some(json!(1500))));
    assert!(!matches_in(Mode::Lenient, json!("~1000"), some(json!(1501))));
}

#[test]
fn arrays() {
    let (none, one, two) = (some(json!([])), some(json!([1])), some(json!([1, 2])));
    let one = || one.clone();
    let others = [some(json!("ab")), some(json!({"length": 1})), None];
    for matcher in [json!("array:length:1"), json!("array:length(1)"), json!({"$size": 1})] {
        check(matcher.clone(), &[one()], &[none.clone(), two.clone()]);
        check(matcher, &[], &others);
    }
    for matcher in [
        json!("array:min:1"),
        json!("array:min_length:1"),
        json!("array:nonempty"),
        json!({"$size": {"$gte": 1}}),
    ] {
        check(matcher.clone(), &[one(), two.clone()], std::slice::from_ref(&none));
        check(matcher, &[], &others);
    }
    check(json!("array:empty"), std::slice::from_ref(&none), &[one()]);
    check(json!({"$size": {"$lte": 1}}), &[none.clone(), one()], std::slice::from_ref(&two));
    check(json!([]), &[none], &[one(), None]);
}

#[test]
fn elements_are_compared_in_order_and_number() {
    let matcher = json!(["arg1", 42, true, null, {"nested": "value"}]);
    check(
        matcher,
        &[some(json!(["arg1", 42, true, null, {"nested": "value", "more": 1}]))],
        &[
            some(json!([42, "arg1", true, null, {"nested": "value"}])),
            some(json!(["arg1", 42, true, null])),
            some(json!(["arg1", 42, true, null, {}])),
        ],
    );
}

#[test]
fn containment() {
    check(
        json!("contains:b"),
        &[some(json!(["a", "b"]))],
        &[some(json!(["a", "bb"])), some(json!("b")), None],
    );
    check(
        json!("not_contains:b"),
        &[some(json!(["a"])), some(json!([]))],
        &[some(json!(["b"])), some(json!("a")), None],
    );
}

#[test]
fn types() {
    let samples = [
        ("string", json!("")),
        ("number", json!(1.5)),
        ("boolean", json!(false)),
        ("array", json!([])),
        ("object", json!({})),
        ("null", json!(null)),
    ];
    for (name, _) in &samples {
        for (other, value) in &samples {
            let fits = matches_in(Mode::Strict, json!({"$type": name}), some(value.clone()));
            assert_eq!(fits, name == other, "{name} against {value}");
        }
    }
    check(json!({"$type": "integer"}), &[some(json!(1))], &[some(json!(1.5))]);
}

#[test]
fn alternatives_and_combinations() {
    check(json!({"$in": ["ok", "healthy"]}), &[some(json!("ok"))], &[some(json!("bad")), None]);
    check(json!({"$in": [200, "string:uuid"]}), &[some(json!(200))], &[some(json!("x"))]);
    check(json!({"$or": ["absent", {"$gte": 3}]}), &[None, some(json!(3))], &[some(json!(2))]);
    check(
        json!({"$exists": true, "$type": "string"}),
        &[some(json!("x"))],
        &[some(json!(1)), None],
    );
    check(json!({"$eq": "x"}), &[some(json!("x"))], &[some(json!("y")), None]);
    check(
        json!({"$empty": true}),
        &[None, some(json!([])), some(json!({}))],
        &[some(json!([1])), some(json!(0))],
    );
    check(json!({"$empty": false}), &[some(json!([1]))], &[None]);
}

#[test]
fn objects_need_the_named_members_only() {
    check(
        json!({"region": "eu", "weights.us": 60, "old": "absent"}),
        &[some(json!({"region": "eu", "weights": {"us": 60}, "more": 1}))],
        &[
            some(json!({"region": "eu"})),
            some(json!({"region": "us", "weights": {"us": 60}})),
            some(json!({"region": "eu", "weights.us": 60, "old": 1})),
            some(json!("eu")),
            None,
        ],
    );
    // Only an object of bounds is a range; anything else is a member of that name.
    check(json!({"range": "wide"}), &[some(json!({"range": "wide"}))], &[some(json!(5))]);
}

#[test]
fn unknown_matchers_are_not_literals() {
    let unknown = [
        json!("string:shouting"),
        json!("number:odd"),
        json!("array:length:many"),
        json!("number:range(1)"),
        json!({"$near": 5}),
        json!({"$exists": true, "$near": 5}),
        json!({"$size": {"$near": 5}}),
        json!({"$type": "date"}),
        json!({"$match": "("}),
        json!({"$in": ["string:shouting"]}),
        json!([{"deep": "array:odd"}]),
    ];
    for matcher in unknown {
        assert!(Matcher::parse(&matcher, Mode::Strict).is_err(), "{matcher} should be unknown");
    }
}
