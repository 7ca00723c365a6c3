//! Numbers that no field can hold.

use serde_json::json;

use super::{ask, assert_alive, assert_decided, assert_refused_with};
use crate::support::Server;

/// Written out, since a parser would have its own opinion of them.
const NUMBERS: [&str; 13] = [
    "1e999",
    "-1e999",
    "18446744073709551616",
    "18446744073709551615",
    "9223372036854775808",
    "9223372036854775807",
    "-9223372036854775809",
    "-9223372036854775808",
    "4294967296",
    "0.1",
    "1.0",
    "-0",
    "1e2",
];
/// The first so many overflow a double, and are rejected anywhere.
const OVERFLOWING: usize = 2;
/// The first so many are out of every range.
const IMPOSSIBLE: usize = 8;

#[test]
fn absurd_numbers_are_refused() {
    let server = Server::start();
    let job = |field: &str, number: &str| match field.split_once('.') {
        Some((outer, inner)) => {
            format!(r#"{{"type":"a","args":[],"{outer}":{{"{inner}":{number}}}}}"#)
        }
        None => format!(r#"{{"type":"a","args":[],"{field}":{number}}}"#),
    };
    let job_fields = [
        "priority",
        "timeout",
        "timeout_ms",
        "visibility_timeout",
        "visibility_timeout_ms",
        "retry.max_attempts",
        "retry.initial_interval_ms",
        "retry.max_interval_ms",
    ];
    let fetch_fields = ["count", "wait_ms", "visibility_timeout", "visibility_timeout_ms"];
    for (i, number) in NUMBERS.into_iter().enumerate() {
        let jobs = job_fields.map(|field| ("/ojs/v1/jobs", job(field, number)));
        let fetches = fetch_fields.map(|field| {
            ("/ojs/v1/workers/fetch", format!(r#"{{"queues":["none"],"{field}":{number}}}"#))
        });
        for (path, body) in jobs.into_iter().chain(fetches) {
            // A fetch may wait as long as it says, and this test does not.
            if body.contains("wait_ms") && i >= IMPOSSIBLE {
                continue;
            }
            let answer = ask(&server, "POST", path, body.as_bytes());
            if i < IMPOSSIBLE {
                assert_refused_with(&answer, &[400, 422], &body);
            } else {
                assert_decided(&answer, &body);
            }
        }
    }
    assert_alive(&server);
}

#[test]
fn numbers_in_arguments_come_back_as_they_were() {
    let server = Server::start();
    let args = format!("[{}]", NUMBERS[OVERFLOWING..].join(","));
    let body = format!(r#"{{"type":"a","args":{args},"meta":{{"n":{args}}}}}"#);
    let taken = ask(&server, "POST", "/ojs/v1/jobs", body.as_bytes());
    assert_eq!(taken.status, 201, "{}", taken.text());
    assert!(taken.text().contains(&args), "{}", taken.text());
    let fetched = ask(&server, "POST", "/ojs/v1/workers/fetch", br#"{"queues":["default"]}"#);
    assert!(fetched.text().contains(&args), "{}", fetched.text());
}

#[test]
fn numbers_in_a_schedule_come_back_as_they_were() {
    let server = Server::start();
    let cron = r#"{"name":"n","expression":"0 0 1 1 *","type":"a","args":[1e300]}"#;
    let taken = ask(&server, "POST", "/ojs/v1/cron", cron.as_bytes());
    assert_eq!(taken.status, 201, "{}", taken.text());
    let shown = ask(&server, "GET", "/ojs/v1/cron/n", b"");
    assert!(shown.text().contains("1e300"), "{}", shown.text());
}

#[test]
fn the_steepest_backoff_stays_within_its_bounds() {
    let server = Server::start();
    for (i, (coefficient, strategy)) in [
        ("1e308", "exponential"),
        ("1.7976931348623157e308", "polynomial"),
        ("1e300", "linear"),
        ("9223372036854775808", "none"),
    ]
    .into_iter()
    .enumerate()
    {
        let queue = format!("q{i}");
        let body = format!(
            r#"{{"type":"a","args":[],"queue":"{queue}","retry":{{"max_attempts":1000000,
            "backoff_coefficient":{coefficient},"backoff_strategy":"{strategy}",
            "initial_interval_ms":1,"max_interval_ms":1}}}}"#
        );
        let taken = ask(&server, "POST", "/ojs/v1/jobs", body.as_bytes());
        assert_eq!(taken.status, 201, "{}", taken.text());
        let mut runs = 0;
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while runs < 5 {
            for job in server.fetch(&queue, 1) {
                let nack = json!({"job_id": job["id"], "error": {"message": "again"}});
                server.post("/ojs/v1/workers/nack", nack).expect(200);
                runs += 1;
            }
            assert!(std::time::Instant::now() < until, "{strategy}: it does not come back");
        }
    }
    assert_alive(&server);
}

#[test]
fn acks_of_attempts_that_never_happened_are_rejected() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "a", "args": []}));
    server.fetch("default", 1);
    for number in NUMBERS {
        let body = format!(r#"{{"job_id":"{id}","attempt":{number}}}"#);
        let answer = ask(&server, "POST", "/ojs/v1/workers/ack", body.as_bytes());
        assert_refused_with(&answer, &[400, 409, 422], &body);
    }
    let right = json!({"job_id": id, "attempt": 1});
    server.post("/ojs/v1/workers/ack", right).expect(200);
}

#[test]
fn pages_beyond_any_number_are_refused() {
    let server = Server::start();
    for path in ["/ojs/v1/admin/jobs", "/ojs/v1/queues", "/ojs/v1/dead-letter", "/ojs/v1/cron"] {
        for field in ["page", "per_page", "limit", "offset", "cursor"] {
            for value in ["-1", "18446744073709551615", "18446744073709551616", "1e9", "%00", "x"] {
                let query = format!("{path}?{field}={value}");
                assert_decided(&ask(&server, "GET", &query, b""), &query);
            }
        }
    }
    for path in ["/ojs/v1/admin/queues", "/ojs/v1/admin/workers"] {
        for value in ["0", "1000000", "18446744073709551615"] {
            let query = format!("{path}?page={value}&per_page={value}");
            assert_decided(&ask(&server, "GET", &query, b""), &query);
        }
    }
    assert_alive(&server);
}
