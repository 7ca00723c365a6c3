//! Readers that leave early.

use std::io::Read;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Server, command};

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let server = Server::start();
    for _ in 0..10 {
        let jobs: Vec<_> = (0..100).map(|n| json!({"type": "a.b", "args": [n]})).collect();
        server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    }
    for arguments in [&["jobs", "--all"][..], &["jobs", "--all", "--json"]] {
        let mut child = command(arguments)
            .env("ROTA_URL", server.url(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rota runs");
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}
