//! Times that never were.

use serde_json::json;

use super::{ask, assert_alive, assert_decided, assert_refused_with, post};
use crate::support::Server;

const NEVER: [&str; 22] = [
    "",
    " ",
    "now",
    "2026",
    "99999-01-01T00:00:00Z",
    "+99999-01-01T00:00:00Z",
    "0000-00-00T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2016-12-31T23:59:60Z",
    "2026-01-01T00:00:00",
    "2026-01-01 00:00:00",
    "2026-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00ZZ",
    "-2026-01-01T00:00:00Z",
    "２０２６-01-01T00:00:00Z",
    "+PT",
    "+P",
    "+-PT5S",
    "+P99999999999999999999Y",
];

#[test]
fn absurd_times_are_refused() {
    let server = Server::start();
    for time in NEVER {
        for field in ["scheduled_at", "delay_until", "expires_at"] {
            let job = json!({"type": "a", "args": [], field: time});
            assert_refused_with(&post(&server, "/ojs/v1/jobs", &job), &[400, 422], time);
        }
        let purge = json!({"confirm": true, "states": ["completed"], "older_than": time});
        let path = "/ojs/v1/admin/queues/default/jobs";
        let answer = ask(&server, "DELETE", path, purge.to_string().as_bytes());
        assert_refused_with(&answer, &[400, 404, 422], time);
        let encoded: String = time.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for path in ["/ojs/v1/admin/jobs", "/ojs/v1/admin/stats/history", "/ojs/v1/dead-letter"] {
            let query = format!("{path}?since={encoded}&until={encoded}");
            assert_decided(&ask(&server, "GET", &query, b""), &query);
        }
    }
    assert_alive(&server);
}

#[test]
fn times_at_the_edge_are_taken_or_refused() {
    let server = Server::start();
    let long = format!("2026-01-01T00:00:00.{}Z", "9".repeat(100_000));
    for time in [
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "1969-12-31T23:59:59.999Z",
        "9999-12-31T23:59:59.999Z",
        "9999-12-31T23:59:59-23:59",
        "+P0D",
        "+PT0.000000000000000000001S",
        "+P9000Y",
        &long,
    ] {
        for field in ["scheduled_at", "expires_at"] {
            let what = &time[..time.len().min(60)];
            let job = json!({"type": "a", "args": [], "queue": "edge", field: time});
            assert_decided(&post(&server, "/ojs/v1/jobs", &job), what);
        }
        let query =
            format!("/ojs/v1/admin/stats/history?period=1d&since={}", &time[..time.len().min(99)]);
        assert_decided(&ask(&server, "GET", &query, b""), &query);
    }
    // Whatever was taken is still listed, fetched or expired without trouble.
    assert_eq!(server.get("/ojs/v1/admin/jobs?queue=edge").status, 200);
    server.fetch("edge", 100);
    assert_alive(&server);
}

#[test]
fn absurd_schedules_are_refused() {
    let server = Server::start();
    let star = "*,".repeat(5_000);
    for expression in [
        "",
        " ",
        "* * * *",
        "60 * * * *",
        "* * * * * * *",
        "*/0 * * * *",
        "5-1 * * * *",
        "0 0 31 2 *",
        "@never",
        "a b c d e",
        "99999999999999999999 * * * *",
        "*/-1 * * * *",
        "\0 * * * *",
        "٣ * * * *",
        &star,
    ] {
        let cron = json!({"name": "n", "expression": expression, "type": "a"});
        let what = &expression.chars().take(30).collect::<String>();
        assert_refused_with(&post(&server, "/ojs/v1/cron", &cron), &[400, 422], what);
    }
    for zone in ["", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "UTC\0", "+25:00"] {
        let cron = json!({"name": "n", "expression": "* * * * *", "type": "a", "timezone": zone});
        assert_refused_with(&post(&server, "/ojs/v1/cron", &cron), &[400, 422], zone);
    }
    assert_alive(&server);
}
