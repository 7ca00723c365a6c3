//! Tests of the envelope parser.

use super::*;
use crate::{RejectionKind, json};
use serde_json::{Value, json};

const NOW: Millis = Millis(1_770_000_000_000);

fn rules() -> Rules {
    Rules {
        max_job_bytes: 1 << 20,
        max_schedule_ms: 3_660 * 86_400_000 * 10,
        max_visibility_ms: 86_400_000,
        test_directives: false,
        allowed_types: None,
        region: None,
        tenancy: Tenancy::default(),
    }
}

fn read(text: &str) -> Result<NewJob, Rejection> {
    let text = json::check(text.as_bytes(), 100)?;
    parse(text, &rules(), NOW, JobId::v7(NOW.0, 7), None)
}

fn accepted(body: &Value) -> (NewJob, Value) {
    let job = read(&body.to_string()).unwrap();
    let mut text = Vec::new();
    write_head(&mut text, job.id);
    text.extend_from_slice(&job.body);
    text.push(b'}');
    let shown = serde_json::from_slice(&text);
    (job, shown.expect("the fragment is JSON"))
}

fn refused(body: Value) -> Rejection {
    read(&body.to_string()).expect_err(&body.to_string())
}

#[test]
fn a_minimal_job_gets_the_defaults() {
    let (job, shown) = accepted(&json!({"type": "email.send", "args": [1]}));
    assert_eq!(&*job.class.queue, "default");
    assert_eq!(job.class.priority, 0);
    assert!(!job.id_given);
    assert_eq!(shown["meta"], json!({}));
    assert_eq!(shown["max_attempts"], 3);
    assert_eq!(shown["id"], job.id.to_string());
    assert_eq!(shown["specversion"], "1.0");
}

#[test]
fn options_count_at_either_level_and_must_agree() {
    let at_top = accepted(&json!({"type": "a", "args": [], "queue": "q", "priority": 5})).0;
    let nested =
        accepted(&json!({"type": "a", "args": [], "options": {"queue": "q", "priority": 5}})).0;
    assert_eq!(at_top.class, nested.class);
    let same = json!({"type": "a", "args": [], "queue": "q", "options": {"queue": "q"}});
    assert_eq!(&*accepted(&same).0.class.queue, "q");
    let error = refused(json!({"type": "a", "args": [], "queue": "q", "options": {"queue": "r"}}));
    assert_eq!((error.kind, error.field.as_deref()), (RejectionKind::InvalidField, Some("queue")));
}

#[test]
fn system_members_are_dropped_and_unknown_ones_kept() {
    let (_, shown) = accepted(&json!({
        "type": "a", "args": [], "state": "completed", "attempt": 9, "result": 1, "errors": [],
        "created_at": "x", "x_custom": {"deep": [1]}, "options": {"metadata": {"k": 1}, "zap": null},
    }));
    for gone in ["state", "attempt", "result", "errors", "created_at"] {
        assert!(shown.get(gone).is_none(), "{gone}");
    }
    assert_eq!(shown["x_custom"], json!({"deep": [1]}));
    assert_eq!(shown["options"], json!({"metadata": {"k": 1}, "zap": null}));
}

#[test]
fn retry_policies_are_closed_and_take_every_documented_name() {
    let retry = |retry: serde_json::Value| {
        read(&json!({"type": "a", "args": [], "retry": retry}).to_string())
    };
    let error = retry(json!({"max_attemps": 5})).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("retry.max_attemps"));
    assert!(error.hint.unwrap().contains("'max_attempts'"));
    assert!(retry(json!({"max_attemps": null})).is_err());
    let job = retry(json!({"backoff": "constant", "base_delay_ms": 1000, "max_delay_ms": 5000}));
    let policy = job.unwrap().class.policy.retry.clone();
    assert_eq!((policy.initial_ms, policy.max_ms), (1000, 5000));
    let same = json!({"strategy": "linear", "backoff_strategy": "linear"});
    assert!(retry(same).is_ok());
    let different = json!({"initial_interval": "PT2S", "initial_delay_ms": 1000});
    let field = retry(different).unwrap_err().field;
    assert!(field.as_deref().is_some_and(|field| field.starts_with("retry.initial_")));
}

#[test]
fn max_attempts_among_the_options_is_served() {
    let (job, _) = accepted(&json!({"type": "a", "args": [], "options": {"max_attempts": 7}}));
    assert_eq!(job.class.policy.retry.max_attempts, 7);
    let both = json!({"type": "a", "args": [],
        "options": {"max_attempts": 7, "retry": {"max_attempts": 8}}});
    let error = read(&both.to_string()).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("options.max_attempts"));
}

