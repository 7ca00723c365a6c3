//! How much a queue takes, and how fast it goes.

use crate::fake::{nobody, scripted};
use crate::looks_like;
use crate::run::{rota, rota_at};
use crate::support::Server;

const QUEUE: &str = r#"{
    "name": "email", "state": "active", "configuration": {
        "concurrency": 20, "retention": {"cancelled": null, "completed": "P1D", "discarded": null},
        "backpressure": {"max_size": 1000, "strategy": "reject", "warning_threshold": 0.8}
    }
}"#;

const LIMIT: &str = r#"{
    "key": "queue:email", "scope": "global", "rate": {"limit": 100, "period": "PT1M", "current_count": 0},
    "waiting_count": 0, "declared": true
}"#;

#[test]
fn the_configuration_is_shown() {
    let server = scripted(&[(200, QUEUE)]);
    looks_like!("config", rota_at(&server.url, &["queues", "config", "email"]).printed());
    let queue = rota_at(&server.url, &["queues", "config", "email", "--json"]).json();
    assert_eq!(queue["configuration"]["concurrency"], 20);
    assert_eq!(server.asked()[0], "GET /ojs/v1/admin/queues/email");
}

#[test]
fn what_is_not_said_is_sent_as_it_was() {
    let server = scripted(&[(200, QUEUE)]);
    #[rustfmt::skip]
    let arguments = [
        "queues", "config", "email", "--max-depth", "5000", "--max-size-bytes", "512mb",
        "--backpressure", "drop-oldest", "--warning-threshold", "0.9",
    ];
    rota_at(&server.url, &arguments).printed();
    let asked = server.asked();
    let (request, body) = asked[1].split_once(" {").unwrap();
    assert_eq!(request, "PUT /ojs/v1/admin/queues/email/config");
    let sent: serde_json::Value = serde_json::from_str(&format!("{{{body}")).unwrap();
    let expected = serde_json::json!({
        "concurrency": 20, "retention": {"cancelled": null, "completed": "P1D", "discarded": null},
        "backpressure": {"max_depth": 5000, "max_size_bytes": 536_870_912, "strategy": "drop_oldest",
                         "warning_threshold": 0.9},
    });
    assert_eq!(sent, expected);
}

#[test]
fn a_real_queue_keeps_the_rest_of_its_configuration() {
    let server = Server::start();
    rota(&server, &["queues", "config", "email", "--concurrency", "7"]).printed();
    let body = serde_json::json!({"concurrency": 7, "retention": {"completed": "P1D"}});
    server.put("/ojs/v1/admin/queues/email/config", body).expect(200);
    let text = rota(&server, &["queues", "config", "email", "--concurrency", "none"]).printed();
    assert!(text.contains("concurrency       none\n"), "{text}");
    assert!(text.contains("completed kept    1d\n"), "{text}");
}

#[test]
fn the_rate_limit_of_a_queue_is_shown_set_and_cleared() {
    let server = scripted(&[(200, LIMIT)]);
    looks_like!("limit", rota_at(&server.url, &["queues", "limit", "email"]).printed());
    #[rustfmt::skip]
    let arguments = [
        "queues", "limit", "email", "--rate", "100/1m", "--concurrency", "3", "--json",
    ];
    assert_eq!(rota_at(&server.url, &arguments).json()["key"], "queue:email");
    rota_at(&server.url, &["queues", "limit", "email", "--clear"]).printed();
    let path = "/ojs/v1/admin/queues/email/rate-limit";
    let body = r#"{"concurrency":3,"rate":{"limit":100,"period":"PT1M"}}"#;
    let expected = [format!("GET {path}"), format!("PUT {path} {body}"), format!("DELETE {path}")];
    assert_eq!(server.asked(), expected);
}

#[test]
fn mistakes_are_explained() {
    let config =
        |options: &[&str]| rota_at("", &[&["queues", "config", "q"], options].concat()).failed(2);
    assert!(config(&["--max-size-bytes", "5 apples"]).contains("a size such as 512mb"));
    assert!(config(&["--warning-threshold", "80"]).contains("a number from 0 to 1"));
    assert!(
        config(&["--backpressure", "x"]).contains("possible values: reject, block, drop-oldest")
    );
    let limit = |options: &[&str]| {
        rota_at(&nobody(), &[&["queues", "limit", "q"], options].concat()).failed(2)
    };
    assert!(limit(&["--reason", "x"]).contains("no limit is given"));
    assert!(limit(&["--clear", "--rate", "1/s"]).contains("cannot be used with"));
}

#[test]
fn bounds_of_each_tenant_are_set_and_shown() {
    let server = Server::start();
    let config = |options: &[&str]| {
        rota(&server, &[&["queues", "config", "email"], options].concat()).printed()
    };
    config(&["--max-depth", "100", "--max-depth-per-tenant", "5"]);
    let text = config(&["--max-size-bytes-per-tenant", "1kb"]);
    assert!(text.contains("\nmax depth         100\n"), "{text}");
    assert!(text.contains("\ndepth per tenant  5\n"), "{text}");
    assert!(text.contains("\nbytes per tenant  1,0"), "{text}");
    assert_eq!(config(&[]), text);
    let text = config(&["--max-depth-per-tenant", "0"]);
    assert!(text.contains("\ndepth per tenant  none\n"), "{text}");
    assert!(text.contains("\nbytes per tenant  1,0"), "{text}");
}
