//! What cannot work is said at the start.

use serde_json::Value;

use crate::support::command;
use crate::worker_setup::{Bench, Ended, Work};

fn refused(bench: &Bench, arguments: &[&str]) -> Ended {
    bench.work_with(arguments).wait()
}

#[test]
fn no_server() {
    // A port that nobody listens on.
    let url = "http://127.0.0.1:9";
    let ended = Work::start(command(&["work", "--url", url, "--", "true"])).wait();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains(&format!("rota: no server answers at {url}")), "{ended:?}");
    assert!(ended.stderr.contains("rota serve"), "{ended:?}");
}

#[test]
fn no_such_program() {
    let bench = Bench::new();
    let ended = refused(&bench, &["--", "no-such-program", "x"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("there is no program no-such-program in PATH"), "{ended:?}");
    let ended = refused(&bench, &["--", "./missing.sh"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("there is no ./missing.sh"), "{ended:?}");
}

#[test]
fn a_script_that_cannot_be_executed() {
    let bench = Bench::new();
    std::fs::write(bench.path("job.sh"), "#!/bin/sh\n").unwrap();
    let ended = refused(&bench, &["--", "./job.sh"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("chmod +x ./job.sh"), "{ended:?}");
}

#[test]
fn a_queue_name_that_the_server_refuses() {
    let bench = Bench::new();
    let ended = refused(&bench, &["--queue", "No Such", "--json", "--", "true"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let error: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert!(error["error"]["message"].as_str().unwrap().contains("queues"), "{error}");
    assert_eq!(error["error"]["exit_code"], 5);
}

#[test]
fn no_command_and_odd_numbers() {
    let bench = Bench::new();
    for arguments in [
        &["--queue", "a"][..],
        &["--concurrency", "0", "--", "true"],
        &["--timeout", "soon", "--", "true"],
        &["--output-limit", "1", "--", "true"],
        &["--no-retry-exit", "0", "--", "true"],
    ] {
        let ended = refused(&bench, arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
    }
}
