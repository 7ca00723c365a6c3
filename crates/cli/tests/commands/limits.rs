use serde_json::json;

use crate::fake::{nobody, scripted};
use crate::looks_like;
use crate::run::{rota, rota_at};
use crate::support::Server;

const STRIPE: &str = r#"{
    "key": "stripe", "scope": "global",
    "concurrency": {"limit": 5, "active": 3, "available": 2},
    "rate": {"limit": 100, "period": "PT1M", "current_count": 40, "window_resets_at": null},
    "throttle": {"limit": 10, "period": "PT1S", "next_allowed_at": null},
    "on_limit": "wait", "waiting_count": 120, "paused_until": null, "pause_reason": null,
    "override": {"concurrency": null, "rate": {"limit": 50, "period": "PT1M"}, "throttle": null,
                 "expires_at": null, "reason": "they asked"},
    "declared": true, "declaration": {"concurrency": 5, "rate": null, "throttle": null},
    "reason": "they asked", "mixed": true
}"#;

const BY_TENANT: &str = r#"{
    "key": "crm", "scope": "tenant", "concurrency": null, "rate": null, "throttle": null, "on_limit": "drop",
    "waiting_count": 1, "declared": true, "partitions": [
        {"key": "crm", "scope": "tenant", "tenant_id": "acme", "concurrency": {"limit": 1, "active": 1}, "waiting_count": 1},
        {"key": "crm", "scope": "tenant", "tenant_id": "globex", "concurrency": {"limit": 1}, "waiting_count": 0}
    ]
}"#;

#[test]
fn limits_are_listed() {
    let list = format!(
        r#"{{"items": [{STRIPE}, {BY_TENANT}], "pagination": {{"total": 2, "page": 1, "per_page": 100}}}}"#
    );
    let server = scripted(&[(200, &list)]);
    looks_like!("list", rota_at(&server.url, &["limits"]).printed());
    let list = rota_at(&server.url, &["limits", "list", "--prefix", "st", "--json"]).json();
    assert_eq!((&list["total"], &list["rate_limits"][0]["key"]), (&json!(2), &json!("stripe")));
    assert_eq!(
        server.asked(),
        ["GET /ojs/v1/rate-limits?per_page=100", "GET /ojs/v1/rate-limits?prefix=st&per_page=100"]
    );
}

#[test]
fn a_key_is_shown() {
    let server = scripted(&[(200, STRIPE)]);
    looks_like!("show", rota_at(&server.url, &["limits", "show", "stripe"]).printed());
    let limit = rota_at(&server.url, &["limits", "show", "stripe", "--json"]).json();
    assert_eq!(limit["override"]["reason"], "they asked");
    assert_eq!(server.asked()[0], "GET /ojs/v1/rate-limits/stripe");
}

#[test]
fn a_key_by_tenant_is_shown_with_its_parts() {
    let server = scripted(&[(200, BY_TENANT)]);
    looks_like!("partitions", rota_at(&server.url, &["limits", "show", "crm"]).printed());
    rota_at(&server.url, &["limits", "show", "crm", "--tenant", "acme"]).printed();
    assert_eq!(server.asked()[1], "GET /ojs/v1/rate-limits/crm?tenant=acme as acme");
}

#[test]
fn a_key_is_set() {
    let server = scripted(&[(200, STRIPE)]);
    #[rustfmt::skip]
    let arguments = [
        "limits", "set", "stripe", "--concurrency", "5", "--rate", "100/1m", "--throttle", "none",
        "--for", "1h", "--reason", "they asked",
    ];
    let text = rota_at(&server.url, &arguments).printed();
    assert!(text.starts_with("key          stripe\n"), "{text}");
    rota_at(&server.url, &["limits", "set", "type:a.b", "--concurrency", "0", "--tenant", "t"])
        .printed();
    let body = concat!(
        r#"{"concurrency":5,"rate":{"limit":100,"period":"PT1M"},"throttle":null,"#,
        r#""expires_in":"PT1H","reason":"they asked"}"#
    );
    let expected = [
        "GET /ojs/v1/rate-limits/stripe".to_owned(),
        format!("PUT /ojs/v1/rate-limits/stripe {body}"),
        r#"PUT /ojs/v1/rate-limits/type%3Aa.b?tenant=t {"concurrency":0} as t"#.to_owned(),
    ];
    assert_eq!(server.asked(), expected);
}

