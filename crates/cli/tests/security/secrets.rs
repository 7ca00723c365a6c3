//! Keys are in no log, metric, configuration, backup or file of the server.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::secured::{Secured, id_of, operator_key, text_of};
use crate::support::command;

fn secret(key: &str) -> &str {
    key.rsplit('_').next().unwrap()
}

#[test]
fn keys_are_not_in_answers_about_the_server_nor_in_its_files() {
    let mut secured = Secured::start();
    let created = secured.create(json!({"name": "a", "tenant_id": "acme", "role": "admin"}));
    let key = text_of(&created);
    let operator = secured.operator().to_owned();
    secured.get(&key, "/ojs/v1/queues").expect(200);
    for path in ["/metrics", "/ojs/v1/admin/config", "/ojs/v1/admin/keys", "/ojs/manifest"] {
        let text = secured.get(&operator, path).text;
        assert!(!text.contains(secret(&key)) && !text.contains(secret(&operator)), "{path}");
    }
    let path = format!("/ojs/v1/admin/keys/{key}");
    let error = secured.get(&operator, &path).text;
    assert!(!error.contains(secret(&key)), "a key in the wrong place is not repeated: {error}");
    assert!(secured.server.terminate().success());
    let (mut found, id) = (0, id_of(&created));
    each_file(secured.server.dir(), &mut |bytes| {
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!has(secret(&key)) && !has(secret(&operator)), "a key is in a file");
        found += usize::from(has(&id));
    });
    assert!(found > 0, "the record of the key is in a file");
}

#[test]
fn keys_are_not_in_the_log_at_any_level() {
    let directory = tempfile::tempdir().unwrap();
    let flags =
        ["serve", "--listen", "127.0.0.1:0", "--auth-modes", "keys", "--log-level", "trace"];
    let key = operator_key();
    let mut child = command(&flags)
        .arg("--data")
        .arg(directory.path().join("data"))
        .env("ROTA_BOOTSTRAP_KEY", key.reveal())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let url = lines
        .find_map(|line| line.unwrap().split_once("listening on  ").map(|(_, url)| url.to_owned()))
        .unwrap();
    let wrong = key.reveal().replace(secret(key.reveal()), &secret(key.reveal()).to_uppercase());
    for sent in [key.reveal(), &wrong] {
        let request = ureq::get(format!("{url}/ojs/v1/admin/keys")).header("X-API-Key", sent);
        let _ = request.call();
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
    let log = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(log.contains("/ojs/v1/admin/keys"), "requests are logged at this level");
    for sent in [key.reveal(), &wrong] {
        assert!(!log.contains(secret(sent)), "a key is in the log");
    }
}

fn each_file(dir: &Path, see: &mut impl FnMut(&[u8])) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_file(&path, see);
        } else {
            see(&std::fs::read(&path).unwrap());
        }
    }
}
