//! Answers are bounded in bytes: pages end early and go on with their cursor, fetches return fewer jobs.

use serde_json::{Value, json};

use crate::shorthand::{fresh_queue, job_with, quick_retry, register};
use crate::support::{Reply, Server};

/// About two jobs of [`LARGE`] bytes fit into a fetch, and one into a page, which has its jobs twice.
const FLAGS: [&str; 2] = ["--limits-answer-bytes", "256KiB"];
const BOUND: usize = 256 << 10;
const LARGE: usize = 100 << 10;
/// What an answer has beside its list.
const REST: usize = 2 << 10;

fn large_jobs(server: &Server, queue: &str, count: usize) -> Vec<String> {
    let enqueue = |n: usize| {
        let args = json!([n, "x".repeat(LARGE)]);
        server.enqueue(job_with(queue, json!({"args": args, "retry": quick_retry(2)})))
    };
    (0..count).map(enqueue).collect()
}

fn ids(list: &Value) -> Vec<String> {
    let jobs = list.as_array().expect("a list").iter();
    jobs.map(|job| job["id"].as_str().expect("an id").to_owned()).collect()
}

/// Follows a list to its end; each answer says how to go on.
#[track_caller]
fn follow(server: &Server, path: &str) -> Vec<String> {
    let (mut all, mut go_on) = (Vec::new(), String::new());
    loop {
        let reply = server.get(&format!("{path}{go_on}"));
        assert!(reply.text.len() <= BOUND + REST, "{} bytes", reply.text.len());
        let page = reply.expect(200);
        let jobs = ids(&page["jobs"]);
        assert_eq!(page["jobs"], page["items"]);
        assert!(!jobs.is_empty(), "a page has at least one job");
        all.extend(jobs);
        let pagination = &page["pagination"];
        let next = match (&pagination["next_cursor"], &pagination["next_offset"]) {
            (Value::String(cursor), Value::Null) => Some(format!("&cursor={cursor}")),
            (Value::Null, Value::Number(offset)) => Some(format!("&offset={offset}")),
            _ => None,
        };
        assert_eq!(pagination["has_more"], next.is_some(), "{pagination}");
        match next {
            Some(next) => go_on = next,
            None => return all,
        }
        assert!(all.len() <= 100, "the list does not end");
    }
}

#[test]
fn pages_of_jobs_are_cut_by_bytes_and_go_on_where_they_were_cut() {
    let server = Server::start_with(&FLAGS);
    let queue = fresh_queue();
    let mut jobs = large_jobs(&server, &queue, 7);
    // The engine names available jobs of a queue; everything else is found by the store.
    for path in ["jobs?", "jobs?state=available&queue=", "jobs?queue="] {
        let queue = if path.ends_with('=') { &*queue } else { "" };
        let path = format!("/ojs/v1/admin/{path}{queue}&limit=50");
        assert_eq!(follow(&server, &format!("{path}&order=asc")), jobs, "{path}");
        let mut newest_first = follow(&server, &path);
        newest_first.reverse();
        assert_eq!(newest_first, jobs, "{path}");
        let page = server.get(&format!("{path}&order=asc&offset=3")).expect(200);
        assert_eq!(ids(&page["jobs"]), jobs[3..4], "{path}");
        let cursor = page["pagination"]["next_cursor"].as_str().unwrap();
        let page = server.get(&format!("{path}&order=asc&cursor={cursor}")).expect(200);
        assert_eq!(ids(&page["jobs"]), jobs[4..5], "{path}");
    }
    let urgent = json!({"args": ["x".repeat(LARGE)], "priority": 9});
    jobs.push(server.enqueue(job_with(&queue, urgent)));
    jobs.reverse();
    assert_eq!(follow(&server, "/ojs/v1/admin/jobs?sort=priority&limit=50"), jobs);
}

#[test]
fn a_job_that_is_larger_than_the_bound_is_returned_alone() {
    let server = Server::start_with(&["--limits-answer-bytes", "64KiB"]);
    let queue = fresh_queue();
    let jobs = large_jobs(&server, &queue, 3);
    let page = server.get("/ojs/v1/admin/jobs?order=asc").expect(200);
    assert_eq!(ids(&page["jobs"]), jobs[..1]);
    for job in &jobs {
        assert_eq!(ids(&fetch(&server, &queue).expect(200)["jobs"]), std::slice::from_ref(job));
    }
}

fn fetch(server: &Server, queue: &str) -> Reply {
    let ask = json!({"queues": [queue], "count": 10, "worker_id": "w"});
    server.post("/ojs/v1/workers/fetch", ask)
}

#[test]
fn a_fetch_claims_no_more_than_it_delivers() {
    let server = Server::start_with(&FLAGS);
    let queue = fresh_queue();
    let jobs = large_jobs(&server, &queue, 5);
    // First from memory, and after a failure with their history from the store.
    for attempt in 1..=2 {
        let mut delivered = Vec::new();
        while delivered.len() < jobs.len() {
            let reply = fetch(&server, &queue);
            assert!(reply.text.len() <= BOUND + REST, "{} bytes", reply.text.len());
            let body = reply.expect(200);
            let fetched = body["jobs"].as_array().unwrap();
            assert!(fetched.len() <= 2, "{}", fetched.len());
            // Retries are due a moment after the failure; jobs that were not delivered, at once.
            assert!(!fetched.is_empty() || attempt == 2);
            for job in fetched {
                assert_eq!(job["attempt"], attempt, "an undone claim costs no attempt");
            }
            delivered.extend(ids(&body["jobs"]));
        }
        assert_eq!(delivered, jobs);
        for id in &jobs {
            let error = json!({"type": "E", "message": "m"});
            server.post("/ojs/v1/workers/nack", json!({"job_id": id, "error": error})).expect(200);
        }
    }
}

