use crate::fake::scripted;
use crate::looks_like;
use crate::run::rota_at;

const WAITS: &str = r#"{
    "job_id": "j1", "state": "available", "runnable": false,
    "summary": "The job waits because the rate limit 'stripe' is used up.",
    "reasons": [
        {"code": "limit", "message": "100 of 100 in 1m have started.", "key": "stripe"},
        {"code": "in_line", "message": "12 jobs go first."}
    ],
    "earliest_start": "2020-01-01T00:00:00.000Z",
    "position": {"in_lane": 3, "of_tenant": 4, "jobs_ahead": 12},
    "tenant": {"id": "acme", "weight": 5, "share": 0.3125, "active": 8, "max_concurrency": 10},
    "queue": {"name": "email", "paused": true, "workers_waiting": 1},
    "limits": [
        {"key": "stripe", "strategy": "rate", "limit": {"limit": 100, "period": "PT1M"}, "current": 100,
         "opens_at": "2020-01-01T00:00:00.000Z"},
        {"key": "stripe", "strategy": "concurrency", "limit": 5, "current": 2, "opens_at": null}
    ]
}"#;

#[test]
fn the_sentence_comes_first_and_then_the_reasons() {
    let server = scripted(&[(200, WAITS)]);
    let text = rota_at(&server.url, &["explain", "j1"]).printed();
    // How long ago that is changes every year.
    looks_like!("waits", text.replace(|c: char| !c.is_ascii(), "?").split(" (").next().unwrap());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/jobs/j1/explain"]);
    let (_, facts) = text.split_once("tenant ").unwrap();
    let (facts, limits) = facts.split_once("\n\n").unwrap();
    assert!(facts.contains("acme, weight 5, share 31.2%, 8 of 10 active"), "{facts}");
    assert!(facts.contains("email, paused, 1 worker waits"), "{facts}");
    assert!(limits.contains("stripe  rate          100  100/1m"), "{limits}");
    assert!(limits.contains("stripe  concurrency     2       5  -"), "{limits}");
}

#[test]
fn a_server_may_know_little() {
    let server = scripted(&[(200, r#"{"summary": "The job has ended."}"#)]);
    assert_eq!(rota_at(&server.url, &["explain", "j1"]).printed(), "The job has ended.\n");
}

#[test]
fn json_is_the_answer_of_the_server() {
    let server = scripted(&[(200, r#"{"summary":"s","other":1.10}"#)]);
    let text = rota_at(&server.url, &["explain", "j1", "--json", "--tenant", "acme"]).printed();
    assert_eq!(text, "{\"summary\":\"s\",\"other\":1.10}\n");
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/jobs/j1/explain as acme"]);
}

#[test]
fn an_unknown_job_is_exit_code_4() {
    let missing = r#"{"error": {"code": "not_found", "message": "There is no job 'x'."}}"#;
    let server = scripted(&[(404, missing)]);
    let message = rota_at(&server.url, &["explain", "x"]).failed(4);
    assert!(message.contains("There is no job 'x'."), "{message}");
}
