//! What callers of a gateway may say, and what they may not.

use serde_json::{Value, json};

use crate::gateway_process::Gateway;
use crate::regions::{Regions, until};
use crate::support::Server;

fn pinned(region: &str) -> Value {
    json!({"type": "a.b", "args": [], "meta": {"ojs.federation.region": region}})
}

#[test]
fn nobody_can_say_that_a_job_was_replicated() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    let forged = json!({"ojs.federation.replicated_from": "us", "mine": 1});
    let job = json!({"type": "a.b", "args": [], "meta": forged});
    let one = gateway.post("/ojs/v1/jobs", job.clone()).expect(201)["job"].clone();
    let many = gateway.post("/ojs/v1/jobs/batch", json!({"jobs": [job.clone()]})).expect(201);
    for taken in [&one, &many["jobs"][0]] {
        assert_eq!(taken["meta"]["mine"], 1);
        assert_eq!(taken["meta"]["ojs.federation.replicated_from"], Value::Null, "{taken}");
    }
    // The same name in other letters.
    let escaped = r#"{"type":"a.b","args":[],"meta":{"ojs.federation.replicated_fro\u006d":"us"}}"#;
    let escaped = gateway.post_text("/ojs/v1/jobs", escaped).expect(201);
    assert_eq!(escaped["job"]["meta"]["ojs.federation.replicated_from"], Value::Null);
    let schedule =
        json!({"name": "c", "cron": "0 0 * * *", "type": "a.b", "args": [], "meta": forged});
    gateway.post("/ojs/v1/cron", schedule).expect_error(422, "invalid_request");
}

#[test]
fn a_schedule_whose_jobs_must_run_elsewhere_is_refused() {
    let regions = Regions::start();
    let rules = json!({"rules": [{"type": "gdpr.*", "region": "ap", "pin": true}]});
    let gateway = Gateway::start(&regions, &rules);
    let schedule = |job: Value| {
        let mut schedule = json!({"name": "c", "cron": "0 0 * * *"});
        schedule.as_object_mut().unwrap().extend(job.as_object().unwrap().clone());
        gateway.post("/ojs/v1/cron", schedule)
    };
    schedule(pinned("us")).expect_error(422, "invalid_request");
    schedule(json!({"job_template": pinned("us")})).expect_error(422, "invalid_request");
    schedule(json!({"type": "gdpr.export", "args": []})).expect_error(422, "invalid_request");
    let here = schedule(pinned("eu"));
    assert_eq!((here.status, here.header("x-ojs-region")), (201, Some("eu")), "{}", here.text);
}

#[test]
fn a_rule_cannot_be_avoided_by_spelling() {
    let regions = Regions::start();
    let rules = json!({"rules": [
        {"queue": "private", "region": "ap", "pin": true},
        {"tag": "gdpr", "region": "ap", "pin": true},
    ]});
    let gateway = Gateway::start(&regions, &rules);
    for job in [
        json!({"type": "a", "args": [], "queue": "private"}),
        json!({"type": "a", "args": [], "options": {"queue": "private"}}),
        json!({"type": "a", "args": [], "queue": null, "options": {"queue": "private"}}),
        json!({"type": "a", "args": [], "options": {"tags": ["x", "gdpr"]}}),
    ] {
        let sent = gateway.post("/ojs/v1/jobs", job.clone());
        assert_eq!(sent.header("x-ojs-region"), Some("ap"), "{job}: {}", sent.text);
    }
    gateway
        .post_text("/ojs/v1/jobs", r#"{"type":"a","args":[],"queue":"a","queue":"private"}"#)
        .expect_error(400, "invalid_request");
}

#[test]
fn bodies_that_cannot_be_jobs_are_refused() {
    let regions = Regions::start();
    let gateway = Gateway::start(&regions, &json!({}));
    gateway.post_text("/ojs/v1/jobs", "{\"type\": ").expect_error(400, "invalid_payload");
    gateway.post_text("/ojs/v1/jobs", "[]").expect_error(400, "invalid_request");
    let many = vec![json!({"type": "a", "args": []}); 1_001];
    gateway.post("/ojs/v1/jobs/batch", json!({"jobs": many})).expect_error(400, "invalid_request");
    let members: Vec<String> = (0..200_000).map(|i| format!("\"m{i}\":0")).collect();
    let wide = format!("{{\"type\":\"a\",\"args\":[],\"meta\":{{{}}}}}", members.join(","));
    let reply = gateway.post_text("/ojs/v1/jobs", &wide);
    assert_eq!(reply.header("x-ojs-region"), Some("eu"), "the region decides: {}", reply.status);
}

#[test]
fn the_region_of_an_answer_is_a_hint_for_the_next_request() {
    let mut regions = Regions::start();
    let id = regions.server("ap").enqueue(json!({"type": "a.b", "args": []}));
    let gateway = Gateway::start(&regions, &json!({}));
    regions.server("eu").kill();
    let path = format!("/ojs/v1/jobs/{id}");
    let shown = gateway.send("GET", &path, None, &[("x-ojs-region", "ap")]);
    assert_eq!((shown.status, shown.header("x-ojs-region")), (200, Some("ap")));
    let wrong = gateway.send("GET", &path, None, &[("x-ojs-region", "mars")]);
    assert_eq!(wrong.status, 200, "a wrong hint changes nothing");
}

#[test]
fn a_region_that_refuses_the_caller_does_not_hide_a_job_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    let text = crate::support::process::run(&["keys", "generate"], &[]).stdout;
    std::fs::write(&key, text.trim()).unwrap();
    let locked = Server::start_with(&[
        "--auth-modes",
        "keys",
        "--auth-bootstrap-key-file",
        key.to_str().unwrap(),
    ]);
    let mut regions = Regions::start();
    let id = regions.server("ap").enqueue(json!({"type": "a.b", "args": []}));
    regions.servers[0] = locked;
    let gateway = Gateway::start(&regions, &json!({}));
    let shown = gateway.get(&format!("/ojs/v1/jobs/{id}"));
    assert_eq!((shown.status, shown.header("x-ojs-region")), (200, Some("ap")), "{}", shown.text);
    let missing = gateway.get("/ojs/v1/jobs/01234567-89ab-7000-8000-000000000000");
    assert_eq!(missing.status, 401, "it may be where the caller may not look");
}

