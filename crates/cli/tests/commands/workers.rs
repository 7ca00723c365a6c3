use serde_json::json;

use crate::jobs::take;
use crate::looks_like;
use crate::run::rota;
use crate::support::Server;

fn with_workers() -> Server {
    with_workers_and(&[])
}

fn with_workers_and(flags: &[&str]) -> Server {
    let server = Server::start_with(flags);
    let about = json!({
        "worker_id": "mailer-1", "hostname": "host-a", "pid": 4711, "queues": ["email", "default"],
        "concurrency": 8, "labels": ["blue"], "version": "2.3.4",
    });
    server.post("/ojs/v1/workers/register", about).expect(200);
    server.enqueue(json!({"type": "a.b", "args": []}));
    take(&server, "default");
    server
}

fn state(server: &Server, id: &str) -> String {
    let worker = server.get(&format!("/ojs/v1/admin/workers/{id}")).expect(200);
    worker["state"].as_str().unwrap().to_owned()
}

#[test]
fn workers_are_listed() {
    let server = with_workers();
    looks_like!("list", rota(&server, &["workers"]).printed());
    assert_eq!(rota(&server, &["workers", "list"]).printed().lines().count(), 3);
    let list = rota(&server, &["workers", "--json"]).json();
    assert_eq!((&list["total"], &list["workers"][0]["id"]), (&json!(2), &json!("mailer-1")));
    assert_eq!(list["workers"][1]["active_jobs"], 1);
}

#[test]
fn more_workers_than_a_page_has_are_all_listed() {
    let server = Server::start();
    for n in 0..105 {
        let about = json!({"worker_id": format!("w{n:03}")});
        server.post("/ojs/v1/workers/register", about).expect(200);
    }
    assert_eq!(rota(&server, &["workers"]).printed().lines().count(), 106);
    let list = rota(&server, &["workers", "--json"]).json();
    assert_eq!(list["workers"].as_array().unwrap().len(), 105);
}

#[test]
fn a_worker_is_shown_with_its_jobs() {
    let server = with_workers();
    looks_like!("registered", rota(&server, &["workers", "show", "mailer-1"]).printed());
    looks_like!("busy", rota(&server, &["workers", "show", "w1"]).printed());
    let worker = rota(&server, &["workers", "show", "w1", "--json"]).json();
    assert_eq!(worker["active_job_ids"].as_array().unwrap().len(), 1);
}

#[test]
fn workers_are_quieted_stopped_and_resumed() {
    let server = with_workers();
    assert_eq!(rota(&server, &["workers", "quiet", "w1"]).printed(), "w1 quieted\n");
    assert_eq!(state(&server, "w1"), "quiet");
    let printed = rota(&server, &["workers", "stop", "w1", "mailer-1"]).printed();
    assert_eq!(printed, "w1 told to stop\nmailer-1 told to stop\n");
    assert_eq!(state(&server, "w1"), "terminate");
    assert_eq!(rota(&server, &["workers", "resume", "w1"]).printed(), "w1 resumed\n");
    assert_eq!(state(&server, "w1"), "running");
    let changed = rota(&server, &["workers", "quiet", "w1", "--json"]).json();
    assert_eq!(changed["workers"][0]["directive"], "quiet");
}

#[test]
fn only_a_silent_worker_is_removed() {
    let server = with_workers();
    let message = rota(&server, &["workers", "remove", "w1"]).failed(5);
    assert!(message.contains("The worker is alive"), "{message}");

    let short = ["--workers-heartbeat-interval", "10ms", "--workers-heartbeat-timeout", "50ms"];
    let server = with_workers_and(&short);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(rota(&server, &["workers", "remove", "w1"]).printed(), "w1 removed\n");
    server.get("/ojs/v1/admin/workers/w1").expect(404);
}

#[test]
fn an_unknown_worker_is_exit_code_4() {
    let server = Server::start();
    for action in ["show", "quiet", "stop", "resume", "remove"] {
        let message = rota(&server, &["workers", action, "nobody"]).failed(4);
        assert!(message.contains("There is no worker 'nobody'."), "{message}");
    }
}

#[test]
fn no_workers_is_explained() {
    let server = Server::start();
    let ran = rota(&server, &["workers"]);
    assert_eq!((ran.code, &*ran.stdout), (0, ""));
    assert!(ran.stderr.starts_with("no workers"), "{}", ran.stderr);
}
