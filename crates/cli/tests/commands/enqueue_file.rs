use serde_json::json;

use crate::fake::{answering_some, nobody};
use crate::looks_like;
use crate::run::{rota, rota_at, rota_reading};
use crate::support::Server;

fn total(server: &Server) -> u64 {
    let jobs = server.get("/ojs/v1/admin/jobs").expect(200);
    jobs["pagination"]["total"].as_u64().unwrap()
}

fn lines(count: u32) -> String {
    (0..count).map(|n| format!("{}\n", json!({"type": "a.b", "args": [n]}))).collect()
}

#[test]
fn a_file_is_sent_in_batches() {
    let server = Server::start();
    let path = server.dir().join("jobs.jsonl");
    std::fs::write(&path, lines(1_200) + "\n").unwrap();
    let printed = rota(&server, &["enqueue", "--file", path.to_str().unwrap()]).printed();
    assert_eq!(printed, "enqueued 1,200 jobs in 3 batches\n");
    assert_eq!(total(&server), 1_200);
    let oldest = server.get("/ojs/v1/admin/jobs?order=asc&limit=1").expect(200);
    assert_eq!(oldest["items"][0]["args"], json!([0]), "the order of the file is kept");
}

#[test]
fn standard_input_is_a_file_too() {
    let server = Server::start();
    let ran = rota_reading(&server, &["enqueue", "--file", "-", "--json"], lines(3).trim_end());
    assert_eq!(ran.json(), json!({"enqueued": 3, "batches": 1}));
    assert_eq!(total(&server), 3);
}

#[test]
fn nothing_is_not_an_error() {
    let server = Server::start();
    let ran = rota_reading(&server, &["enqueue", "--file", "-"], "\n\n");
    assert_eq!(ran.printed(), "enqueued 0 jobs in 0 batches\n");
}

#[test]
fn a_bad_line_stops_it_and_is_named() {
    let server = Server::start();
    let ran = rota_reading(&server, &["enqueue", "--file", "-"], &(lines(600) + "{oops\n"));
    looks_like!("bad_line", ran.failed(2));
    assert_eq!(total(&server), 500);
    for (text, why) in
        [("7\n", "not a JSON object"), ("\n\nx", "line 3 of standard input: it is not JSON")]
    {
        let message = rota_reading(&server, &["enqueue", "--file", "-"], text).failed(2);
        assert!(message.contains(why), "{message}");
        assert!(message.contains("No job was enqueued"), "{message}");
    }
}

#[test]
fn a_refused_job_is_named_by_its_line() {
    let server = Server::start();
    let text = lines(2) + "\n" + r#"{"type": "a.b", "args": [], "priority": 1000}"#;
    looks_like!(
        "refused_line",
        rota_reading(&server, &["enqueue", "--file", "-"], &text).failed(5)
    );
    let error = rota_reading(&server, &["enqueue", "--file", "-", "--json"], &text).json_error(5);
    assert_eq!((&error["line"], &error["enqueued"]), (&json!(4), &json!(0)));
    assert_eq!(total(&server), 0);
}

#[test]
fn a_file_that_is_not_there_is_a_mistake() {
    let server = Server::start();
    let message = rota(&server, &["enqueue", "--file", "/nowhere/jobs.jsonl"]).failed(2);
    assert!(message.contains("/nowhere/jobs.jsonl cannot be read"), "{message}");
}

#[test]
fn options_of_a_single_job_do_not_go_with_a_file() {
    let server = Server::start();
    for more in [&["a.b"][..], &["--queue", "q"], &["--args", "[]"], &["--in", "5s"]] {
        let message = rota(&server, &[&["enqueue", "--file", "-"], more].concat()).failed(2);
        assert!(message.contains("cannot be used with"), "{message}");
    }
}

#[test]
fn a_server_that_leaves_in_the_middle_leaves_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.jsonl");
    std::fs::write(&path, lines(1_100)).unwrap();
    let arguments = ["enqueue", "--file", path.to_str().unwrap(), "--json"];
    let url = answering_some(1, "201 Created", r#"{"jobs": []}"#);
    let error = rota_at(&url, &arguments).json_error(3);
    assert_eq!((&error["enqueued"], &error["next_line"]), (&json!(500), &json!(501)));
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("Whether those from 501 to 1000 are is not known"), "{hint}");

    let error = rota_at(&nobody(), &arguments).json_error(3);
    assert!(error["hint"].as_str().unwrap().contains("No job was enqueued"), "{error}");
}
