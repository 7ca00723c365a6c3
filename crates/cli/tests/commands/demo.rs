//! `rota demo noisy-neighbour` shows what fairness does, and leaves nothing behind.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use crate::child_processes::{children, is_running, wait_until};
use crate::run::{Ran, rota_at};
use crate::support::{binary, command};

/// Runs it with its data in a directory of its own, which must be empty in the end, and sends this
/// signal, if any, as soon as both servers have jobs.
#[track_caller]
fn demo(arguments: &[&str], kill: Option<fn(u32) -> String>) -> Ran {
    let _alone = alone();
    let dir = TempDir::new().unwrap();
    let demo = command(&["demo", "noisy-neighbour"])
        .args(arguments)
        .env("TMPDIR", dir.path())
        // No matter what a server in use is told.
        .env("ROTA_LIMITS_BATCH_JOBS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let id = demo.id();
    wait_until("its servers run", || children(id).len() == 2);
    let servers = children(id);
    if let Some(kill) = kill {
        wait_until("jobs are stored", || {
            let stored = stored(dir.path());
            stored.len() == 2 && stored.iter().all(|bytes| *bytes > 1 << 20)
        });
        let sent = Command::new("kill").args(kill(id).split(' ')).status().unwrap();
        assert!(sent.success());
    }
    let ran = demo.wait_with_output().unwrap().into();
    for server in servers {
        assert!(!is_running(&server), "{server} still runs");
    }
    let left: Vec<_> = dir.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    ran
}

/// Waiting times are measured: one demo must not wait for another.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes in the database of each server.
fn stored(dir: &Path) -> Vec<u64> {
    let inside = |dir: &Path| dir.read_dir().into_iter().flatten().flatten().map(|e| e.path());
    let size = |path: PathBuf| path.metadata().map_or(0, |file| file.len());
    let servers = inside(dir).flat_map(|demo| inside(&demo)).filter(|path| path.is_dir());
    servers.map(|data| size(data.join("rota.db")) + size(data.join("rota.db-wal"))).collect()
}

#[track_caller]
fn number(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or_else(|| panic!("no {name} in {figures}"))
}

#[track_caller]
fn assert_figures(figures: &Value) {
    let [enqueued, done, waiting] =
        ["enqueued", "done", "waiting"].map(|name| number(figures, name));
    assert!(enqueued > 0.0 && enqueued >= done + waiting, "{figures}");
    let (median, p99) = (number(figures, "median_ms"), number(figures, "p99_ms"));
    assert!(median > 0.0 && median <= p99, "{figures}");
}

#[test]
fn quiet_tenants_wait_less_with_fairness() {
    // Waiting times are measured, and a machine may be held up now and then, but not each time.
    let shown = (0..3).any(|_| std::panic::catch_unwind(show_fairness).is_ok());
    assert!(shown, "no demo showed it");
}

fn show_fairness() {
    let seen = demo(&["--duration", "8s", "--json"], None).json();
    assert_eq!(seen["version"], env!("CARGO_PKG_VERSION"));
    assert!(number(&seen, "seconds") >= 8.0, "{seen}");
    for side in ["with_fairness", "without_fairness"] {
        let side = &seen[side];
        assert_figures(&side["quiet"]);
        let tenants = side["tenants"].as_array().unwrap();
        tenants.iter().for_each(assert_figures);
        let names: Vec<&str> = tenants.iter().map(|t| t["tenant"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 11, "{names:?}");
        assert_eq!((names[0], names[9], names[10]), ("quiet-1", "flood", "urgent"));
        // More than the workers can manage.
        assert!(number(&tenants[9], "waiting") > number(&tenants[9], "enqueued") / 2.0, "{side}");
    }
    let (with, without) = (&seen["with_fairness"], &seen["without_fairness"]);
    assert_eq!(with["settings"]["ROTA_FAIRNESS_PRIORITY_SCOPE"], "tenant");
    assert_eq!(without["settings"]["ROTA_TENANCY_ISOLATION"], "shared");
    assert_eq!(without["settings"]["ROTA_FAIRNESS_ENABLED"], "false");

    // The difference is far greater, but machines that run tests are slow.
    let median = |side: &Value| number(&side["quiet"], "median_ms");
    assert!(median(with) * 3.0 < median(without), "{seen}");
    let done = |side: &Value| number(&side["quiet"], "done") / number(&side["quiet"], "enqueued");
    assert!(done(with) > 0.5 && done(without) < 0.5, "{seen}");
}

#[test]
fn the_terminal_ends_it_with_a_summary() {
    let text = demo(&["--duration", "10m"], Some(|id| format!("-INT -- -{id}"))).printed();
    assert!(text.starts_with("Nine quiet tenants waited "), "{text}");
    assert!(text.contains(" (median) with fairness, ") && text.contains(" without;"), "{text}");
    assert!(text.contains("ROTA_FAIRNESS_ENABLED=false") && text.contains("rota serve"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_supervisor_gets_the_numbers_so_far() {
    let arguments = &["--duration", "10m", "--json"];
    let seen = demo(arguments, Some(|id| format!("-TERM {id}"))).json();
    assert!(number(&seen, "seconds") < 600.0, "{seen}");
}

#[test]
fn a_server_that_dies_ends_it() {
    let kill = |id| format!("-KILL {}", children(id)[0]);
    let message = demo(&["--duration", "10m"], Some(kill)).failed(1);
    assert!(message.starts_with("rota: the demo ended, with"), "{message}");
    assert!(message.contains("The server's last words: "), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_every_tenant_live() {
    let _alone = alone();
    let run = |seconds: u32| {
        let line = format!("{} demo noisy-neighbour --duration {seconds}s", binary().display());
        let shown = Command::new("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
        assert!(shown.status.success());
        String::from_utf8(shown.stdout).unwrap().replace("\r\n", "\n")
    };
    // A machine that is held up meanwhile draws less often, and is given longer.
    let often = |text: &String| text.matches("\u{1b}[HNine quiet tenants, a flood,").count() >= 4;
    let text = [2, 8, 30].into_iter().map(run).find(often).expect("a live picture");
    let (screens, summary) = text.rsplit_once("\u{1b}[J").unwrap();
    for tenant in ["quiet-1", "quiet-9", "flood", "urgent"] {
        assert!(screens.contains(&format!("\n{tenant}")), "{text}");
    }
    assert!(summary.starts_with("Nine quiet tenants waited "), "{text}");
}

#[test]
fn a_server_that_cannot_start_is_a_failure() {
    let dir = TempDir::new().unwrap();
    let line = format!("ulimit -f 0; exec {} demo noisy-neighbour --json", binary().display());
    let ran: Ran = Command::new("sh")
        .args(["-c", &line])
        .env("TMPDIR", dir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    let error = ran.json_error(1);
    let message = error["message"].as_str().unwrap();
    // Neither can; which of the two is noticed first is chance.
    let (server, why) = message.split_once(" cannot be started: ").expect(message);
    assert!(["the server with fairness", "the server without fairness"].contains(&server));
    assert!(!why.is_empty());
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn data_needs_a_place() {
    let ran: Ran =
        command(&["demo", "noisy-neighbour"]).env("TMPDIR", "/nowhere").output().unwrap().into();
    let message = ran.failed(1);
    assert!(message.starts_with("rota: there is no temporary directory: "), "{message}");
    assert!(message.contains("TMPDIR"), "{message}");
}

#[test]
fn mistakes_are_explained() {
    let message = rota_at("", &["demo", "noisy-neighbour", "--duration", "5ms"]).failed(2);
    assert!(message.contains("must be from 1s to 10m"), "{message}");
    rota_at("", &["demo"]).failed(2);
}
