//! Starting, and refusing to start.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::process::{Ended, Process};
use crate::small_disk::SmallDisk;
use crate::support::{binary, command};

#[test]
fn the_greeting_says_what_runs_where_and_what_to_try() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let mut server = Process::serve(&data, &[]);
    let address = server.address().expect("it starts");
    let text = server.stdout();
    assert!(text.contains(&format!("rota {}", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(text.contains(&format!("http://{address}")), "{text}");
    assert!(text.contains(&data.display().to_string()), "{text}");
    let (_, example) = text.split_once("Try:").expect("there is something to try");
    let tried = Command::new("sh").arg("-c").arg(example).output().expect("sh runs");
    let answer: serde_json::Value = serde_json::from_slice(&tried.stdout)
        .unwrap_or_else(|_| panic!("the example needs curl: {tried:?}"));
    assert_eq!(answer["job"]["state"], "available", "{example}: {tried:?}");
    assert_eq!(server.terminate().code, Some(0));
}

#[test]
fn unbounded_queues_are_reported_in_one_line() {
    let dir = TempDir::new().unwrap();
    let mut server = Process::serve(dir.path(), &[]);
    let mut wire = server.connect();
    for queue in ["a", "b", "c"] {
        let job = json!({"type": "a", "args": [], "queue": queue});
        assert_eq!(wire.post("/ojs/v1/jobs", &job).unwrap().status, 201);
    }
    assert!(!server.terminate().stderr.contains("no bound"), "there were none at the start");
    let mut server = Process::serve(dir.path(), &[]);
    assert!(server.address().is_some());
    let log = server.terminate().stderr;
    let told: Vec<&str> = log.lines().filter(|line| line.contains("have no bound")).collect();
    assert!(matches!(told[..], [line] if line.contains("queues=3")), "{log}");
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let dir = TempDir::new().unwrap();
    let mut first = Process::serve(dir.path(), &[]);
    assert!(first.address().is_some());
    let second = Process::serve(dir.path(), &[]).end();
    assert_refused(&second, &[&dir.path().display().to_string(), "in use by another server"]);
    assert!(second.stderr.contains(&first.pid().to_string()), "{}", second.stderr);
    let job = first.connect().post("/ojs/v1/jobs", &json!({"type": "a", "args": []})).unwrap();
    assert_eq!(job.status, 201, "the first is unharmed");
    drop(first);
    let mut third = Process::serve(dir.path(), &[]);
    assert!(third.address().is_some(), "a lock does not outlive its process");
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let mut command = command(&["serve", "--listen", &address, "--data"]);
    let ended = Process::spawn(command.arg(&data)).end();
    assert_refused(&ended, &[&address, "in use"]);
}

#[test]
fn a_directory_under_a_plain_file_is_named() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "just a file").unwrap();
    for data in [file.clone(), file.join("data")] {
        let ended = Process::serve(&data, &[]).end();
        assert_refused(&ended, &[&file.display().to_string(), "choose another directory"]);
    }
    assert_eq!(fs::read(&file).unwrap(), b"just a file");
}

#[test]
fn a_read_only_file_system_is_named() {
    let disk = SmallDisk::mount(8);
    let fresh = disk.path().join("fresh");
    let used = disk.path().join("used");
    let mut server = Process::serve(&used, &["--storage-reserve", "0"]);
    assert!(server.address().is_some());
    assert_eq!(server.terminate().code, Some(0));
    disk.make_read_only();
    for data in [fresh, used] {
        let ended = Process::serve(&data, &["--storage-reserve", "0"]).end();
        assert_refused(&ended, &[&data.display().to_string(), "ead-only"]);
    }
}

#[test]
fn a_newer_format_is_refused_and_left_as_it_is() {
    let dir = TempDir::new().unwrap();
    let mut server = Process::serve(dir.path(), &[]);
    let job = json!({"type": "a", "args": ["precious"]});
    assert_eq!(server.connect().post("/ojs/v1/jobs", &job).unwrap().status, 201);
    assert_eq!(server.terminate().code, Some(0));
    let path = dir.path().join("rota.db");
    let mut bytes = fs::read(&path).unwrap();
    // SQLite keeps the format's number here, highest byte first.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let before = files(dir.path());
    let ended = Process::serve(dir.path(), &[]).end();
    assert_refused(&ended, &[&path.display().to_string(), "format 99"]);
    assert_eq!(fs::read(&path).unwrap(), bytes, "every byte is as it was");
    assert_eq!(files(dir.path()), before);
}

#[test]
fn it_starts_again_after_a_kill_during_the_first_moments() {
    let dir = TempDir::new().unwrap();
    for ms in 0..40 {
        let server = Process::serve(dir.path(), &[]);
        std::thread::sleep(std::time::Duration::from_millis(ms));
        drop(server);
    }
    let mut server = Process::serve(dir.path(), &[]);
    let answer = server.connect().post("/ojs/v1/jobs", &json!({"type": "a", "args": []}));
    assert_eq!(answer.unwrap().status, 201);
}

/// The exit code, a message that names what is wrong, and no accident.
#[track_caller]
pub fn assert_refused(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word} is not in: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("panicked at"), "{}", ended.stderr);
    assert!(ended.stdout.is_empty(), "nothing runs, yet it says: {}", ended.stdout);
}

/// Names and sizes, except of the lock, which the last to try has signed.
fn files(dir: &Path) -> Vec<(String, u64)> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len())
    };
    let mut all: Vec<_> = fs::read_dir(dir).unwrap().map(entry).collect();
    all.retain(|(name, _)| name != "rota.lock");
    all.sort();
    all
}

#[cfg(target_os = "linux")]
#[test]
fn there_is_room_for_as_many_files_as_connections() {
    let start = |limit: &str| {
        let dir = TempDir::new().unwrap();
        let mut command = Command::new("bash");
        command.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "bash"]);
        command.arg(binary()).args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(dir.path()).args(["--http-max-connections", "900"]);
        let mut server = Process::spawn(&mut command);
        assert!(server.address().is_some());
        let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let soft = line.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap();
        (soft, server.terminate().stderr)
    };
    let (soft, log) = start("-Sn 256");
    assert!(soft >= 1_000 && !log.contains("files open"), "{soft}: {log}");
    let (soft, log) = start("-n 500");
    assert!(soft == 500 && log.contains("files open") && log.contains("room=400"), "{soft}: {log}");
}
