//! `rota doctor --repair`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::types::Value as Column;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Ended, run};
use crate::servers_with_jobs::{assert_failed, assert_ok, enqueue, fetch_all, files, rota};
use crate::support::Server;

fn repair(dir: &Path, flags: &[&str]) -> Ended {
    let dir = dir.display().to_string();
    run(
        &[&["doctor", "--repair", "--data", &dir], flags].concat(),
        &[("ROTA_LISTEN", "127.0.0.1:9")],
    )
}

/// A stopped server with work of all kinds. The backup was made in the middle of it.
fn worked(backup: Option<&Path>) -> Server {
    let mut server = Server::start();
    enqueue(&server, 300);
    work(&server);
    if let Some(file) = backup {
        assert_ok(&rota("backup", file, server.dir(), &[]));
    }
    enqueue(&server, 500);
    work(&server);
    server.put("/ojs/v1/admin/queues/reports/config", json!({"max_size": 9})).expect(200);
    server.post("/ojs/v1/queues/reports/pause", json!({})).expect(200);
    assert_eq!(server.terminate().code(), Some(0));
    server
}

fn work(server: &Server) {
    for (number, job) in server.fetch("default", 60).into_iter().enumerate() {
        let id = &job["id"];
        match number % 3 {
            0 => drop(
                server
                    .post("/ojs/v1/workers/ack", json!({"job_id": id, "result": {"n": number}}))
                    .expect(200),
            ),
            1 => {
                let error = json!({"code": "x", "message": "no"});
                server
                    .post("/ojs/v1/workers/nack", json!({"job_id": id, "error": error}))
                    .expect(200);
            }
            _ => {}
        }
    }
}

/// All rows of all tables, sorted. What says which log the database follows is left out.
fn tables(dir: &Path) -> BTreeMap<String, Vec<String>> {
    let conn = crate::database::open(&dir.join("rota.db"));
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut names = conn.prepare(names).unwrap();
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut tables = BTreeMap::new();
    for name in names.into_iter().filter(|name| name != "log_parent") {
        let columns = if name == "meta" { "number, now, next_seq, id_key" } else { "*" };
        let mut all = conn.prepare(&format!("SELECT {columns} FROM {name}")).unwrap();
        let width = all.column_count();
        let rows = all.query_map([], |row| {
            let columns: Vec<Column> = (0..width).map(|at| row.get(at).unwrap()).collect();
            Ok(format!("{columns:?}"))
        });
        let mut rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
        rows.sort();
        tables.insert(name, rows);
    }
    tables
}

/// Makes part of the database unreadable.
fn damage(dir: &Path) {
    let path = dir.join("rota.db");
    let mut bytes = fs::read(&path).unwrap();
    let page = bytes.len() / 2 / 8192 * 8192;
    bytes[page..page + 12].iter_mut().for_each(|byte| *byte ^= 0xa5);
    fs::write(&path, bytes).unwrap();
}

#[test]
fn a_rebuilt_database_equals_the_original() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("backup.db");
    for (backup, ruin, is_kept) in [
        (None, damage as fn(&Path), true),
        (Some(&*file), damage, true),
        (None, remove, false),
        (Some(&file), remove, false),
    ] {
        let _ = fs::remove_file(&file);
        let mut server = worked(backup);
        let before = tables(server.dir());
        assert!(
            before["jobs"].len() == 800 && before["done"].len() >= 40,
            "there is something to compare"
        );
        ruin(server.dir());
        let asked = repair(server.dir(), &[]);
        assert_eq!(asked.code, Some(2), "{asked:?}");
        assert!(asked.stderr.contains("lost     nothing"), "{}", asked.stderr);
        assert!(asked.stderr.contains("Nothing was changed"), "{}", asked.stderr);
        let ended = repair(server.dir(), &["--yes"]);
        assert_ok(&ended);
        assert_eq!(ended.stderr.contains("backup.db"), backup.is_some(), "{}", ended.stderr);
        assert!(tables(server.dir()) == before, "{backup:?}: the tables differ");
        let kept =
            files(server.dir()).into_iter().filter(|name| name.contains(".replaced-")).count();
        assert_eq!(kept, usize::from(is_kept), "the damaged file is kept");
        server.restart();
        // Those that failed wait for their next attempt.
        assert!((680..=720).contains(&fetch_all(&server).len()));
    }
}

