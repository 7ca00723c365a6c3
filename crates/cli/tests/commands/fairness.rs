use crate::fake::scripted;
use crate::looks_like;
use crate::run::rota_at;

pub const SHARES: &str = r#"{
    "scope": "queue", "pools_with_other_scope": [], "charge_own_workers": false,
    "strategy": "weighted", "cost": "job", "priority_scope": "global", "enabled": true, "window": "PT1M",
    "tenants": [
        {"tenant_id": "acme", "weight": 5, "effective_weight": 5, "backlog": 1200, "active": 8,
         "entitled_share": 0.5, "actual_share": 0.48, "dispatched_1m": 480, "throttled": false},
        {"tenant_id": "globex", "weight": 4, "effective_weight": 0.8, "backlog": 90000, "active": 4,
         "entitled_share": 0.2, "actual_share": 0.4, "dispatched_1m": 400, "throttled": true},
        {"tenant_id": "initech", "weight": 3, "effective_weight": 3, "backlog": 0, "active": 1,
         "entitled_share": 0.3, "actual_share": 0.12, "dispatched_1m": 120, "throttled": false}
    ],
    "total_dispatched_1m": 1000
}"#;

const QUEUES: &str = r#"{
    "queues": [
        {"name": "critical", "dispatch_count_1m": 142, "dispatch_ratio_1m": 0.45, "avg_wait_ms": 12, "active_jobs": 8},
        {"name": "low", "dispatch_count_1m": 0, "dispatch_ratio_1m": 0, "avg_wait_ms": null, "active_jobs": 0, "starved": true}
    ],
    "window": "PT1M", "stats": {"total_dispatched_1m": 142}
}"#;

#[test]
fn entitled_and_actual_shares_stand_side_by_side() {
    let server = scripted(&[(200, SHARES)]);
    looks_like!("tenants", rota_at(&server.url, &["fairness"]).printed());
    rota_at(&server.url, &["fairness", "--limit", "5"]).printed();
    assert_eq!(
        server.asked(),
        ["GET /ojs/v1/admin/fairness", "GET /ojs/v1/admin/fairness?limit=5"]
    );
    let shares = rota_at(&server.url, &["fairness", "--json"]).json();
    assert_eq!(shares["tenants"][1]["throttled"], true);
    assert_eq!(shares["scope"], "queue");
}

#[test]
fn a_sentence_says_what_the_shares_are_counted_over() {
    for (fields, sentence) in [
        (r#""scope": "queue""#, Some("Shares are counted in each queue by itself.")),
        (
            r#""scope": "queue", "pools_with_other_scope": ["mail", "gpu"]"#,
            Some(
                "Shares are counted in each queue by itself; 2 pools count their queues together.",
            ),
        ),
        (
            r#""scope": "pool", "pools_with_other_scope": ["mail"], "charge_own_workers": true"#,
            Some(
                "Shares are counted over all queues of a pool or fetch together; the pool 'mail' counts \
                 each queue by itself. What a tenant's own workers take counts too.",
            ),
        ),
        (r#""scope": "queue", "enabled": false"#, None),
        (r#""strategy": "weighted""#, None),
    ] {
        let answer = format!(r#"{{{fields}, "tenants": []}}"#);
        let text = rota_at(&scripted(&[(200, &answer)]).url, &["fairness"]).stdout;
        assert_eq!(text.lines().nth(1), sentence, "{text}");
    }
}

#[test]
fn queues_have_their_shares_too() {
    let server = scripted(&[(200, QUEUES)]);
    looks_like!("queues", rota_at(&server.url, &["fairness", "--queues"]).printed());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/scheduling/stats"]);
    let stats = rota_at(&server.url, &["fairness", "--queues", "--json"]).json();
    assert_eq!(stats["stats"]["total_dispatched_1m"], 142);
}

#[test]
fn no_tenants_is_explained() {
    let server = scripted(&[(200, r#"{"enabled": false, "tenants": []}"#)]);
    let ran = rota_at(&server.url, &["fairness"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.starts_with("no fairness, in the order of enqueueing; 0 jobs"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.starts_with("no tenants yet"), "{}", ran.stderr);
}

#[test]
fn queues_of_tenants_are_listed_separately() {
    let stats = r#"{"queues": [{"name": "email", "tenant_id": "acme", "dispatch_count_1m": 3},
        {"name": "email", "tenant_id": "globex", "dispatch_count_1m": 1}]}"#;
    let text = rota_at(&scripted(&[(200, stats)]).url, &["fairness", "--queues"]).printed();
    assert!(text.starts_with("QUEUE  TENANT  DISPATCHED "), "{text}");
    assert!(text.contains("\nemail  acme             3 "), "{text}");
    assert!(text.contains("\nemail  globex           1 "), "{text}");
}