#[test]
fn queues_go_to_the_regions_that_declare_them_and_workers_get_them() {
    let regions = Regions::start();
    let mut listed = Gateway::regions(&regions);
    listed[1]["queues"] = json!(["billing"]);
    listed[1]["priority"] = json!(2);
    let gateway = Gateway::start(&regions, &json!({"regions": listed, "default_region": "ap"}));
    let sent =
        |job: Value| gateway.post("/ojs/v1/jobs", job).header("x-ojs-region").unwrap().to_owned();
    assert_eq!(sent(json!({"type": "a", "args": [], "queue": "billing"})), "us");
    assert_eq!(sent(json!({"type": "a", "args": [], "queue": "mail"})), "ap");
    let ask = json!({"queues": ["billing"], "worker_id": "w"});
    let fetched = gateway.post("/ojs/v1/workers/fetch", ask).expect(200);
    assert_eq!(fetched["jobs"].as_array().map(Vec::len), Some(1), "{fetched}");
    let shown = gateway.get("/ojs/federation/backends").expect(200);
    let queues = |place: usize| {
        let backend = &shown["backends"][place];
        (backend["queues"].clone(), backend["priority"].clone())
    };
    assert_eq!(queues(0), (json!([]), json!(1)));
    assert_eq!(queues(1), (json!(["billing"]), json!(2)));
}

#[tokio::test]
async fn the_list_of_regions_is_renewed_from_an_endpoint() {
    use std::sync::{Arc, Mutex};
    let regions = Regions::start();
    let listed = Gateway::regions(&regions);
    let answer = Arc::new(Mutex::new(json!({"regions": [listed[0]]}).to_string()));
    let registry = crate::registry_endpoint::serve(answer.clone()).await;
    let source = json!({"url": format!("http://{registry}/regions"), "interval_seconds": 1});
    let gateway = Gateway::start(&regions, &json!({"regions": [listed[0]], "registry": source}));
    let send = || gateway.post("/ojs/v1/jobs", pinned("us"));
    send().expect_error(422, "unknown_region");
    *answer.lock().unwrap() = json!({"regions": [listed[0], listed[1]]}).to_string();
    until(|| send().status == 201).await;
    // A list that is wrong changes nothing.
    *answer.lock().unwrap() = json!({"regions": [{"id": "us", "url": "https://us"}]}).to_string();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(send().status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_regions_credentials_go_to_that_region_only_and_never_with_a_clients_request() {
    use std::sync::{Arc, Mutex};
    let regions = Regions::start();
    let dir = tempfile::tempdir().unwrap();
    let ok = || Arc::new(Mutex::new(r#"{"status": "ok"}"#.to_owned()));
    let mut listed = Gateway::regions(&regions);
    let mut heard = Vec::new();
    for (i, id) in ["eu", "us"].into_iter().enumerate() {
        let (address, requests) = crate::registry_endpoint::record(ok()).await;
        let token = dir.path().join(id);
        std::fs::write(&token, format!("own-token-of-{id}")).unwrap();
        listed[i] = json!({"id": id, "url": format!("http://{address}"), "token_file": token});
        heard.push(requests);
    }
    let gateway = Gateway::start(&regions, &json!({"regions": listed}));
    let asked = |i: usize, what: &str| {
        let heard: &Mutex<Vec<String>> = &heard[i];
        let heard = heard.lock().unwrap();
        heard.iter().filter(|request| request.starts_with(what)).cloned().collect::<Vec<String>>()
    };
    until(|| (0..2).all(|i| !asked(i, "GET /ojs/v1/health").is_empty())).await;
    let as_client = [("authorization", "Bearer the-clients"), ("x-forwarded-for", "198.51.100.7")];
    let job = json!({"type": "a.b", "args": []});
    let reply = gateway.send("POST", "/ojs/v1/jobs", Some(job), &as_client);
    assert!(
        !reply.text.contains("own-token") && !format!("{:?}", reply.headers).contains("own-token")
    );
    let shown = gateway.get("/ojs/v1/admin/regions");
    assert!(!shown.text.contains("own-token"), "{}", shown.text);
    for (i, id) in ["eu", "us"].into_iter().enumerate() {
        let checks = asked(i, "GET /ojs/v1/health");
        let own = format!("Bearer own-token-of-{id}");
        assert!(checks.iter().all(|request| request.contains(&own)), "{checks:?}");
        let other = format!("own-token-of-{}", ["us", "eu"][i]);
        assert!(!asked(i, "").concat().contains(&other));
    }
    let enqueued = asked(0, "POST /ojs/v1/jobs ");
    assert_eq!(enqueued.len(), 1);
    assert!(enqueued[0].contains("Bearer the-clients") && !enqueued[0].contains("own-token"));
    let from: Vec<&str> =
        enqueued[0].lines().filter(|line| line.starts_with("x-forwarded-for")).collect();
    assert_eq!(from, ["x-forwarded-for: 198.51.100.7", "x-forwarded-for: 127.0.0.1"]);
    assert!(asked(1, "POST").is_empty());
}