fn remove(dir: &Path) {
    fs::remove_file(dir.join("rota.db")).unwrap();
}

#[test]
fn a_missing_database_is_no_new_server_and_the_error_says_what_helps() {
    let server = worked(None);
    remove(server.dir());
    let dir = server.dir().display().to_string();
    let ended = run(&["serve", "--listen", "127.0.0.1:0", "--data", &dir], &[]);
    assert_failed(&ended, &["is missing", "`rota doctor --repair`"]);
    assert!(!server.dir().join("rota.db").exists());
}

/// With a log that no longer goes back to the beginning, and no backup, there is nothing to rebuild from.
#[test]
fn without_a_backup_the_loss_is_named_and_nothing_is_changed() {
    let mut server = Server::start_with(&["--log-keep-bytes", "0", "--storage-reserve", "1MiB"]);
    crate::servers_with_jobs::enqueue_sized(&server, 4_000, 600);
    crate::moments::wait_until(|| {
        !segments(server.dir())[0].ends_with("00000000000000000001-00000000000000000001.segment")
    });
    assert_eq!(server.terminate().code(), Some(0));
    damage(server.dir());
    let before = fs::read(server.dir().join("rota.db")).unwrap();
    let ended = repair(server.dir(), &["--yes"]);
    assert_failed(&ended, &["it begins at record", "Without a backup, what is damaged is lost"]);
    assert_eq!(fs::read(server.dir().join("rota.db")).unwrap(), before);
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(dir.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|ending| ending == "segment"));
    all.sort();
    all
}

/// A record that the database has not applied is damaged: the archive has it.
#[test]
fn a_damaged_log_is_mended_from_the_archive_or_cut() {
    for with_archive in [true, false] {
        let home = TempDir::new().unwrap();
        let archive = home.path().join("archive").display().to_string();
        let flags = ["--archive", &*archive, "--log-archive-interval", "100ms"];
        let mut server = Server::start_with(if with_archive { &flags } else { &[] });
        enqueue(&server, 10);
        assert_eq!(server.terminate().code(), Some(0));
        let old = fs::read(server.dir().join("rota.db")).unwrap();
        server.restart();
        let ids = enqueue(&server, 20);
        assert_eq!(server.terminate().code(), Some(0));
        // As if the database had not applied the last records.
        fs::write(server.dir().join("rota.db"), old).unwrap();
        let segment = segments(server.dir()).pop().unwrap();
        let mut bytes = fs::read(&segment).unwrap();
        // The record with the last jobs: part of an argument.
        let place = bytes.windows(10).rposition(|window| window == b"xxxxxxxxxx").unwrap();
        bytes[place] ^= 1;
        fs::write(&segment, bytes).unwrap();
        let dir = server.dir().display().to_string();
        let refused = run(&["serve", "--listen", "127.0.0.1:0", "--data", &dir], &[]);
        assert_failed(&refused, &["the log is damaged", "rota doctor"]);
        let sources: &[&str] = if with_archive { &["--archive", &archive] } else { &[] };
        let ended = repair(server.dir(), &[&["--yes", "--json"], sources].concat());
        assert_ok(&ended);
        let told: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(told["repaired"], "log", "{told}");
        assert_eq!(told["lost"].is_null(), with_archive, "{told}");
        server.restart();
        let found = fetch_all(&server);
        assert_eq!(ids.iter().all(|id| found.contains(id)), with_archive, "{told}");
        assert!(found.len() >= 10);
    }
}

#[test]
fn a_sound_directory_is_left_alone() {
    let server = worked(None);
    let before = tables(server.dir());
    let ended = repair(server.dir(), &["--yes"]);
    assert_eq!(ended.stdout, "Nothing needs to be repaired.\n", "{ended:?}");
    assert!(tables(server.dir()) == before);
    let running = Server::start();
    assert_failed(&repair(running.dir(), &["--yes"]), &["a server is running", "Stop it first"]);
}