#[test]
fn a_key_is_paused_and_resumed() {
    let paused =
        STRIPE.replace(r#""paused_until": null"#, r#""paused_until": "2027-01-01T00:00:00Z""#);
    let server = scripted(&[(200, &paused)]);
    let text = rota_at(&server.url, &["limits", "pause", "stripe", "--for", "10m"]).printed();
    assert!(text.starts_with("stripe paused until 2027-01-01T00:00:00Z ("), "{text}");
    #[rustfmt::skip]
    let until = [
        "limits", "pause", "stripe", "--until", "2027-01-01T06:00:00+01:00", "--reason", "theirs", "--json",
    ];
    assert_eq!(rota_at(&server.url, &until).json()["key"], "stripe");
    let text = rota_at(&server.url, &["limits", "resume", "stripe"]).printed();
    assert_eq!(text, "stripe resumed\n");
    let asked = server.asked();
    let begin = r#"PUT /ojs/v1/rate-limits/stripe {"paused_until":"#;
    assert!(asked[0].starts_with(begin) && asked[0].ends_with(r#"Z"}"#), "{asked:?}");
    assert_eq!(asked[1], format!(r#"{begin}"2027-01-01T05:00:00Z","reason":"theirs"}}"#));
    assert_eq!(asked[2], format!("{begin}null}}"));
    let ahead = scripted(&[(200, STRIPE)]);
    let message = rota_at(&ahead.url, &["limits", "pause", "stripe", "--for", "10m"]).failed(1);
    assert!(message.contains("nothing is paused"), "{message}");
}

#[test]
fn keys_are_cleared() {
    let server = scripted(&[(200, STRIPE)]);
    let text = rota_at(&server.url, &["limits", "clear", "stripe", "crm"]).printed();
    assert_eq!(text, "stripe cleared\ncrm cleared\n");
    assert_eq!(
        server.asked(),
        ["DELETE /ojs/v1/rate-limits/stripe", "DELETE /ojs/v1/rate-limits/crm"]
    );
    let missing = r#"{"error": {"code": "not_found", "message": "There is no rate limit 'x'."}}"#;
    rota_at(&scripted(&[(404, missing)]).url, &["limits", "clear", "x"]).failed(4);
    rota_at(&scripted(&[(404, missing)]).url, &["limits", "resume", "x"]).failed(4);
    let server = scripted(&[(200, STRIPE), (404, missing)]);
    let ran = rota_at(&server.url, &["limits", "clear", "stripe", "x"]);
    assert_eq!((ran.code, &*ran.stdout), (4, "stripe cleared\n"));
    assert!(ran.stderr.contains("1 of 2 rate limits could not be cleared:"), "{}", ran.stderr);
}

#[test]
fn an_override_that_lifts_limits_warns() {
    let server = Server::start();
    let set = |options: &[&str]| rota(&server, &[&["limits", "set", "k"], options].concat());
    let text = set(&["--rate", "100/1m", "--concurrency", "5", "--reason", "agreed"]).printed();
    assert!(text.contains("\ndeclared     concurrency 5, rate 100/1m\n"), "{text}");
    assert!(text.contains("\nreason       agreed\n"), "{text}");
    // What is not named stays declared.
    let text = set(&["--throttle", "10/s"]).printed();
    assert!(text.contains("\ndeclared     concurrency 5, rate 100/1m, throttle 10/1s\n"), "{text}");

    let ran = set(&["--rate", "50/1m", "--concurrency", "none", "--for", "1h", "--reason", "less"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let warning = "warning: not named, so lifted while this lasts: throttle 10/1s\n";
    assert_eq!(ran.stderr, warning);
    assert!(ran.stdout.contains("\nconcurrency    none\n"), "{}", ran.stdout);
    let instead = "\noverride       rate 50/1m, instead of all other numbers\noverride ends  ";
    assert!(ran.stdout.contains(instead), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nreason         less\n"), "{}", ran.stdout);
    // What an override said stays while it lasts.
    set(&["--concurrency", "3", "--for", "1h"]).printed();
    let options = ["--rate", "1/m", "--for", "1h"];
    let queue = [&["queues", "limit", "q"], &options[..]].concat();
    rota(&server, &["queues", "limit", "q", "--concurrency", "5"]).printed();
    assert!(rota(&server, &queue).stderr.ends_with("while this lasts: concurrency 5\n"));
    rota(&server, &["queues", "limit", "r", "--concurrency", "5"]).printed();
    let json = [&["queues", "limit", "r", "--json"], &options[..]].concat();
    assert_eq!(rota(&server, &json).json()["concurrency"], json!(null));
}

#[test]
fn the_help_tells_declarations_from_overrides() {
    let help = rota_at("", &["limits", "set", "--help"]).printed();
    assert!(
        help.contains("replaces all\nnumbers that jobs carry") && help.contains("is lifted"),
        "{help}"
    );
    assert!(!help.contains("counts instead of what the jobs carry"), "{help}");
}

#[test]
fn mistakes_are_explained() {
    let message =
        |arguments: &[&str]| rota_at(&nobody(), &[&["limits"], arguments].concat()).failed(2);
    assert!(message(&["set", "k"]).contains("no limit is given"));
    assert!(message(&["set", "k", "--for", "1h"]).contains("no limit is given"));
    assert!(message(&["set", "k", "--rate", "x"]).contains("a rate such as 100/1m"));
    assert!(message(&["set", "k", "--rate", "1/s", "--for", "x"]).contains("a duration such as"));
    assert!(message(&["pause", "k"]).contains("--for <DURATION>"));
    message(&["pause", "k", "--for", "1h", "--until", "2027-01-01T00:00:00Z"]);
    message(&["pause", "k", "--until", "tomorrow"]);
    let past = message(&["pause", "k", "--until", "2020-01-01T00:00:00Z"]);
    assert!(past.contains("2020-01-01T00:00:00Z has passed, so nothing would be paused"), "{past}");
    assert!(message(&["pause", "k", "--for", "0s"]).contains("longer than 0"));
    assert!(message(&["set", "k", "--rate", "1/s", "--for", "0s"]).contains("longer than 0"));
    assert!(message(&["show", ""]).contains("invalid value '' for '<KEY>': it is empty"));
}
