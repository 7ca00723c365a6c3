use serde_json::json;

use crate::fake::scripted;
use crate::looks_like;
use crate::run::rota_at;

pub const STATS: &str = r#"{
    "tenant_id": "acme",
    "jobs": {"available": 42, "active": 8, "scheduled": 15, "retryable": 1, "pending": 0,
             "completed_24h": 5841, "failed_24h": 23},
    "throughput": {"processed_per_minute": 12.5, "enqueued_per_minute": 13.1},
    "limits": {
        "max_concurrency": {"limit": 20, "current": 8},
        "max_enqueue_rate": {"limit": 1000, "period": "PT1M", "current": 13},
        "max_queue_depth": {"limit": 50000, "current": 57},
        "max_scheduled": null,
        "max_bytes": {"limit": 10000000, "current": 765432}
    },
    "fairness": {"weight": 10, "effective_share": 0.32, "actual_share": 0.28},
    "total_jobs": 66, "depth": 58, "bytes": 123456, "stored_bytes": 765432,
    "throttle": {"reason": "queue_depth_ratio_exceeded", "action": "weight_reduced", "original_weight": 10,
                 "effective_weight": 2, "until": null},
    "queues": [
        {"name": "email", "shard": "shard:acme:email", "available": 42, "active": 8, "scheduled": 0,
         "retryable": 1, "pending": 0, "paused": false},
        {"name": "reports", "shard": "shard:acme:reports", "available": 0, "active": 0, "scheduled": 15,
         "retryable": 0, "pending": 0, "paused": true}
    ]
}"#;

const FIRST: &str = r#"{"items": [
    {"tenant_id": "_default", "origin": "default", "jobs": {"available": 1}, "depth": 1, "fairness": {}, "throttled": false}
], "pagination": {"total": 2, "page": 1, "per_page": 1}}"#;

const SECOND: &str = r#"{"items": [
    {"tenant_id": "acme", "origin": "api", "jobs": {"available": 42, "active": 8, "scheduled": 15, "retryable": 1,
     "pending": 3, "completed_24h": 5841, "failed_24h": 23}, "depth": 61,
     "fairness": {"weight": 10, "effective_weight": 2.5, "effective_share": 0.32, "actual_share": 0.28}, "throttled": true}
], "pagination": {"total": 2, "page": 2, "per_page": 1}}"#;

#[test]
fn tenants_are_listed_page_by_page() {
    let server = scripted(&[(200, FIRST), (200, SECOND)]);
    looks_like!("list", rota_at(&server.url, &["tenants"]).printed());
    assert_eq!(
        server.asked(),
        [
            "GET /ojs/v1/admin/tenants?sort=id&per_page=100",
            "GET /ojs/v1/admin/tenants?sort=id&per_page=100&page=2",
        ]
    );
}

#[test]
fn the_order_is_the_servers() {
    let server = scripted(&[(200, SECOND)]);
    let list = rota_at(&server.url, &["tenants", "list", "--sort", "depth", "--json"]).json();
    assert_eq!((&list["total"], &list["tenants"][0]["depth"]), (&json!(2), &json!(61)));
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/tenants?sort=depth&per_page=100"]);
    rota_at(&server.url, &["tenants", "list", "--sort", "size"]).failed(2);
}

