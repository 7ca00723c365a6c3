//! The first operator key: made, or given.

use std::io::Read;
use std::process::Stdio;

use rota_identity::{KeyText, RANDOM_BYTES};

use crate::secured::{Secured, operator_key};
use crate::support::{Server, command};

/// Starts a server, stops it at once, and returns what it wrote to standard error.
fn errors_of_a_start(dir: &std::path::Path) -> String {
    let mut child =
        command(&["serve", "--listen", "127.0.0.1:0", "--auth-modes", "keys", "--data"])
            .arg(dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut greeting = Vec::new();
    let mut byte = [0];
    while !greeting.ends_with(b"Try:\n") && stdout.read(&mut byte).unwrap() == 1 {
        greeting.push(byte[0]);
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("rota_"), "the key is not on standard output");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

fn key_in(text: &str) -> Option<KeyText> {
    text.split_whitespace().find_map(|word| KeyText::parse(word).ok())
}

#[test]
fn the_first_start_makes_a_key_and_prints_it_once() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let key = key_in(&errors_of_a_start(&data)).expect("the key is printed");
    assert!(key_in(&errors_of_a_start(&data)).is_none(), "it is printed once");
    let server = Server::start_at(&data, &["--auth-modes", "keys"], &[]);
    let authorization = format!("Bearer {}", key.reveal());
    let reply =
        server.send("GET", "/ojs/v1/admin/keys", &[("Authorization", &authorization)], None);
    let keys = reply.expect(200);
    assert_eq!(keys["keys"][0]["scopes"].as_array().unwrap().len(), 6, "{keys}");
}

#[test]
fn a_key_comes_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    std::fs::write(&path, format!("{}\n", operator_key().reveal())).unwrap();
    let file = path.to_str().unwrap();
    let server = Server::start_with(&["--auth-modes", "keys", "--auth-bootstrap-key-file", file]);
    let authorization = format!("Bearer {}", operator_key().reveal());
    server.send("GET", "/ojs/v1/queues", &[("Authorization", &authorization)], None).expect(200);
}

#[test]
fn a_revoked_first_key_does_not_come_back_with_the_next_start() {
    let mut secured = Secured::start();
    let path = format!("/ojs/v1/admin/keys/{}", operator_key().id());
    let operator = secured.operator().to_owned();
    let second = secured.create(serde_json::json!({"name": "second", "scopes": ["server"]}));
    let second = second["key"].as_str().unwrap().to_owned();
    secured.send(&operator, "POST", &format!("{path}/revoke"), None).expect(200);
    secured.send(&second, "DELETE", &path, None).expect_error(409, "conflict");
    assert!(secured.server.terminate().success());
    secured.server.restart();
    secured.get(&operator, "/ojs/v1/queues").expect_error(401, "unauthorized");
    secured.get(&second, "/ojs/v1/queues").expect(200);
}

#[test]
fn bad_first_keys_are_refused_at_the_start_and_not_shown() {
    let key = KeyText::new(&[9; RANDOM_BYTES]);
    let cut = &key.reveal()[..50];
    for (modes, variable, says) in [
        ("keys", cut, "ROTA_BOOTSTRAP_KEY"),
        ("none", key.reveal(), "auth.modes does not have keys"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let output =
            command(&["serve", "--listen", "127.0.0.1:0", "--auth-modes", modes, "--data"])
                .arg(directory.path().join("data"))
                .env("ROTA_BOOTSTRAP_KEY", variable)
                .output()
                .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(says) && !errors.contains(variable), "{errors}");
    }
}