#[test]
fn argument_bytes_come_back_untouched() {
    let job = read(r#"{"type":"a","args":[ 1.50, 1e300, "\u00e9" ]}"#).unwrap();
    let body = std::str::from_utf8(&job.body).unwrap();
    assert!(body.contains(r#""args":[ 1.50, 1e300, "\u00e9" ]"#), "{body}");
}

#[test]
fn times_in_utc_are_echoed_as_given_and_others_converted() {
    let (job, shown) = accepted(&json!({"type": "a", "args": [], "options": {
        "delay_until": "2027-01-01T02:00:00+02:00", "expires_at": "+PT2S"}}));
    assert_eq!(shown["scheduled_at"], "2027-01-01T00:00:00.000Z");
    assert_eq!(job.start_at.unwrap().to_string(), "2027-01-01T00:00:00.000Z");
    assert_eq!(job.expires, Some(Millis(NOW.0 + 2_000)));
    assert_eq!(shown["expires_at"], Millis(NOW.0 + 2_000).to_string());
    for utc in ["2027-01-01T00:00:00Z", "2027-01-01T00:00:00.123456+00:00"] {
        let (_, shown) = accepted(&json!({"type": "a", "args": [], "scheduled_at": utc}));
        assert_eq!(shown["scheduled_at"], utc);
    }
}

#[test]
fn wrong_types_are_reported_by_field() {
    for (body, field) in [
        (json!({"args": []}), "type"),
        (json!({"type": "a"}), "args"),
        (json!({"type": "a", "args": null}), "args"),
        (json!({"type": "a", "args": {"x": 1}}), "args"),
        (json!({"type": 5, "args": []}), "type"),
        (json!({"type": "Email", "args": []}), "type"),
        (json!({"type": "a", "args": [], "id": "nope"}), "id"),
        (json!({"type": "a", "args": [], "meta": []}), "meta"),
        (json!({"type": "a", "args": [], "queue": "No"}), "queue"),
        (json!({"type": "a", "args": [], "priority": 1.5}), "priority"),
        (json!({"type": "a", "args": [], "tags": [1]}), "tags"),
        (json!({"type": "a", "args": [], "pending": "yes"}), "pending"),
        (json!({"type": "a", "args": [], "options": 3}), "options"),
        (json!({"type": "a", "args": [], "scheduled_at": "2026-03-15T09:30:00"}), "scheduled_at"),
        (json!({"type": "a", "args": [], "expires_at": 12}), "expires_at"),
    ] {
        let error = refused(body);
        assert_eq!(error.kind, RejectionKind::InvalidField, "{error}");
        assert_eq!(error.field.as_deref(), Some(field), "{error}");
    }
}

#[test]
fn invalid_values_are_reported_by_field() {
    for (options, field) in [
        (json!({"priority": 101}), "priority"),
        (json!({"priority": -101}), "priority"),
        (json!({"scheduled_at": "9999-03-15T09:30:00Z"}), "scheduled_at"),
        (json!({"delay_until": "9999-03-15T09:30:00Z"}), "delay_until"),
        (json!({"retry": {"max_attempts": -1}}), "retry.max_attempts"),
        (json!({"retry": {"backoff_coefficient": 0.5}}), "retry.backoff_coefficient"),
        (json!({"retry": {"initial_interval": "1s"}}), "retry.initial_interval"),
        (json!({"retry": {"initial_interval": "PT0S"}}), "retry.initial_interval"),
        (json!({"retry": {"max_interval": "PT0.5S"}}), "retry.max_interval"),
        (json!({"retry": {"jitter": 1}}), "retry.jitter"),
        (json!({"retry": {"on_exhaustion": "explode"}}), "retry.on_exhaustion"),
        (json!({"retry": {"non_retryable_errors": "x"}}), "retry.non_retryable_errors"),
        (json!({"retry": {"non_retryable_errors": vec!["x"; 101]}}), "retry.non_retryable_errors"),
        (
            json!({"retry": {"non_retryable_errors": ["a".repeat(4_000), "b".repeat(97)]}}),
            "retry.non_retryable_errors",
        ),
        (json!({"retry": []}), "retry"),
        (json!({"visibility_timeout_ms": 0}), "visibility_timeout_ms"),
        (json!({"visibility_timeout_ms": 86_400_001}), "visibility_timeout_ms"),
        (json!({"timeout": -1}), "timeout"),
    ] {
        let error = refused(json!({"type": "a", "args": [], "options": options}));
        assert_eq!(error.kind, RejectionKind::Invalid, "{error}");
        assert_eq!(error.field.as_deref(), Some(field), "{error}");
    }
}

#[test]
fn unsupported_features_are_rejected() {
    let error = refused(json!({"type": "a", "args": [], "unique": {"keys": ["type"]}}));
    assert_eq!(error.kind, RejectionKind::Unsupported, "{error}");
    let error = refused(json!({"type": "a", "args": [], "specversion": "2.0"}));
    assert_eq!(error.kind, RejectionKind::Unsupported);
}

#[test]
fn a_partial_retry_policy_keeps_the_other_defaults() {
    let (job, _) = accepted(&json!({"type": "a", "args": [], "retry": {"max_attempts": 10}}));
    let expected = crate::RetryPolicy { max_attempts: 10, ..crate::RetryPolicy::default() };
    assert_eq!(job.class.policy.retry, expected);
    let (job, _) =
        accepted(&json!({"type": "a", "args": [], "retry": {"initial_interval": "PT10M"}}));
    assert_eq!(job.class.policy.retry.max_ms, 600_000);
}

#[test]
fn an_oversized_job_is_rejected() {
    let error = refused(json!({"type": "a", "args": ["x".repeat(1 << 20)]}));
    assert_eq!(error.kind, RejectionKind::TooLarge);
}

#[test]
fn directives_are_read_only_when_the_server_allows_them() {
    let text =
        json!({"type": "a", "args": [], "options": {"metadata": {"test_directive": "quiet"}}})
            .to_string();
    assert_eq!(read(&text).unwrap().class.policy.directive, None);
    let rules = Rules { test_directives: true, ..rules() };
    let job = parse(&text, &rules, NOW, JobId::v7(0, 0), None).unwrap();
    assert_eq!(job.class.policy.directive, Some(crate::Directive::Quiet));
}

#[test]
fn a_run_of_a_schedule_names_the_schedule() {
    let (job, _) = accepted(&json!({"type": "a", "args": ["x"], "meta": {"k": 1}}));
    let name = crate::CronName::parse("nightly").unwrap();
    let body = body_of_run(std::str::from_utf8(&job.body).unwrap(), &name, NOW);
    let shown: Value =
        serde_json::from_str(&format!("{{{}}}", std::str::from_utf8(&body).unwrap())).unwrap();
    assert_eq!((&shown["args"], &shown["meta"]), (&json!(["x"]), &json!({"k": 1})));
    assert_eq!(shown["metadata"]["cron_name"], "nightly");
    assert_eq!(shown["metadata"]["cron_triggered_at"], NOW.to_string());
}

fn owned(body: &Value, rules: &Rules, caller: Option<&str>) -> Result<(NewJob, Value), Rejection> {
    let caller = caller.map(|id| TenantId::parse(id).unwrap());
    let job = parse(&body.to_string(), rules, NOW, JobId::v7(0, 0), caller.as_ref())?;
    let text = format!("{{{}}}", std::str::from_utf8(&job.body).unwrap());
    Ok((job, serde_json::from_str(&text).unwrap()))
}

#[test]
fn the_tenant_comes_from_the_body_the_caller_or_the_default() {
    let job = |meta: Value| json!({"type": "t", "args": [], "meta": meta});
    let (own, shown) = owned(&job(json!({"tenant_id": "acme", "a": 1})), &rules(), None).unwrap();
    assert_eq!((&*own.class.tenant, &shown["meta"]["a"]), ("acme", &json!(1)));
    let (own, shown) = owned(&job(json!({"a": 1})), &rules(), Some("acme")).unwrap();
    assert_eq!(&*own.class.tenant, "acme");
    assert_eq!(shown["meta"], json!({"tenant_id": "acme", "a": 1}));
    let (own, shown) = owned(&job(json!({"tenant_id": null})), &rules(), Some("acme")).unwrap();
    assert_eq!((&*own.class.tenant, &shown["meta"]), ("acme", &json!({"tenant_id": "acme"})));
    let (own, shown) = owned(&job(json!({})), &rules(), None).unwrap();
    assert_eq!((&*own.class.tenant, &shown["meta"]), ("_default", &json!({})));
    assert!(owned(&job(json!({"tenant_id": "acme"})), &rules(), Some("acme")).is_ok());
    for (meta, caller) in [
        (json!({"tenant_id": "acme"}), Some("beta")),
        (json!({"tenant_id": "-acme"}), None),
        (json!({"tenant_id": ""}), None),
        (json!({"tenant_id": 5}), None),
    ] {
        let rejection = owned(&job(meta), &rules(), caller).unwrap_err();
        assert_eq!(rejection.field.as_deref(), Some("meta.tenant_id"));
        assert_eq!(rejection.kind, RejectionKind::InvalidField);
    }
}

#[test]
fn a_key_with_an_escape_in_it_is_the_same_key() {
    let text = r#"{"type":"t","args":[],"meta":{"tenant\u005fid":"acme"}}"#;
    let job = parse(text, &rules(), NOW, JobId::v7(0, 0), None).unwrap();
    assert_eq!(&*job.class.tenant, "acme");
    let beta = TenantId::parse("beta").unwrap();
    assert!(parse(text, &rules(), NOW, JobId::v7(0, 0), Some(&beta)).is_err());
}

#[test]
fn without_a_default_a_tenant_is_required_and_namespaces_keep_queues_apart() {
    let mut strict = rules();
    strict.tenancy = Tenancy { default: None, namespaced: true, ..Tenancy::default() };
    let body = json!({"type": "t", "args": [], "queue": "email"});
    let rejection = owned(&body, &strict, None).unwrap_err();
    assert_eq!(rejection.kind, RejectionKind::Invalid);
    let (job, shown) = owned(&body, &strict, Some("acme")).unwrap();
    assert_eq!((&*job.class.queue, &shown["queue"]), ("acme/email", &json!("email")));
}

#[test]
fn a_limit_is_part_of_the_policy_and_shown_as_given() {
    let limit = json!({"key": "stripe", "concurrency": 2});
    let body = json!({"type": "t", "args": [], "options": {"rate_limit": limit}});
    let (job, shown) = owned(&body, &rules(), None).unwrap();
    assert_eq!(job.class.policy.limit.as_ref().unwrap().numbers.concurrency, Some(2));
    assert_eq!(shown["rate_limit"], limit);
    let body = json!({"type": "t", "args": [], "rate_limit": {"concurrency": null}});
    assert!(owned(&body, &rules(), None).unwrap().0.class.policy.limit.is_none());
}

#[test]
fn keys_of_a_queue_or_type_are_for_its_own_jobs() {
    let with = |key: &str| {
        let limit = json!({"key": key, "concurrency": 2});
        json!({"type": "mail.send", "args": [], "queue": "mine", "rate_limit": limit}).to_string()
    };
    for key in ["queue:mine", "type:mail.send", "queue", "own:queue:mail"] {
        assert!(read(&with(key)).is_ok(), "{key}");
    }
    for key in ["queue:mail", "type:mail.other", "queue:"] {
        let Err(refused) = read(&with(key)) else { panic!("{key} is accepted") };
        assert_eq!(refused.kind, RejectionKind::Invalid, "{key}");
    }
}

#[test]
fn another_priority_leaves_the_rest_of_a_body_as_it_is() {
    let body = read(r#"{"type":"a","args":[{"priority":9}, 1.50],"x":"priority\u0041"}"#).unwrap();
    let stored = std::str::from_utf8(&body.body).unwrap();
    let (previous, changed) = with_priority(stored, -7).unwrap();
    assert_eq!(previous, 0);
    assert_eq!(changed, stored.replace(r#""priority":0"#, r#""priority":-7"#));
}

#[test]
fn a_server_that_knows_its_region_refuses_jobs_that_are_pinned_elsewhere() {
    let send = |meta: Value, region: Option<&str>| {
        let rules = Rules { region: region.map(Into::into), ..rules() };
        let text = json!({"type": "a", "args": [], "meta": meta}).to_string();
        parse(&text, &rules, NOW, JobId::v7(NOW.0, 7), None)
    };
    let pinned = |region| json!({"ojs.federation.region": region});
    assert!(send(pinned("eu"), Some("eu")).is_ok());
    assert!(send(pinned("us"), None).is_ok());
    assert!(send(json!({"a": 1}), Some("eu")).is_ok());
    let rejection = send(pinned("us"), Some("eu")).unwrap_err();
    assert_eq!(rejection.field.as_deref(), Some("meta.ojs.federation.region"));
    let escaped = r#"{"type":"a","args":[],"meta":{"ojs.federation.regio\u006e":"us"}}"#;
    let rules = Rules { region: Some("eu".into()), ..rules() };
    assert!(parse(escaped, &rules, NOW, JobId::v7(NOW.0, 7), None).is_err());
}
