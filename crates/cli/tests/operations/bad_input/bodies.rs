//! Bodies that are not the JSON they should be.

use serde_json::json;

use super::{TAKES_BODY, ask, assert_alive, assert_decided, assert_refused_with};
use crate::support::Server;

const DEPTH: usize = 100;

#[test]
fn what_is_no_json_object_is_refused_by_every_route() {
    let brackets = "[".repeat(100_000);
    let braces = "{\"a\":".repeat(100_000);
    let cases: [(&str, &[u8]); 19] = [
        ("nothing", b""),
        ("white space", b" \r\n\t "),
        ("an open brace", b"{"),
        ("cut off in a string", b"{\"type\":\"a"),
        ("cut off in an array", b"{\"type\":\"a\",\"args\":[1,"),
        ("a comma too many", b"{\"type\":\"a\",\"args\":[],}"),
        ("single quotes", b"{'type':'a','args':[]}"),
        ("a bare word", b"{type:\"a\",\"args\":[]}"),
        ("a comment", b"{\"type\":\"a\",/* */\"args\":[]}"),
        ("not a number", b"{\"type\":\"a\",\"args\":[NaN]}"),
        ("an array", b"[]"),
        ("a string", b"\"job\""),
        ("null", b"null"),
        ("two objects", b"{} {}"),
        ("bad UTF-8", b"{\"type\":\"a\",\"args\":[\"\xff\xfe\"]}"),
        ("a NUL byte", b"{\"type\":\"a\",\"args\":[\"\0\"]}"),
        ("NUL bytes", &[0; 64]),
        ("deep brackets", brackets.as_bytes()),
        ("deep braces", braces.as_bytes()),
    ];
    let server = Server::start();
    for (method, path) in TAKES_BODY {
        for (what, body) in cases {
            let answer = ask(&server, method, path, body);
            assert_refused_with(&answer, &[400, 404], &format!("{what} to {method} {path}"));
        }
        assert_alive(&server);
    }
}