#[test]
fn no_tenants_is_explained() {
    let server = scripted(&[(200, r#"{"items": []}"#)]);
    let ran = rota_at(&server.url, &["tenants"]);
    assert_eq!((ran.code, &*ran.stdout), (0, ""));
    assert!(ran.stderr.starts_with("no tenants yet"), "{}", ran.stderr);
}

#[test]
fn the_statistics_of_a_tenant_have_its_queues() {
    let server = scripted(&[(200, STATS)]);
    looks_like!("stats", rota_at(&server.url, &["tenants", "stats", "acme"]).printed());
    let stats = rota_at(&server.url, &["tenants", "stats", "acme", "--json"]).json();
    assert_eq!(stats["queues"][1]["shard"], "shard:acme:reports");
    assert_eq!(server.asked()[0], "GET /ojs/v1/admin/tenants/acme/stats");
}

#[test]
fn limits_are_shown_with_their_use() {
    let limits = r#"{"tenant_id": "acme", "limits": {
        "max_concurrency": {"limit": 20, "current": 8, "available": 12},
        "max_enqueue_rate": {"limit": {"limit": 1000, "period": "PT1M"}, "current": 13.5},
        "max_queue_depth": {"limit": null, "current": 57}}}"#;
    let server = scripted(&[(200, limits)]);
    looks_like!("limits", rota_at(&server.url, &["tenants", "limits", "acme"]).printed());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/tenants/acme/limits"]);
    let server = scripted(&[(200, r#"{"limits": {}}"#)]);
    let ran = rota_at(&server.url, &["tenants", "limits", "acme"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", "acme has no limits\n"));
}

#[test]
fn changes_say_what_was_changed() {
    let changes = r#"{"items": [
        {"at": "2020-01-01T00:00:00Z", "what": "limits", "reason": "their API is down",
         "before": {"limits": {"max_concurrency": 10}, "fairness_weight": 5},
         "after": {"limits": {"max_concurrency": 5}, "fairness_weight": 5}},
        {"what": "put", "before": null, "after": {"fairness_weight": 5}}
    ], "pagination": {"total": 2, "page": 1, "per_page": 100}}"#;
    let server = scripted(&[(200, changes)]);
    let text = rota_at(&server.url, &["tenants", "changes", "acme"]).printed();
    assert!(text.contains("limits  their API is down  limits.max_concurrency 10 -> 5"), "{text}");
    assert!(text.contains("put                        fairness_weight none -> 5"), "{text}");
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/tenants/acme/changes?per_page=100"]);
    let list = rota_at(&server.url, &["tenants", "changes", "acme", "--json"]).json();
    assert_eq!(list["changes"][0]["what"], "limits");
}

#[test]
fn an_unknown_tenant_is_exit_code_4() {
    let missing = r#"{"error": {"code": "not_found", "message": "There is no tenant 'x'."}}"#;
    let server = scripted(&[(404, missing)]);
    for action in ["show", "stats", "limits", "changes", "release"] {
        let message = rota_at(&server.url, &["tenants", action, "x"]).failed(4);
        assert!(message.contains("There is no tenant 'x'."), "{message}");
    }
}

const USAGE: &str = r#"{
    "tenant_id": "acme", "per": "day", "from": "2026-10-19T00:00:00.000Z", "to": "2026-11-17T17:30:11.201Z",
    "items": [
        {"from": "2026-11-16T00:00:00.000Z", "to": "2026-11-17T00:00:00.000Z",
         "jobs": {"enqueued": 1204, "started": 1210, "completed": 1190, "failed": 20, "discarded": 2},
         "run_time_ms": 98231, "accepted_bytes": 270418},
        {"from": "2026-11-17T00:00:00.000Z", "to": "2026-11-18T00:00:00.000Z",
         "jobs": {"enqueued": 12, "started": 12, "completed": 12, "failed": 0, "discarded": 0},
         "run_time_ms": 830, "accepted_bytes": 902}
    ],
    "total": {"jobs": {"enqueued": 1216, "started": 1222, "completed": 1202, "failed": 20, "discarded": 2},
              "run_time_ms": 99061, "accepted_bytes": 271320}
}"#;

#[test]
fn usage_is_a_table_with_a_total() {
    let server = scripted(&[(200, USAGE), (200, USAGE)]);
    let from = "2026-10-19T00:00:00Z";
    let arguments = ["tenants", "usage", "acme", "--per", "day", "--from", from];
    looks_like!("usage", rota_at(&server.url, &arguments).printed());
    let json = rota_at(&server.url, &["tenants", "usage", "acme", "--json"]).json();
    assert_eq!(json["total"]["jobs"]["enqueued"], 1216);
    assert_eq!(
        server.asked(),
        [
            "GET /ojs/v1/admin/tenants/acme/usage?per=day&from=2026-10-19T00%3A00%3A00Z&per_page=10000",
            "GET /ojs/v1/admin/tenants/acme/usage?per=hour&per_page=10000",
        ]
    );
    rota_at(&server.url, &["tenants", "usage", "acme", "--per", "minute"]).failed(2);
    rota_at(&server.url, &["tenants", "usage", "acme", "--from", "yesterday"]).failed(2);
}
