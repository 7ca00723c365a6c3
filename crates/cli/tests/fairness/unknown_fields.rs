//! What is not understood is refused by name, never passed over.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api::{fresh, put_pool, shared};
use crate::shorthand::{fresh_queue, text};
use crate::support::JSON;
use crate::support::process::Process;

#[test]
fn slips_in_a_tenants_limits() {
    let server = shared();
    let path = format!("/ojs/v1/admin/tenants/{}", fresh("acme"));
    let rate = json!({"limit": 1, "period": "PT1M", "brust": 5});
    for (body, field) in [
        (json!({"limits": {"max_enqueue_rate": rate}}), "max_enqueue_rate.brust"),
        (json!({"limits": {"max_concurrency": 3}, "max_concurrency": 4}), "max_concurrency"),
        (json!({"weight": 3, "fairness_weight": 4}), "weight"),
        (json!({"limits": {"max_concurrency": u64::MAX}}), "max_concurrency"),
    ] {
        for path in [path.clone(), format!("{path}/limits")] {
            let error = server.put(&path, body.clone()).expect(422)["error"].clone();
            assert_eq!(error["details"]["field"], field, "{error}");
        }
    }
    let error = server.put(&path, json!({"max_concurrency": u64::MAX})).expect(422);
    let message = text(&error["error"]["message"]);
    assert!(message.contains("from 0 to 4294967295, not 18446744073709551615"), "{message}");
    server.get(&path).expect_error(404, "not_found");
}

#[test]
fn slips_in_a_file() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("rota.toml");
    for (text, field) in [
        ("[tenants.acme]\nmax_enqueue_rate = {limit = 1, period = \"1m\", brust = 2}\n", "brust"),
        ("[tenants.acme]\nweight = 3\nfairness_weight = 4\n", "weight"),
        ("[pools.p]\nqueues = {a = 70}\n", "queues.a"),
    ] {
        std::fs::write(&file, text).unwrap();
        let data = dir.path().join("data");
        let flags = ["--config", file.to_str().unwrap()];
        let ended = Process::serve(&data, &flags).end();
        assert!(ended.code.is_some_and(|code| code != 0), "{text}");
        assert!(ended.stderr.contains(field), "{}", ended.stderr);
    }
}

#[test]
fn slips_in_the_queues_of_a_pool() {
    let server = shared();
    let path = format!("/ojs/v1/admin/pools/{}", fresh("pool"));
    for (about, field) in [
        (json!(70), "queues.a"),
        (json!("x"), "queues.a"),
        (json!([1]), "queues.a"),
        (json!({"wieght": 3}), "queues.a.wieght"),
        (json!({"weight": 0}), "queues.a.weight"),
    ] {
        let error = server.put(&path, json!({"queues": {"a": about}})).expect(422)["error"].clone();
        assert_eq!(error["details"]["field"], field, "{error}");
    }
    server.get(&path).expect_error(404, "not_found");
}

#[test]
fn a_map_of_queues_keeps_its_order() {
    let server = shared();
    let (a, b, c) = (fresh_queue(), fresh_queue(), fresh_queue());
    let queues = format!(r#"{{"{c}": {{"weight": 3}}, "{a}": {{}}, "{b}": null}}"#);
    for body in [
        format!(r#"{{"strategy": "weighted", "queues": {queues}}}"#),
        format!(r#"{{"pool": {{"queues": {queues}, "strategy": "weighted"}}}}"#),
    ] {
        let path = format!("/ojs/v1/admin/pools/{}", fresh("pool"));
        let shown = server.send("PUT", &path, &[JSON], Some(body.as_bytes())).expect(201);
        assert_eq!(shown["queues"], json!([c, a, b]));
    }
    let listed = put_pool(&server, &fresh("pool"), json!({"queues": [c, b, a]}));
    assert_eq!(listed["queues"], json!([c, b, a]));
}

#[test]
fn numbers_that_are_too_large_get_an_error_with_the_maximum() {
    let server = shared();
    let about = json!({"worker_id": fresh("w"), "concurrency": 1_000_000_000_000u64});
    for path in ["/ojs/v1/workers/register", "/ojs/v1/workers/heartbeat"] {
        let error = server.post(path, about.clone()).expect(400)["error"].clone();
        assert!(text(&error["message"]).contains("from 0 to 4294967295"), "{error}");
    }
    for number in
        ["1000", "18446744073709551615", "18446744073709551616", "99999999999999999999999"]
    {
        let shown = server.get(&format!("/ojs/v1/admin/queues?per_page={number}")).expect(200);
        assert_eq!(shown["pagination"]["per_page"], 100, "{number}");
    }
    server.get("/ojs/v1/admin/queues?per_page=0").expect(400);
    server.get("/ojs/v1/admin/queues?per_page=-1").expect(400);
}

#[test]
fn a_time_that_is_none_is_called_so() {
    let server = shared();
    let queue = fresh_queue();
    let id = server.enqueue(crate::shorthand::job_on(&queue));
    server.fetch(&queue, 1);
    let error = json!({"message": "m", "rate_limit_until": "soon"});
    let nack = json!({"job_id": id, "error": error});
    let said: Value = server.post("/ojs/v1/workers/nack", nack).expect(400)["error"].clone();
    let message = text(&said["message"]);
    assert!(message.contains("'error.rate_limit_until' must be a time such as"), "{message}");
    let said = server.get("/ojs/v1/admin/jobs?since=soon").expect(400)["error"].clone();
    assert!(text(&said["message"]).starts_with("'since' is not a timestamp; expected"), "{said}");
}

#[test]
fn an_example_is_one_that_fits() {
    let dir = TempDir::new().unwrap();
    let run = |flag: &str| Process::serve(dir.path(), &[flag, "x"]).end().stderr;
    let said = run("--noisy-active-share");
    assert!(said.contains("a number from 0 to 1, such as 0.5"), "{said}");
    let said = run("--noisy-depth-ratio");
    assert!(said.contains("a number from 1 to 1000000, such as 1.5"), "{said}");
}
