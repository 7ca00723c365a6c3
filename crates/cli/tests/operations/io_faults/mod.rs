//! A failure at every single I/O call of a run, one after the other: of the log, the database and their directory.
//!
//! After each, the server either goes on or ends with exit code 70 (or does not start); nothing that was answered is
//! lost, nothing that was refused has happened, nothing wrong is shown, and the next start is whole.

mod account;
mod faulty;
mod script;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use account::Account;
use faulty::{Fault, Faulty};
use tempfile::TempDir;

/// Runs beside each other. They mostly wait.
const BESIDE: usize = 4;

/// A data directory with some jobs, from which each run begins.
fn template(directory: &Path) -> Account {
    let mut account = Account::default();
    let run = Faulty::start(&directory.join("data"), None).expect("it starts");
    script::prepare(&run, &mut account);
    assert_eq!(run.stop(), Some(0));
    account
}

/// How a run ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// SIGTERM, which has I/O of its own.
    Stopped,
    /// `kill -9`.
    Killed,
}

/// Runs the script with a fault, and checks what is left. Returns the calls that there were.
fn run(template: &Path, mut account: Account, fault: Fault, end: End) -> Result<String, String> {
    let directory = TempDir::new().expect("a temporary directory");
    let data = directory.path().join("data");
    faulty::copy(&template.join("data"), &data);
    let trace = directory.path().join("trace");
    match Faulty::start(&data, Some((&fault, &trace))) {
        Ok(run) => {
            script::run(&run, &mut account);
            let status = if end == End::Stopped { run.stop() } else { run.kill() };
            if !matches!(status, None | Some(0 | 70)) {
                return Err(format!("it ended with {status:?}"));
            }
        }
        Err(status) if status != 0 => {}
        Err(_) => return Err("it ended at once without an error".to_owned()),
    }
    let calls = faulty::calls(&trace);
    let run =
        Faulty::start(&data, None).map_err(|status| format!("no start after it: {status}"))?;
    account.check(&run)?;
    if run.stop() != Some(0) {
        return Err("the second run did not end in order".to_owned());
    }
    faulty::doctor(&data)?;
    Ok(calls)
}

/// Runs for these calls, each with its kinds of faults.
fn run_all(template: &Path, account: &Account, faults: &[Fault]) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let end = if fault.at.is_multiple_of(2) { End::Stopped } else { End::Killed };
                    if let Err(problem) = run(template, account.clone(), *fault, end) {
                        panic!("{fault:?}: {problem}");
                    }
                }
            });
        }
    });
}

#[test]
fn every_single_call_may_fail() {
    let directory = TempDir::new().unwrap();
    let account = template(directory.path());
    let none = Fault { at: 0, kind: "EIO" };
    let calls = run(directory.path(), account.clone(), none, End::Stopped).unwrap();
    assert!(calls.contains('l') && calls.contains('s') && calls.len() > 50, "{calls}");
    // Each call fails in one of the ways that are possible for it, and in all of them with ROTA_ALL_FAULTS=1, which takes
    // minutes.
    let all = std::env::var_os("ROTA_ALL_FAULTS").is_some();
    let faults: Vec<Fault> = (1..=calls.len() as u64)
        .zip(calls.chars())
        .flat_map(|(at, call)| {
            let kinds: &[&'static str] = match call {
                'l' | 'w' => &["EIO", "ENOSPC", "short"],
                'o' => &["EIO", "ENOSPC"],
                _ => &["EIO"],
            };
            let turn = at as usize % kinds.len();
            let chosen = if all { kinds } else { &kinds[turn..=turn] };
            chosen.iter().map(move |kind| Fault { at, kind })
        })
        .collect();
    run_all(directory.path(), &account, &faults);
}

/// Shows that the check can fail.
#[test]
fn writes_that_are_lost_are_found() {
    let directory = TempDir::new().unwrap();
    let account = template(directory.path());
    let none = Fault { at: 0, kind: "lost" };
    let calls = run(directory.path(), account.clone(), none, End::Killed).unwrap();
    let to_log = (1..).zip(calls.chars()).filter(|(_, call)| *call == 'l').map(|(at, _)| at);
    // Killed, because a stop would move everything into the database.
    let mut faults = to_log.map(|at| Fault { at, kind: "lost" });
    let found =
        faults.any(|fault| run(directory.path(), account.clone(), fault, End::Killed).is_err());
    assert!(found, "a log that loses what it has synced is not noticed: {calls}");
}
