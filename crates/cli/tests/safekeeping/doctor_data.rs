//! `rota doctor` on data directories.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Ended, run};
use crate::servers_with_jobs::enqueue;
use crate::support::Server;

#[test]
fn a_sound_directory_is_found_sound() {
    let server = stopped(20);
    let ended = doctor(server.dir(), &[]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(ended.stdout, @r"
        Data directory DIR
          ok       server       No server is running here.
          ok       disk         SIZE free, SIZE in reserve.
          ok       format       Format 12, as this version writes it.
          ok       log          N records in SIZE; the database has applied all of them.
          ok       file         SQLite finds every page and every index sound.
          ok       contents     20 jobs as of commit N; the data is consistent.

        No problems found.
        ");
    });
    let quick = doctor(server.dir(), &["--quick"]);
    assert!(quick.stdout.contains("every page sound"), "{}", quick.stdout);
}

#[test]
fn a_counter_that_is_off_is_explained() {
    let server = stopped(20);
    tamper(server.dir(), "UPDATE counts SET completed = completed + 7");
    let ended = doctor(server.dir(), &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(ended.stdout, @r"
        Data directory DIR
          ok       server       No server is running here.
          ok       disk         SIZE free, SIZE in reserve.
          ok       format       Format 12, as this version writes it.
          ok       log          N records in SIZE; the database has applied all of them.
          ok       file         SQLite finds every page and every index sound.
          problem  figures      Classes whose finished jobs are counted wrongly: 1 (class 0: 10 counted, 3 there).
                                Figures are wrong, and removing these jobs may end the server. Stop the server, then rebuild it: `rota doctor --repair --data DIR`; it shows what would be lost and asks first. Or bring the last backup back: `rota restore FILE --data DIR --replace`. The damaged database is kept beside it.

        1 problem.
        ");
    });
    assert_eq!(ended.stderr, "rota: there is a problem\n");
}

#[test]
fn a_missing_row_is_found() {
    let server = stopped(20);
    tamper(server.dir(), "DELETE FROM live WHERE seq = (SELECT max(seq) FROM live)");
    let ended = doctor(server.dir(), &["--json"]);
    assert_eq!(ended.code, Some(1));
    let finding = finding(&ended, "contents");
    assert_eq!(finding["level"], "problem");
    assert!(finding["what"].as_str().unwrap().contains("neither living nor finished"), "{finding}");
    assert!(finding["advice"].as_str().unwrap().contains("rota restore"), "{finding}");
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&told["problems"], &told["warnings"]), (&1.into(), &0.into()));
}

