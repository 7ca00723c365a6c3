//! The wrong type for every field of every route that takes a body.

use serde_json::{Value, json};

use super::{ask, assert_alive, assert_decided, assert_refused_with};
use crate::support::Server;

/// A route, a body that it takes, and its fields with the kinds of JSON that each may be:
/// `s`tring, `n`umber, `b`oolean, `a`rray, `o`bject and `0` for null.
struct Route {
    method: &'static str,
    path: &'static str,
    base: Value,
    fields: &'static [(&'static str, &'static str)],
}

const ABOUT: &[(&str, &str)] = &[
    ("worker_id", "s"),
    ("hostname", "s0"),
    ("pid", "n0"),
    ("queues", "a0"),
    ("concurrency", "n0"),
    ("labels", "a0"),
    ("pool", "s0"),
    ("version", "s0"),
    ("started_at", "s0"),
];

fn routes() -> Vec<Route> {
    let id = "01976a3c-0000-7000-8000-00000000000f";
    vec![
        Route {
            method: "POST",
            path: "/ojs/v1/jobs",
            base: json!({"type": "a", "args": [], "options": {}, "retry": {}}),
            fields: &[
                ("type", "s"),
                ("args", "a"),
                ("id", "s0"),
                ("specversion", "s0"),
                ("meta", "o0"),
                ("schema", "s0"),
                ("options", "o0"),
                ("queue", "s0"),
                ("priority", "ns0"),
                ("timeout", "n0"),
                ("timeout_ms", "n0"),
                ("visibility_timeout", "n0"),
                ("visibility_timeout_ms", "n0"),
                ("scheduled_at", "s0"),
                ("delay_until", "s0"),
                ("expires_at", "s0"),
                ("pending", "b0"),
                ("tags", "a0"),
                ("unique", "0"),
                ("rate_limit", "0"),
                ("retry", "o0"),
                ("options.queue", "s0"),
                ("options.priority", "ns0"),
                ("options.timeout_ms", "n0"),
                ("options.scheduled_at", "s0"),
                ("options.tags", "a0"),
                ("options.retry", "o0"),
                ("retry.max_attempts", "n0"),
                ("retry.initial_interval", "s0"),
                ("retry.initial_interval_ms", "n0"),
                ("retry.max_interval", "s0"),
                ("retry.max_interval_ms", "n0"),
                ("retry.backoff_coefficient", "n0"),
                ("retry.backoff_strategy", "s0"),
                ("retry.jitter", "b0"),
                ("retry.non_retryable_errors", "a0"),
                ("retry.on_exhaustion", "s0"),
            ],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/jobs/batch",
            base: json!({"jobs": [{"type": "a", "args": []}]}),
            fields: &[("jobs", "a"), ("jobs.0", "o"), ("jobs.0.type", "s"), ("jobs.0.args", "a")],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/workers/fetch",
            base: json!({"queues": ["nothing-here"]}),
            fields: &[
                ("queues", "a"),
                ("queues.0", "s"),
                ("count", "n0"),
                ("worker_id", "s0"),
                ("pool", "s0"),
                ("visibility_timeout", "n0"),
                ("visibility_timeout_ms", "n0"),
                ("wait_ms", "n0"),
                ("strategy", "0"),
            ],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/workers/ack",
            base: json!({"job_id": id}),
            fields: &[("job_id", "s"), ("worker_id", "s0"), ("attempt", "n0"), ("jobs", "a0")],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/workers/nack",
            base: json!({"job_id": id, "error": {"code": "x"}}),
            fields: &[
                ("job_id", "s"),
                ("worker_id", "s0"),
                ("attempt", "n0"),
                ("requeue", "b0"),
                ("error", "o"),
                ("error.code", "s0"),
                ("error.type", "s0"),
                ("error.message", "s0"),
                ("error.retryable", "b0"),
                ("jobs", "a0"),
            ],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/workers/heartbeat",
            base: json!({"worker_id": "w"}),
            fields: ABOUT,
        },
        Route {
            method: "POST",
            path: "/ojs/v1/workers/heartbeat",
            base: json!({"worker_id": "w", "active_job_ids": [id]}),
            fields: &[
                ("state", "s0"),
                ("active_jobs", "an0"),
                ("active_job_ids", "a0"),
                ("active_job_ids.0", "s"),
                ("visibility_timeout", "n0"),
                ("visibility_timeout_ms", "n0"),
            ],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/workers/register",
            base: json!({"worker_id": "w"}),
            fields: ABOUT,
        },
        Route {
            method: "POST",
            path: "/ojs/v1/workers/deregister",
            base: json!({"worker_id": "w"}),
            fields: &[("worker_id", "s")],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/cron",
            base: json!({"name": "n", "expression": "0 0 1 1 *", "type": "a", "options": {}}),
            fields: &[
                ("name", "s"),
                ("expression", "s"),
                ("cron", "s0"),
                ("timezone", "s0"),
                ("overlap_policy", "s0"),
                ("enabled", "b0"),
                ("job_template", "o0"),
                ("type", "s"),
                ("args", "a"),
                ("options", "o0"),
                ("options.queue", "s0"),
            ],
        },
        Route {
            method: "PATCH",
            path: "/ojs/v1/cron/n",
            base: json!({"enabled": true}),
            fields: &[("enabled", "b")],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/admin/jobs/bulk/cancel",
            base: json!({"confirm": true, "filter": {"queue": "nothing-here"}}),
            fields: &[
                ("confirm", "b"),
                ("filter", "o0"),
                ("filter.queue", "s0"),
                ("filter.state", "s0"),
                ("filter.type", "s0"),
                ("filter.since", "s0"),
                ("filter.until", "s0"),
            ],
        },
        Route {
            method: "POST",
            path: "/ojs/v1/admin/system/maintenance",
            base: json!({"enabled": false}),
            fields: &[("enabled", "b"), ("reason", "s0"), ("estimated_duration", "s0")],
        },
        Route {
            method: "PUT",
            path: "/ojs/v1/admin/queues/default/config",
            base: json!({"retention": {}}),
            fields: &[
                ("concurrency", "n0"),
                ("rate_limit", "0"),
                ("max_size", "0"),
                ("retention", "o0"),
                ("retention.completed", "s0"),
                ("retention.discarded", "s0"),
            ],
        },
        Route {
            method: "DELETE",
            path: "/ojs/v1/admin/queues/default/jobs",
            base: json!({"confirm": true, "states": ["completed"]}),
            fields: &[("confirm", "b"), ("states", "a"), ("states.0", "s"), ("older_than", "s0")],
        },
        Route {
            method: "DELETE",
            path: "/ojs/v1/admin/dead-letter",
            base: json!({"confirm": true}),
            fields: &[("confirm", "b"), ("queue", "s0"), ("older_than", "s0")],
        },
    ]
}

