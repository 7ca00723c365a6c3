//! What a tenant used, by the hour and the day.

use serde_json::{Value, json};

use crate::api::{caller, enqueue_many, of, of_with, start};
use crate::shorthand::{ack, boom, nack};
use crate::support::Server;

const PATH: &str = "/ojs/v1/admin/tenants/acme/usage";

fn usage(server: &Server, query: &str) -> Value {
    server.get(&format!("{PATH}{query}")).expect(200)
}

/// Three jobs: one completed, one discarded, one still active.
fn work(server: &Server) {
    let job = of_with("acme", "q", json!({"retry": {"max_attempts": 1}}));
    let sent = enqueue_many(server, &job, 3);
    enqueue_many(server, &of("beta", "other"), 5);
    assert_eq!(server.fetch("q", 3).len(), 3);
    ack(server, &sent[0]);
    nack(server, &sent[1], boom());
}

#[test]
fn usage_is_exact_after_the_server_was_killed() {
    let mut server = start(&[]);
    let expected = |rounds: u64| {
        json!({
            "enqueued": 3 * rounds, "started": 3 * rounds, "completed": rounds, "failed": rounds,
            "discarded": rounds,
        })
    };
    work(&server);
    let before = usage(&server, "");
    assert_eq!(before["total"]["jobs"], expected(1), "{before}");
    let bytes = before["total"]["accepted_bytes"].as_u64().unwrap();
    assert!(bytes > 0 && before["total"]["run_time_ms"].is_u64(), "{before}");
    for rounds in 2..4 {
        server.kill();
        server.restart();
        assert_eq!(usage(&server, "")["total"]["jobs"], expected(rounds - 1));
        work(&server);
        for per in ["hour", "day"] {
            let after = usage(&server, &format!("?per={per}"));
            assert_eq!(after["total"]["jobs"], expected(rounds), "{after}");
            assert_eq!(after["total"]["accepted_bytes"], bytes * rounds, "{after}");
        }
    }
}

#[test]
fn usage_has_periods_and_pages() {
    let server = start(&[]);
    work(&server);
    let days = usage(&server, "?per=day");
    let item = &days["items"][0];
    assert_eq!((&days["per"], &days["tenant_id"]), (&json!("day"), &json!("acme")));
    for key in ["from", "to"] {
        assert!(item[key].as_str().is_some_and(|time| time.contains("T00:00:00")), "{item}");
    }
    assert_eq!(days["pagination"]["total"], days["items"].as_array().unwrap().len(), "{days}");
    let past = usage(&server, "?per=day&from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z");
    assert_eq!((&past["items"], &past["total"]["jobs"]["enqueued"]), (&json!([]), &json!(0)));
    let none = usage(&server, "?page=9&per_page=1");
    assert_eq!(none["items"], json!([]));
    assert_eq!(none["total"]["jobs"]["enqueued"], 3, "the total is of the whole range");
}

#[test]
fn a_tenant_sees_its_own_usage_and_nobody_elses() {
    let server = start(&[]);
    work(&server);
    let own = caller(&server, "acme").get(PATH).expect(200);
    assert_eq!(own["total"]["jobs"]["enqueued"], 3, "{own}");
    caller(&server, "beta").get(PATH).expect(404);
    server.get("/ojs/v1/admin/tenants/nobody/usage").expect(404);
}

#[test]
fn bad_questions_about_usage_are_refused() {
    let server = start(&[]);
    work(&server);
    for query in [
        "?per=minute",
        "?from=yesterday",
        "?since=2026-01-01T00:00:00Z",
        "?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
        "?per_page=0",
    ] {
        server.get(&format!("{PATH}{query}")).expect_error(400, "invalid_request");
    }
}
