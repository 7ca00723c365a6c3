//! `rota restore`.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::run;
use crate::servers_with_jobs::{assert_failed, assert_ok, enqueue, fetch_all, files, rota};
use crate::small_disk::SmallDisk;
use crate::support::Server;

#[test]
fn the_directory_of_a_running_server_is_refused() {
    let (dir, file) = backup_of(3);
    let server = Server::start();
    enqueue(&server, 5);
    let ended = rota("restore", &file, server.dir(), &["--replace"]);
    let pid = server.pid().to_string();
    assert_failed(&ended, &["in use by another server", &pid, "nothing was changed"]);
    assert_eq!(fetch_all(&server).len(), 5);
    drop(dir);
}

#[test]
fn an_old_database_is_refused_then_replaced_and_kept() {
    let (dir, file) = backup_of(3);
    let mut server = Server::start();
    enqueue(&server, 5);
    assert_eq!(server.terminate().code(), Some(0));
    let ended = rota("restore", &file, server.dir(), &[]);
    assert_failed(&ended, &["rota.db exists already", "--replace", "not deleted"]);

    let ended = rota("restore", &file, server.dir(), &["--replace"]);
    assert_ok(&ended);
    insta::with_settings!({filters => vec![
        (r"/[^ `\n]*/copy\.db", "FILE"), (r"/[^ `\n]*/data", "DIR"),
        (r"replaced-\d{8}T\d{6}Z", "replaced-TIME"),
        (r"size       .*", "size       SIZE"), (r"commit     \d+", "commit     N"),
    ]}, {
        insta::assert_snapshot!(ended.stdout, @r"
        restored   FILE
        data       DIR
        jobs       3 jobs: 3 available
        size       SIZE
        commit     N
        format     12
        set aside  DIR/rota.db.replaced-TIME

        Next: start the server with `rota serve --data DIR`. The jobs are as they were when the
        backup was made: those finished since then run again, those enqueued since then are missing.
        Delete what was set aside when you no longer need it.
        ");
    });
    server.restart();
    assert_eq!(fetch_all(&server).len(), 3);
    server.terminate();

    // And back again, from what was set aside.
    let name = files(server.dir()).into_iter().find(|name| name.contains(".replaced-")).unwrap();
    let aside = server.dir().join(name);
    let ended = rota("restore", &aside, server.dir(), &["--replace", "--json"]);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["jobs"]["available"], 5, "{told}");
    assert_eq!(told["set_aside"].as_array().unwrap().len(), 1);
    server.restart();
    assert_eq!(fetch_all(&server).len(), 5);
    drop(dir);
}

/// A log of the old server would turn the new database into a mixture of both.
#[test]
fn the_log_of_a_killed_server_never_meets_the_backup() {
    let (dir, file) = backup_of(3);
    let mut server = Server::start();
    let old = enqueue(&server, 5);
    server.kill();
    assert!(fs::metadata(server.dir().join("rota.db-wal")).unwrap().len() > 0);
    let ended = rota("restore", &file, server.dir(), &["--replace"]);
    assert_ok(&ended);
    let aside = server
        .dir()
        .join(files(server.dir()).into_iter().find(|name| name.contains(".replaced-")).unwrap());
    server.restart();
    assert_eq!(server.get(&format!("/ojs/v1/jobs/{}", old[0])).status, 404);
    assert_eq!(fetch_all(&server).len(), 3);
    let again = dir.path().join("again");
    assert_ok(&rota("restore", &aside, &again, &[]));
    assert_eq!(fetch_all(&Server::start_at(&again, &[], &[])).len(), 5, "the old one is whole");
}

#[test]
fn what_is_no_backup_is_refused_and_changes_nothing() {
    let (dir, file) = backup_of(200);
    let mut server = Server::start();
    enqueue(&server, 5);
    assert_eq!(server.terminate().code(), Some(0));
    let before = (files(server.dir()), fs::read(server.dir().join("rota.db")).unwrap());
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[8192 * 3..8192 * 3 + 12].iter_mut().for_each(|byte| *byte ^= 0xa5);
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99u32.to_be_bytes());
    let cases = [
        (b"<html>not found</html>".repeat(100), "is not a Rota database"),
        (newer, "has format 99"),
        (damaged, "is damaged"),
        (whole[..whole.len() / 2].to_vec(), "damaged"),
    ];
    for (bytes, word) in cases {
        fs::write(&file, bytes).unwrap();
        assert_failed(&rota("restore", &file, server.dir(), &["--replace"]), &[word]);
        let after = (files(server.dir()), fs::read(server.dir().join("rota.db")).unwrap());
        assert_eq!(after, before, "{word}");
    }
    let missing = dir.path().join("missing.db");
    assert_failed(&rota("restore", &missing, server.dir(), &["--replace"]), &["missing.db"]);
    assert_eq!(run(&["restore"], &[]).code, Some(2));
    server.restart();
    assert_eq!(fetch_all(&server).len(), 5);
}

#[test]
fn a_disk_without_room_keeps_the_old_database() {
    let disk = SmallDisk::mount(2);
    let (_dir, file) = backup_of(20_000);
    let data = disk.path().join("data");
    let mut server = Server::start_at(&data, &["--storage-reserve", "0"], &[]);
    enqueue(&server, 5);
    assert_eq!(server.terminate().code(), Some(0));
    assert_failed(&rota("restore", &file, &data, &["--replace"]), &["MiB free on its disk"]);
    server.restart();
    assert_eq!(fetch_all(&server).len(), 5);
}

/// A backup of a server with this many jobs.
pub fn backup_of(jobs: usize) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("copy.db");
    let server = Server::start();
    enqueue(&server, jobs);
    assert_ok(&rota("backup", &file, server.dir(), &[]));
    (dir, file)
}
