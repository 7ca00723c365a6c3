//! A measurement that is interrupted ends its servers and removes their data.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::child_processes::{children, is_running, wait_until};
use crate::run::Ran;
use crate::support::command;

#[test]
fn the_terminal_interrupts_all_that_was_started_there() {
    interrupt("rates", |id| format!("-INT -- -{id}"));
}

#[test]
fn a_supervisor_ends_only_what_it_started() {
    interrupt("latency", |id| format!("-TERM {id}"));
}

#[test]
fn the_store_ends_too() {
    interrupt("store", |id| format!("-INT {id}"));
}

/// Measures for a minute, but sends this signal as soon as the measurement runs.
#[track_caller]
fn interrupt(what: &str, kill: fn(u32) -> String) {
    let dir = TempDir::new().unwrap();
    let bench = command(&["bench", what, "--duration", "1m", "--connections", "4", "--dir"])
        .arg(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let id = bench.id();
    let servers = match what {
        "store" => 0,
        "rates" => 2,
        _ => 1,
    };
    wait_until("its servers run", || children(id).len() == servers);
    wait_until("there is data", || dir.path().read_dir().unwrap().count() == 1);
    let servers = children(id);

    let sent = Command::new("kill").args(kill(id).split(' ')).status().unwrap();
    assert!(sent.success());
    let ran: Ran = bench.wait_with_output().unwrap().into();
    assert_eq!(ran.failed(1), "rota: the measurement ended: it was stopped\n");
    for server in servers {
        assert!(!is_running(&server), "{server} still runs");
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}