#[test]
fn jobs_that_do_not_fit_into_a_fetch_are_available_at_once() {
    let server = Server::start_with(&FLAGS);
    let queue = fresh_queue();
    large_jobs(&server, &queue, 5);
    let body = fetch(&server, &queue).expect(200);
    let delivered = body["jobs"].as_array().unwrap().len();
    assert_eq!(delivered, 2);
    let counts = server.get(&format!("/ojs/v1/admin/queues/{queue}")).expect(200)["counts"].clone();
    assert_eq!((&counts["active"], &counts["available"]), (&json!(2), &json!(3)), "{counts}");
}

#[test]
fn events_are_cut_by_bytes_and_go_on_where_they_were_cut() {
    let server = Server::start_with(&["--limits-answer-bytes", "64KiB"]);
    let queue = fresh_queue();
    for n in 0..6 {
        server.enqueue(job_with(&queue, json!({"args": [n]})));
        let job = &server.fetch(&queue, 1)[0];
        let error = json!({"type": "E", "message": "x".repeat(30 << 10), "retryable": false});
        let nack = json!({"job_id": job["id"], "error": error});
        server.post("/ojs/v1/workers/nack", nack).expect(200);
    }
    let mut seen = Vec::new();
    let mut path = "/ojs/v1/events?limit=1000".to_owned();
    loop {
        let reply = server.get(&path);
        assert!(reply.text.len() <= (64 << 10) + REST, "{} bytes", reply.text.len());
        let page = reply.expect(200);
        let names = page["events"].as_array().unwrap().iter();
        seen.extend(names.map(|event| event["type"].as_str().unwrap().to_owned()));
        if page["has_more"] == false {
            break;
        }
        path = format!("/ojs/v1/events?limit=1000&after={}", page["cursor"].as_str().unwrap());
    }
    for name in ["job.enqueued", "job.started", "job.failed", "job.discarded"] {
        assert_eq!(seen.iter().filter(|seen| *seen == name).count(), 6, "{name}");
    }
    let page = server.get("/ojs/v1/events?page=1&per_page=1000").expect(200);
    assert_eq!(page["pagination"]["truncated"], true, "{}", page["pagination"]);
}

#[test]
fn the_answer_to_a_large_batch_is_abbreviated() {
    let server = Server::start_with(&FLAGS);
    let queue = fresh_queue();
    let job = job_with(&queue, json!({"args": ["x".repeat(LARGE)], "priority": 3}));
    let reply = server.post("/ojs/v1/jobs/batch", json!({"jobs": vec![job; 5]}));
    assert!(reply.text.len() <= BOUND + REST, "{} bytes", reply.text.len());
    let body = reply.expect(201);
    assert_eq!(body["count"], 5);
    let jobs = body["jobs"].as_array().unwrap();
    for (n, job) in jobs.iter().enumerate() {
        assert_eq!(job["args"].is_null(), n >= 2, "{n}");
        assert_eq!(job["truncated"], if n >= 2 { json!(true) } else { Value::Null });
        let stored = server.job(job["id"].as_str().unwrap());
        for name in ["id", "type", "queue", "priority", "state", "created_at"] {
            assert_eq!(job[name], stored[name], "{n} {name}");
        }
        assert_eq!(stored["args"][0].as_str().map(str::len), Some(LARGE));
    }
}

#[test]
fn lists_by_name_are_cut_by_bytes() {
    let server = Server::start_with(&FLAGS);
    let names: Vec<String> = (1..=6).map(|n| format!("n{n}")).collect();
    for name in &names {
        let template = json!({"type": "t", "args": ["x".repeat(LARGE / 8)]});
        let cron = json!({"name": name, "expression": "0 0 1 1 *", "job_template": template});
        server.post("/ojs/v1/cron", cron).expect(201);
        register(&server, name, json!({"metadata": {"about": "x".repeat(LARGE / 2)}}));
    }
    for (path, list, name) in
        [("/ojs/v1/cron", "crons", "name"), ("/ojs/v1/admin/workers", "items", "id")]
    {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let reply = server.get(&format!("{path}?limit=100{cursor}"));
            assert!(reply.text.len() <= BOUND + REST, "{} bytes", reply.text.len());
            let page = reply.expect(200);
            let items = page[list].as_array().unwrap();
            assert!((1..names.len()).contains(&items.len()), "{path}: {}", items.len());
            found.extend(items.iter().map(|item| item[name].as_str().unwrap().to_owned()));
            match page["pagination"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, names, "{path}");
    }
    let about = json!({"worker_id": "w", "metadata": {"about": "x".repeat(64 << 10)}});
    let error = server.post("/ojs/v1/workers/register", about).expect_error(422, "invalid_request");
    assert_eq!(error["details"]["field"], "metadata");
}
