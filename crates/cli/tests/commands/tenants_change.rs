use crate::fake::scripted;
use crate::looks_like;
use serde_json::json;

use crate::run::{rota, rota_at};
use crate::tenants::STATS;

const TENANT: &str = r#"{
    "tenant_id": "acme", "origin": "api",
    "limits": {"max_concurrency": 10, "max_enqueue_rate": {"limit": 1000, "period": "PT1M"},
               "max_queue_depth": null, "max_scheduled": 5, "max_bytes": 1048576},
    "fairness_weight": 5, "priority_boost": 0, "max_priority": null, "quota": "soft", "configured": true,
    "request_limits": {"enqueue": "600/50", "inspect": "off"},
    "throttle": null, "file": {"weight": 3}, "reason": "trial", "tenant": {"tenant_id": "acme"}
}"#;

#[test]
fn a_tenant_is_shown() {
    let server = scripted(&[(200, TENANT)]);
    looks_like!("show", rota_at(&server.url, &["tenants", "show", "acme"]).printed());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/tenants/acme"]);
    let tenant = rota_at(&server.url, &["tenants", "show", "acme", "--json"]).json();
    assert_eq!(tenant["file"]["weight"], 3);
}

#[test]
fn a_tenant_is_set_with_every_option() {
    let server = scripted(&[(201, TENANT)]);
    #[rustfmt::skip]
    let arguments = [
        "tenants", "set", "acme", "--weight", "5", "--max-concurrency", "10", "--max-queue-depth",
        "50000", "--max-scheduled", "5", "--max-bytes", "1mb", "--max-enqueue-rate", "1000/1m", "--priority-boost", "-3",
        "--max-priority", "50", "--quota", "soft", "--reason", "trial",
        "--request-limit", "enqueue=600/50", "--request-limit", "admin=none",
    ];
    let text = rota_at(&server.url, &arguments).printed();
    assert!(text.starts_with("tenant            acme\n"), "{text}");
    let body = concat!(
        r#"{"limits":{"max_concurrency":10,"max_enqueue_rate":{"limit":1000,"period":"PT1M"},"#,
        r#""max_queue_depth":50000,"max_scheduled":5,"max_bytes":1048576},"fairness_weight":5,"priority_boost":-3,"#,
        r#""max_priority":50,"quota":"soft","request_limits":{"admin":null,"enqueue":"600/50"},"reason":"trial"}"#
    );
    rota_at(&server.url, &[&arguments[..], &["--replace"]].concat()).printed();
    let merged = format!("PUT /ojs/v1/admin/tenants/acme/limits {body}");
    assert_eq!(server.asked(), [merged, format!("PUT /ojs/v1/admin/tenants/acme {body}")]);
}

#[test]
fn what_is_not_given_stays_unless_all_is_replaced() {
    let server = crate::support::Server::start();
    let set = |options: &[&str]| {
        rota(&server, &[&["tenants", "set", "acme", "--json"], options].concat()).json()
    };
    set(&["--weight", "5", "--max-enqueue-rate", "1000/1m"]);
    let tenant = set(&["--max-concurrency", "10"]);
    assert_eq!(
        (&tenant["fairness_weight"], &tenant["limits"]["max_concurrency"]),
        (&json!(5), &json!(10))
    );
    assert_eq!(tenant["limits"]["max_enqueue_rate"]["limit"], 1000);
    let tenant = set(&["--max-concurrency", "0", "--replace"]);
    assert_eq!(
        (&tenant["fairness_weight"], &tenant["limits"]["max_enqueue_rate"]),
        (&json!(1), &json!(null))
    );
    let text = rota(&server, &["tenants", "show", "acme"]).printed();
    assert!(text.contains("\nmax concurrency   0 (no job starts)\n"), "{text}");
}

#[test]
fn single_limits_are_changed_and_taken_away() {
    let server = scripted(&[(200, TENANT)]);
    #[rustfmt::skip]
    let arguments = [
        "tenants", "limits", "acme", "--max-concurrency", "none", "--weight", "0.5", "--json",
    ];
    assert_eq!(rota_at(&server.url, &arguments).json()["tenant_id"], "acme");
    let body = r#"{"limits":{"max_concurrency":null},"fairness_weight":0.5}"#;
    assert_eq!(server.asked(), [format!("PUT /ojs/v1/admin/tenants/acme/limits {body}")]);
}