#[test]
fn the_wrong_type_is_refused_in_every_field_of_every_route() {
    let server = Server::start();
    let samples = [
        ('s', json!("No such Wörd!")),
        ('n', json!(-1.5)),
        ('b', json!(true)),
        ('a', json!([{}])),
        ('o', json!({"x": 1})),
        ('0', Value::Null),
    ];
    for route in routes() {
        for (field, kinds) in route.fields {
            for (kind, sample) in &samples {
                let mut body = route.base.clone();
                *place(&mut body, field) = sample.clone();
                let answer = ask(&server, route.method, route.path, body.to_string().as_bytes());
                let what = format!("{} {} {body}", route.method, route.path);
                if kinds.contains(*kind) {
                    assert_decided(&answer, &what);
                } else {
                    assert_refused_with(&answer, &[400, 422], &what);
                }
                if (*kind, *field) == ('b', "enabled") {
                    let end = br#"{"enabled":false}"#;
                    ask(&server, "POST", "/ojs/v1/admin/system/maintenance", end);
                }
            }
        }
        assert_alive(&server);
    }
}

fn place<'v>(body: &'v mut Value, field: &str) -> &'v mut Value {
    field.split('.').fold(body, |value, name| match name.parse::<usize>() {
        Ok(index) => &mut value[index],
        Err(_) => &mut value[name],
    })
}
