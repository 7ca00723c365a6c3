//! `rota audit verify` and `rota doctor` on logs that somebody has changed.

use std::path::Path;

use serde_json::{Value, json};

use crate::process::{self, Ended};
use crate::support::Server;

/// A stopped server whose log has four entries.
fn stopped() -> Server {
    let mut server = Server::start();
    for queue in ["a", "b", "c", "d"] {
        server.post(&format!("/ojs/v1/queues/{queue}/pause"), json!({})).expect(200);
    }
    assert!(server.terminate().success());
    server
}

fn run(arguments: &[&str]) -> Ended {
    process::run(arguments, &[])
}

fn verify(dir: &Path, more: &[&str]) -> Ended {
    run(&[&["audit", "verify", "--data", dir.to_str().unwrap()], more].concat())
}

fn tamper(dir: &Path, sql: &str) {
    let conn = crate::database::open(&dir.join("rota.db"));
    assert!(conn.execute(sql, []).unwrap() > 0, "{sql} changes something");
}

#[test]
fn an_intact_log_is_found_intact_in_a_directory_in_a_backup_and_through_a_server() {
    let mut server = stopped();
    let ended = verify(server.dir(), &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&found["entries"], &found["last"]), (&json!(4), &json!(4)));
    let hash = found["hash"].as_str().unwrap().to_owned();
    let copy = tempfile::tempdir().unwrap();
    let (file, restored) = (copy.path().join("b.db"), copy.path().join("restored"));
    let dir = server.dir().to_str().unwrap().to_owned();
    let (file, restored) = (file.to_str().unwrap(), restored.to_str().unwrap());
    assert_eq!(run(&["backup", file, "--data", &dir]).code, Some(0));
    assert_eq!(run(&["restore", file, "--data", restored]).code, Some(0));
    assert_eq!(verify(Path::new(restored), &["--expect", &hash]).code, Some(0));
    server.restart();
    server.post("/ojs/v1/queues/e/pause", json!({})).expect(200);
    let url = server.url("");
    let ended = run(&["audit", "verify", "--url", &url, "--expect", &hash]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("The audit log is intact: 5 entries.\n"), "{}", ended.stdout);
    let other = run(&["audit", "verify", "--url", &url, "--expect", &"0123".repeat(16)]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.stderr.contains("no entry of the audit log has the hash"), "{}", other.stderr);
    assert_eq!(run(&["audit", "verify", "--expect", "12"]).code, Some(2));
}

#[test]
fn the_first_changed_entry_is_named() {
    let forged = "UPDATE audit SET json = CAST(replace(CAST(json AS TEXT), '\"b\"', '\"x\"') AS BLOB) \
                  WHERE number = 2";
    let cases = [
        (forged, 2, "entry 2 was changed"),
        (
            "DELETE FROM audit WHERE number IN (2, 3)",
            2,
            "entry 2 is missing: entry 4 follows instead",
        ),
        ("DELETE FROM audit WHERE number = 4", 4, "entry 4 is missing: the log ends before it"),
        ("DELETE FROM audit WHERE number = 1", 1, "entry 1 is missing"),
    ];
    for (sql, number, message) in cases {
        let mut server = stopped();
        tamper(server.dir(), sql);
        let ended = verify(server.dir(), &[]);
        assert_eq!(ended.code, Some(1), "{sql}: {ended:?}");
        assert!(ended.stderr.contains(message), "{sql}: {}", ended.stderr);
        let ended = verify(server.dir(), &["--json"]);
        let error: Value = serde_json::from_str(&ended.stderr).unwrap();
        assert_eq!(error["error"]["entry"], number, "{error}");
        let doctor = run(&["doctor", "--data", server.dir().to_str().unwrap(), "--json"]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        assert!(doctor.stdout.contains(message), "{}", doctor.stdout);
        server.restart();
        let ended = run(&["audit", "verify", "--url", &server.url("")]);
        assert_eq!(ended.code, Some(1), "{sql}: {ended:?}");
        assert!(ended.stderr.contains(message), "{sql}: {}", ended.stderr);
    }
}