#[test]
fn mistakes_are_explained_before_anything_is_sent() {
    let server = scripted(&[(200, TENANT)]);
    let message = |action: &str, options: &[&str]| {
        let arguments = [&["tenants", action, "acme"], options].concat();
        rota_at(&server.url, &arguments).failed(2)
    };
    assert!(message("set", &[]).contains("nothing is given to set"));
    assert!(message("set", &["--reason", "x"]).contains("nothing is given to set"));
    assert!(message("limits", &["--reason", "x"]).contains("nothing to change"));
    assert!(message("set", &["--weight", "0"]).contains("a number above 0"));
    assert!(
        message("set", &["--max-concurrency", "-1"])
            .contains("a whole number of at least 0, or none")
    );
    assert!(
        message("set", &["--max-concurrency", "x"])
            .contains("a whole number of at least 0, or none")
    );
    assert!(message("set", &["--max-enqueue-rate", "1000"]).contains("a rate such as 100/1m"));
    assert!(message("set", &["--quota", "x"]).contains("possible values: hard, soft"));
    for action in ["show", "stats", "changes", "limits", "release", "delete"] {
        let message = rota_at(&server.url, &["tenants", action, ""]).failed(2);
        assert!(message.contains("invalid value '' for '<ID>"), "{message}");
    }
    assert!(server.asked().is_empty());
}

#[test]
fn a_throttle_is_ended() {
    let server = scripted(&[(200, TENANT)]);
    assert_eq!(rota_at(&server.url, &["tenants", "release", "acme"]).printed(), "acme released\n");
    assert_eq!(server.asked(), ["POST /ojs/v1/admin/tenants/acme/release"]);
    let none = r#"{"error": {"code": "conflict", "message": "The tenant is not throttled."}}"#;
    rota_at(&scripted(&[(409, none)]).url, &["tenants", "release", "acme"]).failed(5);
}

#[test]
fn deleting_asks_first() {
    let server = scripted(&[(200, STATS)]);
    let message = rota_at(&server.url, &["tenants", "delete", "acme"]).failed(2);
    assert!(
        message.contains("this would delete what is configured for the tenant acme"),
        "{message}"
    );
    let message = rota_at(&server.url, &["tenants", "delete", "acme", "--purge"]).failed(2);
    looks_like!("unconfirmed", message);
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/tenants/acme/stats"]);
}

#[test]
fn a_tenant_is_deleted_alone_or_with_its_jobs() {
    let gone = r#"{"deleted": true, "tenant_id": "acme", "purged_jobs": 0}"#;
    let server = scripted(&[(200, gone)]);
    let text = rota_at(&server.url, &["tenants", "delete", "acme", "--yes"]).printed();
    assert_eq!(text, "acme deleted\n");
    assert_eq!(server.asked(), ["DELETE /ojs/v1/admin/tenants/acme"]);

    let gone = r#"{"deleted": true, "tenant_id": "acme", "purged_jobs": 58}"#;
    let server = scripted(&[(200, STATS), (200, gone)]);
    let text = rota_at(&server.url, &["tenants", "delete", "acme", "--purge", "--yes"]).printed();
    assert_eq!(text, "acme deleted, with 58 jobs\n");
    let deletion = r#"DELETE /ojs/v1/admin/tenants/acme?purge=true {"confirm":true}"#;
    assert_eq!(server.asked()[1], deletion);

    let busy = r#"{"error": {"code": "conflict", "message": "The tenant has 58 live jobs.",
        "hint": "Wait for them, or send ?purge=true.", "details": {"live_jobs": 58}}}"#;
    let server = scripted(&[(409, busy)]);
    let message = rota_at(&server.url, &["tenants", "delete", "acme", "--yes"]).failed(5);
    assert!(message.contains("--purge") && !message.contains("?purge"), "{message}");
    let error =
        rota_at(&server.url, &["tenants", "delete", "acme", "--yes", "--json"]).json_error(5);
    assert_eq!(error["details"]["live_jobs"], 58);
}

#[test]
fn a_noisy_tenant_is_called_so() {
    let noisy = r#""noisy": {"signal": "queue_depth", "value": 42.5, "threshold": 10, "since": "2020-01-01T00:00:00Z",
        "action": "throttled"}, "throttle": null"#;
    let line = "queue_depth 42.5 (threshold 10), since ";
    let tenant = TENANT.replace(r#""throttle": null"#, noisy);
    let text = rota_at(&scripted(&[(200, &tenant)]).url, &["tenants", "show", "acme"]).printed();
    assert!(text.contains(&format!("\nnoisy             {line}")), "{text}");
    let stats = STATS.replace(r#""total_jobs": 66"#, &noisy.replace(r#", "throttle": null"#, ""));
    let text = rota_at(&scripted(&[(200, &stats)]).url, &["tenants", "stats", "acme"]).printed();
    assert!(text.contains(line) && text.contains("d ago, throttled\n"), "{text}");
    for quiet in [TENANT.replace(r#""throttle": null"#, r#""noisy": null"#), TENANT.to_owned()] {
        let text = rota_at(&scripted(&[(200, &quiet)]).url, &["tenants", "show", "acme"]).printed();
        assert!(!text.contains("noisy"), "{text}");
    }
}