#[test]
fn wrongly_counted_bytes_are_found_and_a_restored_backup_is_counted_again() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("copy.db").display().to_string();
    let mut server = stopped(20);
    let data = server.dir().display().to_string();
    tamper(server.dir(), "UPDATE stored SET bytes = bytes + 7");
    let ended = doctor(server.dir(), &["--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let finding = finding(&ended, "figures");
    assert!(finding["what"].as_str().unwrap().contains("'_default' has"), "{finding}");
    assert!(finding["advice"].as_str().unwrap().contains("rota restore FILE"), "{finding}");
    // What the doctor says helps.
    assert_eq!(run(&["backup", &file, "--data", &data], &[]).code, Some(0));
    let restored = run(&["restore", &file, "--data", &data, "--replace"], &[]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    server.restart();
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(doctor(server.dir(), &[]).code, Some(0));
}

#[test]
fn a_damaged_page_is_found_and_the_backup_that_mends_it_too() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("copy.db").display().to_string();
    let server = stopped(3000);
    let data = server.dir().display().to_string();
    assert_eq!(run(&["backup", &file, "--data", &data], &[]).code, Some(0));
    let path = server.dir().join("rota.db");
    let mut bytes = fs::read(&path).unwrap();
    let page = bytes.len() / 2 / 8192 * 8192;
    bytes[page..page + 12].iter_mut().for_each(|byte| *byte ^= 0xa5);
    fs::write(&path, bytes).unwrap();
    for flags in [&["--json"][..], &["--json", "--quick"]] {
        let ended = doctor(server.dir(), flags);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let finding = finding(&ended, "file");
        assert_eq!(finding["level"], "problem", "{finding}");
        assert!(finding["advice"].as_str().unwrap().contains("rota restore FILE --data"));
    }
    // What the doctor says helps.
    let restored = run(&["restore", &file, "--data", &data, "--replace"], &[]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_eq!(doctor(server.dir(), &[]).code, Some(0));
}

#[test]
fn a_file_that_is_no_database_and_a_newer_format_have_different_errors() {
    let server = stopped(1);
    let path = server.dir().join("rota.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let ended = doctor(server.dir(), &["--json"]);
    assert_eq!(ended.code, Some(1));
    assert!(finding(&ended, "format")["what"].as_str().unwrap().contains("Format 99"));
    fs::write(&path, "nonsense").unwrap();
    let ended = doctor(server.dir(), &["--json"]);
    assert_eq!(ended.code, Some(1));
    let finding = finding(&ended, "database");
    assert!(finding["advice"].as_str().unwrap().contains("rota restore FILE"), "{finding}");
    assert_eq!(fs::read(&path).unwrap(), b"nonsense", "the doctor changes nothing");
}

#[test]
fn an_empty_directory_is_a_warning_and_a_missing_one_a_problem() {
    let dir = TempDir::new().unwrap();
    let ended = doctor(dir.path(), &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(finding(&ended, "database")["level"], "warning");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "the doctor creates nothing");
    let missing = dir.path().join("missing");
    let ended = doctor(&missing, &["--json"]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(finding(&ended, "directory")["level"], "problem");
    assert!(!missing.exists());
}

#[test]
fn without_anything_to_check_it_says_so() {
    let dir = TempDir::new().unwrap();
    let mut command = crate::support::command(&["doctor"]);
    // A port that nobody listens on, and no ./rota-data.
    command.current_dir(dir.path()).env("ROTA_LISTEN", "127.0.0.1:9");
    let ended = crate::process::Process::spawn(&mut command).end();
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        ended.stderr,
        "rota: there is nothing to check: no directory ./rota-data, and no server at \
         http://127.0.0.1:9\nSay where the data is with --data, or where the server is with --url.\n"
    );
}

#[test]
fn remains_and_little_room_are_warned_of() {
    let server = stopped(1);
    fs::write(server.dir().join("rota.restoring"), "half").unwrap();
    let ended = doctor(server.dir(), &["--json"]);
    assert_eq!(ended.code, Some(0));
    assert!(finding(&ended, "remains")["what"].as_str().unwrap().contains("rota.restoring"));

    let disk = crate::small_disk::SmallDisk::mount(30);
    let data = disk.path().join("data");
    let small = ["--storage-reserve", "1MiB"];
    drop(Server::start_at(&data, &small, &[]));
    let settings = disk.path().join("rota.toml");
    fs::write(&settings, "[storage]\nreserve = \"1MiB\"").unwrap();
    let ended = doctor(&data, &["--json", "--config", &settings.display().to_string()]);
    assert_eq!((ended.code, &finding(&ended, "disk")["level"]), (Some(0), &"warning".into()));
    // With the reserve of 64 MiB that the settings ask for otherwise, this disk is as good as full.
    let ended = doctor(&data, &["--json"]);
    assert_eq!((ended.code, &finding(&ended, "disk")["level"]), (Some(1), &"problem".into()));
}

#[test]
fn a_commit_in_the_future_is_warned_of() {
    let server = stopped(1);
    tamper(server.dir(), "UPDATE meta SET now = now + 3600000");
    let ended = doctor(server.dir(), &["--json"]);
    assert_eq!(ended.code, Some(0));
    let finding = finding(&ended, "clock");
    assert_eq!(finding["level"], "warning");
    assert!(finding["what"].as_str().unwrap().contains("in the future"), "{finding}");
}

/// While a server writes, the doctor sees one moment of it and disturbs nobody.
#[test]
fn a_directory_in_use_is_checked_while_it_changes() {
    let server = Server::start();
    let load = crate::steady_load::Load::start(server.address(), 3);
    for _ in 0..5 {
        let ended = doctor(server.dir(), &["--json"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let what = finding(&ended, "server")["what"].clone();
        assert!(what.as_str().unwrap().contains(&server.pid().to_string()), "{what}");
        // Work of every kind, so that all tables change.
        for job in server.fetch("default", 20).iter().take(15) {
            let id = &job["id"];
            server.post("/ojs/v1/workers/ack", serde_json::json!({"job_id": id})).expect(200);
        }
    }
    while load.acknowledged().len() <= 20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    load.end();
}

/// A server that was stopped in order, with some jobs of which three are done.
fn stopped(jobs: usize) -> Server {
    let mut server = Server::start();
    enqueue(&server, jobs);
    for job in server.fetch("default", 3) {
        server.post("/ojs/v1/workers/ack", serde_json::json!({"job_id": job["id"]})).expect(200);
    }
    assert_eq!(server.terminate().code(), Some(0));
    server
}

/// On this directory only: nobody listens where the server would be looked for.
fn doctor(dir: &Path, flags: &[&str]) -> Ended {
    let dir = dir.display().to_string();
    let arguments = [&["doctor", "--data", &dir], flags].concat();
    run(&arguments, &[("ROTA_LISTEN", "127.0.0.1:9")])
}

/// The first finding of this check that is not ok, or else the first.
#[track_caller]
pub fn finding(ended: &Ended, check: &str) -> Value {
    let told: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let sections = told["checked"].as_array().unwrap().iter();
    let all: Vec<&Value> = sections.flat_map(|s| s["findings"].as_array().unwrap()).collect();
    let mut of_check: Vec<&&Value> = all.iter().filter(|f| f["check"] == check).collect();
    of_check.sort_by_key(|finding| finding["level"] == "ok");
    (**of_check.first().unwrap_or_else(|| panic!("no {check} in {all:#?}"))).clone()
}

fn tamper(dir: &Path, sql: &str) {
    let conn = crate::database::open(&dir.join("rota.db"));
    assert!(conn.execute(sql, []).unwrap() > 0, "{sql} changes something");
}

pub fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"/[^ `\n]*/data", "DIR"),
        (r"\d+ records? in [\d.]+ (?:[KMGT]i)?B", "N records in SIZE"),
        (r"[\d.]+ [KMGT]iB", "SIZE"),
        (r"commit \d+", "commit N"),
        (r"process \d+", "process PID"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"up [\d.]+m?s", "up TIME"),
        (r"rota \d+\.\d+\.\d+", "rota VERSION"),
    ]
}
