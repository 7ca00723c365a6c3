//! `rota demo regions` shows a region that fails and comes back, and leaves nothing behind.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::child_processes::{children, is_running, wait_until};
use crate::run::{Ran, rota_at};
use crate::support::command;

/// Runs it with its data in a directory of its own, which must be empty in the end, and sends this signal, if any,
/// as soon as its servers run.
#[track_caller]
fn demo(arguments: &[&str], signal: Option<&str>) -> Ran {
    let dir = TempDir::new().unwrap();
    let demo = command(&["demo", "regions"])
        .args(arguments)
        .env("TMPDIR", dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let id = demo.id();
    wait_until("its servers run", || children(id).len() == 3);
    let servers = children(id);
    if let Some(signal) = signal {
        // Two of them live to the end; the first is killed on the way.
        wait_until("one is killed", || !is_running(&servers[0]));
        let sent = Command::new("kill").args([signal, &id.to_string()]).status().unwrap();
        assert!(sent.success());
    }
    let ran = demo.wait_with_output().unwrap().into();
    for server in servers {
        assert!(!is_running(&server), "{server} still runs");
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    ran
}

#[test]
fn jobs_go_on_elsewhere_and_pinned_ones_are_refused_until_the_region_is_back() {
    let seen = demo(&["--duration", "8s", "--json"], None).json();
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{seen}"));
    assert_eq!(number(&seen["not_taken"]), 0, "{seen}");
    // The one that may have been on its way to the worker when the region was killed is reserved for it.
    assert!(number(&seen["not_run"]) <= 1, "{seen}");
    assert!(number(&seen["pins_refused"]) > 0, "{seen}");
    assert!(seen["last_refusal"].as_str().unwrap().contains("region 'eu-west-1'"), "{seen}");
    let [eu, us, _ap] = &seen["regions"].as_array().unwrap()[..] else { panic!("{seen}") };
    assert!(number(&eu["any_region"]) > 0 && number(&us["any_region"]) > 0, "{seen}");
    assert!(seen["killed_after_seconds"].as_f64() < seen["back_after_seconds"].as_f64(), "{seen}");
    let twice = number(&seen["run_twice"]);
    assert!(twice <= number(&seen["duplicates_found"]), "{seen}");
}

#[test]
fn it_can_be_ended_early_and_says_what_happened() {
    let text = demo(&["--duration", "20s"], Some("-INT")).printed();
    assert!(text.contains("jobs went to three regions:"), "{text}");
    assert!(
        text.contains("eu-west-1 was killed after ") && text.contains("did not come back"),
        "{text}"
    );
    let message = rota_at("", &["demo", "regions", "--duration", "1s"]).failed(2);
    assert!(message.contains("must be from 5s to 10m"), "{message}");
}
