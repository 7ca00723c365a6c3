//! Clients may send JSON over many lines; what is shown of it is on one.

use crate::shorthand::{job_on, text};
use crate::support::{JSON, Server};

const JOB: &str = r#"{
	"type": "a.b",
	"queue": "q",
	"args": [
		1.50,
		1e300,
		{ "z": "two  spaces\nand \"a line\"", "a": [ ] }
	],
	"meta": {
		"k": [ 1,
			2 ]
	},
	"x_unknown": {
		"deep": [
			true
		]
	}
}"#;

const ARGS: &str = r#""args":[1.50,1e300,{"z":"two  spaces\nand \"a line\"","a":[]}]"#;

fn post(server: &Server, path: &str, body: &str) -> String {
    let reply = server.send("POST", path, &[JSON], Some(body.as_bytes()));
    assert!(reply.status < 300, "{}", reply.text);
    reply.text
}

#[track_caller]
fn assert_one_line(shown: &str, parts: &[&str]) {
    assert!(!shown.trim_end().contains(['\n', '\r', '\t']), "{shown}");
    for part in parts {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
}

#[test]
fn an_envelope() {
    let server = Server::start();
    let parts = [ARGS, r#""meta":{"k":[1,2]}"#, r#""x_unknown":{"deep":[true]}"#];
    assert_one_line(&post(&server, "/ojs/v1/jobs", JOB), &parts);
    let batch = format!("{{\r\n\"jobs\": [\r\n{JOB}\r\n]\r\n}}");
    post(&server, "/ojs/v1/jobs/batch", &batch);
    for _ in 0..2 {
        let fetched = post(&server, "/ojs/v1/workers/fetch", "{\n\"queues\": [\n\"q\"\n]}");
        assert_one_line(&fetched, &parts);
    }
}

#[test]
fn a_result_and_an_error() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    server.enqueue(job_on("q"));
    let fetch = || text(&server.fetch("q", 1)[0]["id"]);
    let (done, failed) = (fetch(), fetch());
    let ack = format!("{{\"job_id\": \"{done}\", \"result\": {{\n  \"sent\": [\n1.0 ]\n}}}}");
    post(&server, "/ojs/v1/workers/ack", &ack);
    let shown = server.get(&format!("/ojs/v1/jobs/{done}")).text;
    assert_one_line(&shown, &[r#""result":{"sent":[1.0]}"#]);
    let nack = format!(
        "{{\"job_id\": \"{failed}\", \"error\": {{\"message\": \"no\", \"details\": {{\n\t\"at\": [\n9 ]}}}}}}"
    );
    post(&server, "/ojs/v1/workers/nack", &nack);
    let shown = server.get(&format!("/ojs/v1/jobs/{failed}")).text;
    assert_one_line(&shown, &[r#""details":{"at":[9]}"#]);
}

#[test]
fn a_mistake_is_found_where_the_sender_sees_it() {
    let server = Server::start();
    let bad = b"{\n  \"type\": \"a.b\",\n  \"args\" []\n}";
    let reply = server.send("POST", "/ojs/v1/jobs", &[JSON], Some(bad));
    let error = reply.expect_error(400, "invalid_payload");
    assert!(text(&error["message"]).contains("line 3 column 10"), "{error}");
}
