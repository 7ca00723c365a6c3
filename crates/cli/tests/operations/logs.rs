//! The log: for people by default, for machines on request.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Ended, Process};
use crate::support::command;
use crate::wire::request;

#[test]
fn lines_for_people_go_to_standard_error() {
    let ended = session(&[], &[]);
    assert!(ended.stderr.contains("INFO") && ended.stderr.contains("SIGTERM"), "{}", ended.stderr);
    assert!(ended.stderr.contains("stopped"), "{}", ended.stderr);
    assert!(!ended.stdout.contains("INFO"), "{}", ended.stdout);
    let first = ended.stderr.lines().next().unwrap_or_default();
    assert!(serde_json::from_str::<Value>(first).is_err(), "{first}");
    assert!(!ended.stderr.contains("DEBUG"), "requests are not logged unless asked for");
}

#[test]
fn a_file_gets_no_colour_codes() {
    let ended = session(&[], &[]);
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
}

#[test]
fn lines_for_machines_are_json_objects() {
    let ended = session(&["--log-format", "json"], &[]);
    let lines = json_lines(&ended);
    assert!(lines.len() >= 2, "{}", ended.stderr);
    for line in &lines {
        for member in ["timestamp", "level", "message"] {
            assert!(line[member].is_string(), "{line}");
        }
    }
    assert!(lines.iter().any(|line| line["signal"] == "SIGTERM"), "{}", ended.stderr);
}

#[test]
fn lines_of_a_request_carry_its_id() {
    let ended = session(&["--log-format", "json", "--log-level", "debug"], &[]);
    let lines = json_lines(&ended);
    let of = |id: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["span"]["id"] == id).collect()
    };
    let answered = of("mine-1");
    assert!(answered.iter().any(|line| line["status"] == 201), "{}", ended.stderr);
    assert_eq!(answered[0]["span"]["path"], "/ojs/v1/jobs");
    let refused = of("mine-2");
    assert!(refused.iter().any(|line| line["status"] == 400), "{}", ended.stderr);
}

#[test]
fn the_text_carries_the_id_too() {
    let ended = session(&["--log-level", "debug"], &[]);
    let line = ended.stderr.lines().find(|line| line.contains("mine-1"));
    assert!(line.is_some_and(|line| line.contains("answered")), "{}", ended.stderr);
}

#[test]
fn what_clients_send_cannot_start_a_line_of_its_own() {
    let dir = TempDir::new().unwrap();
    let mut server = Process::serve(dir.path(), &["--log-level", "debug"]);
    let mut wire = server.connect();
    let job = json!({"type": "a\n2026-01-01 INFO forged\u{1b}[2J", "args": []});
    assert_eq!(wire.post("/ojs/v1/jobs", &job).unwrap().status, 400);
    let path = "/ojs/v1/queues/%0a2026-01-01%20INFO%20forged%1b[2J";
    assert_eq!(wire.get(path).unwrap().status, 400);
    let ended = server.terminate();
    let forged = ended.stderr.lines().find(|line| line.starts_with("2026-01-01 INFO forged"));
    assert_eq!(forged, None, "{}", ended.stderr);
}

#[test]
fn rota_log_overrules_the_level() {
    let quiet = session(&["--log-level", "debug"], &[("ROTA_LOG", "error")]);
    assert!(!quiet.stderr.contains("INFO") && !quiet.stderr.contains("DEBUG"), "{}", quiet.stderr);
    let chatty = session(&["--log-level", "error"], &[("ROTA_LOG", "rota_server=debug")]);
    assert!(chatty.stderr.contains("mine-1"), "{}", chatty.stderr);
    let plain = session(&["--log-level", "error"], &[]);
    assert_eq!(plain.stderr, "");
}

#[test]
fn a_filter_that_makes_no_sense_is_named() {
    let dir = TempDir::new().unwrap();
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--data"]);
    let mut server = Process::spawn(command.arg(dir.path()).env("ROTA_LOG", "rota_server=shout"));
    let listens = server.address().is_some();
    let ended = if listens { server.terminate() } else { server.end() };
    assert!(ended.stderr.contains("ROTA_LOG"), "{ended:?}");
}

/// One server's life: a job is taken, another is refused, and it is told to stop.
fn session(flags: &[&str], environment: &[(&str, &str)]) -> Ended {
    let dir = TempDir::new().unwrap();
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(dir.path()).args(flags).envs(environment.iter().copied());
    let mut server = Process::spawn(&mut command);
    let mut wire = server.connect();
    for (id, body, status) in [
        ("X-Request-Id: mine-1", json!({"type": "a", "args": []}), 201),
        ("X-Request-Id: mine-2", json!({"type": 5, "args": []}), 400),
    ] {
        wire.write(&request("POST", "/ojs/v1/jobs", &[id], body.to_string().as_bytes())).unwrap();
        assert_eq!(wire.answer().unwrap().status, status);
    }
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

fn json_lines(ended: &Ended) -> Vec<Value> {
    let parse = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        assert!(value.is_object(), "{line}");
        value
    };
    ended.stderr.lines().map(parse).collect()
}