#[test]
fn what_many_parsers_reject_is_rejected_with_its_path() {
    let server = Server::start();
    for (body, path) in [
        (r#"{"type":"a","args":[{"to":{"k":1,"\u006b":2}}]}"#, "args[0].to.k"),
        (r#"{"type":"a","args":[],"meta":{"a":[{"b":1,"b":1}]}}"#, "meta.a[0].b"),
        (r#"{"type":"a","args":[1,[1e999]]}"#, "args[1][0]"),
        (r#"{"type":"a","args":[],"meta":{"n":-1E400}}"#, "meta.n"),
        (r#"{"type":"a","args":["\ud800"]}"#, "args[0]"),
        (r#"{"type":"a","args":[],"meta":{"a":{"\udc00\ud800":1}}}"#, "meta.a"),
        (r#"{"jobs":[{"type":"a","args":[]},{"type":"a","args":[1e999]}]}"#, "jobs[1].args[0]"),
        (r#"{"job_id":"x","result":{"a":1,"a":2}}"#, "result.a"),
    ] {
        for (method, route) in super::TAKES_BODY {
            let answer = ask(&server, method, route, body.as_bytes());
            assert_refused_with(&answer, &[400], body);
            let error = &answer.json()["error"];
            assert_eq!(error["code"], "invalid_payload", "{route}: {error}");
            assert_eq!(error["details"]["field"], path, "{route}: {error}");
        }
    }
    assert_alive(&server);
}

#[test]
fn a_key_given_twice_is_refused() {
    let server = Server::start();
    for (path, body) in [
        ("/ojs/v1/jobs", r#"{"type":"a","type":"b","args":[]}"#),
        ("/ojs/v1/jobs", r#"{"type":"a","args":[],"t\u0079pe":"b"}"#),
        ("/ojs/v1/jobs", r#"{"type":"a","args":[],"state":"completed","state":"x"}"#),
        ("/ojs/v1/jobs", r#"{"type":"a","args":[],"options":{"queue":"q","queue":"r"}}"#),
        ("/ojs/v1/jobs", r#"{"type":"a","args":[],"retry":{"jitter":true,"jitter":false}}"#),
        ("/ojs/v1/jobs/batch", r#"{"jobs":[],"jobs":[]}"#),
        ("/ojs/v1/jobs/batch", r#"{"jobs":[{"type":"a","args":[],"args":[1]}]}"#),
        ("/ojs/v1/workers/fetch", r#"{"queues":["a"],"queues":["b"]}"#),
        ("/ojs/v1/workers/ack", r#"{"job_id":"a","job_id":"b"}"#),
        ("/ojs/v1/workers/heartbeat", r#"{"worker_id":"a","worker_id":"b"}"#),
        ("/ojs/v1/cron", r#"{"name":"a","name":"b","expression":"* * * * *","type":"a"}"#),
        ("/ojs/v1/admin/system/maintenance", r#"{"enabled":false,"enabled":true}"#),
    ] {
        let answer = ask(&server, "POST", path, body.as_bytes());
        assert_refused_with(&answer, &[400], body);
    }
    assert_alive(&server);
}

#[test]
fn nesting_is_taken_up_to_the_limit() {
    let server = Server::start();
    // The body and its arguments are two of the levels.
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"type":"a","args":[{open}{close}]}}"#)
    };
    let answer = ask(&server, "POST", "/ojs/v1/jobs", nested(DEPTH).as_bytes());
    assert_eq!(answer.status, 201, "{}", answer.text());
    let fetched = server.fetch("default", 1);
    assert_eq!(fetched.len(), 1, "what was taken can be delivered");
    let answer = ask(&server, "POST", "/ojs/v1/jobs", nested(DEPTH + 1).as_bytes());
    assert_refused_with(&answer, &[400], "one level too many");
    let strings = format!(r#"{{"type":"a","args":["{}"]}}"#, "[".repeat(50_000));
    assert_eq!(ask(&server, "POST", "/ojs/v1/jobs", strings.as_bytes()).status, 201);
    assert_alive(&server);
}

#[test]
fn the_deepest_nesting_that_can_be_allowed_is_safe() {
    let server = Server::start_with(&["--limits-json-depth", "1000"]);
    let (open, close) = ("[".repeat(990), "]".repeat(990));
    let deep = format!("{open}{close}");
    let id = "01976a3c-0000-7000-8000-000000000001";
    let job =
        format!(r#"{{"id":"{id}","type":"a","args":{deep},"meta":{{"m":{deep}}},"x":{deep}}}"#);
    let taken = ask(&server, "POST", "/ojs/v1/jobs", job.as_bytes());
    assert_eq!(taken.status, 201, "{}", taken.text());
    assert_refused_with(&ask(&server, "POST", "/ojs/v1/jobs", job.as_bytes()), &[409], "again");
    for path in ["/ojs/v1/jobs", "/ojs/v1/admin/jobs", "/ojs/v1/dead-letter"] {
        assert_decided(&ask(&server, "GET", &format!("{path}/{id}"), b""), path);
    }
    let fetched = ask(&server, "POST", "/ojs/v1/workers/fetch", br#"{"queues":["default"]}"#);
    assert!(fetched.text().contains(&deep), "it is delivered as it came");
    for (method, path) in TAKES_BODY {
        for member in ["result", "metadata", "error", "labels", "strategy", "filter", "jobs"] {
            let body = format!(
                r#"{{"job_id":"{id}","worker_id":"w","queues":["q"],"{member}":{{"d":{deep}}}}}"#
            );
            assert_decided(&ask(&server, method, path, body.as_bytes()), path);
        }
    }
    assert_alive(&server);
}

#[test]
fn odd_text_is_kept_or_refused_and_never_breaks_an_answer() {
    let server = Server::start();
    let words = [
        r"\u0000",
        r"\ud83d\ude00",
        r"\u001b[31m",
        "\u{202e}abc",
        "\u{feff}",
        r#"\"},\"state\":\"completed"#,
        r"\n\r\nHTTP/1.1 200 OK",
    ];
    for word in words {
        for body in [
            format!(r#"{{"type":"a","args":["{word}"]}}"#),
            format!(r#"{{"type":"a","args":[],"meta":{{"{word}":"{word}"}}}}"#),
            format!(r#"{{"type":"a","args":[],"x{word}":"{word}"}}"#),
            format!(r#"{{"type":"{word}","args":[]}}"#),
            format!(r#"{{"type":"a","args":[],"queue":"{word}"}}"#),
            format!(r#"{{"type":"a","args":[],"tags":["{word}"]}}"#),
        ] {
            let answer = ask(&server, "POST", "/ojs/v1/jobs", body.as_bytes());
            assert_decided(&answer, &body);
            if answer.status != 201 {
                continue;
            }
            let fetched = ask(
                &server,
                "POST",
                "/ojs/v1/workers/fetch",
                json!({"queues": ["default"]}).to_string().as_bytes(),
            );
            assert!(fetched.text().contains("\"state\":\"active\""), "{}", fetched.text());
        }
    }
    assert_alive(&server);
}

#[test]
fn a_job_cannot_forge_what_the_server_says_of_it() {
    let server = Server::start();
    let mut job = json!({"type": "a", "args": [], "retry": {"max_attempts": 2}});
    let forged = [
        "state",
        "attempt",
        "created_at",
        "enqueued_at",
        "started_at",
        "completed_at",
        "cancelled_at",
        "discarded_at",
        "expired_at",
        "worker_id",
        "error",
        "errors",
        "result",
        "retry_delay_ms",
        "next_attempt_at",
        "previous_state",
        "re_enqueued_at",
        "activated_at",
    ];
    for member in forged {
        job[member] = json!("forged");
    }
    let id = server.enqueue(job);
    let nack = json!({"job_id": id, "error": {"code": "x", "message": "m"}});
    for _ in 0..2 {
        assert_unforged(&server, &id);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while server.fetch("default", 1).is_empty() {
            assert!(std::time::Instant::now() < until, "it does not come back");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_unforged(&server, &id);
        server.post("/ojs/v1/workers/nack", nack.clone()).expect(200);
        assert_unforged(&server, &id);
    }
}

#[test]
fn the_time_of_the_next_retry_cannot_be_forged() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "a", "args": [], "next_retry_at": "forged"}));
    assert_unforged(&server, &id);
    server.fetch("default", 1);
    let nack = json!({"job_id": id, "error": {"code": "x", "message": "m"}});
    server.post("/ojs/v1/workers/nack", nack).expect(200);
    assert_unforged(&server, &id);
}

/// Looks at the bytes, since a parser would hide the first of two equal keys.
#[track_caller]
fn assert_unforged(server: &Server, id: &str) {
    for path in [format!("/ojs/v1/jobs/{id}"), format!("/ojs/v1/admin/jobs/{id}")] {
        let answer = ask(server, "GET", &path, b"");
        assert_eq!(answer.status, 200);
        assert!(!answer.text().contains("forged"), "{}", answer.text());
    }
}
