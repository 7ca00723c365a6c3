//! A restore that ends at any instant leaves the old database or the new one, whole.

use std::fs;
use std::path::Path;
use std::time::Instant;

use tempfile::TempDir;

use crate::process::Process;
use crate::restore::backup_of;
use crate::servers_with_jobs::{assert_ok, enqueue, rota};
use crate::support::{Server, command};

const OLD: usize = 5;
const NEW: usize = 5_000;
const ROUNDS: u32 = 24;

#[test]
fn a_killed_restore_leaves_the_old_or_the_new() {
    let (_dir, file) = backup_of(NEW);
    // Killed, so that the old jobs are in the log.
    let mut server = Server::start();
    enqueue(&server, OLD);
    server.kill();
    let longest = (0..3).map(|_| once(server.dir(), &file)).max().unwrap();
    let (mut old, mut new) = (0, 0);
    // Until one was killed in time: a machine may be held up now and then, but not each time.
    for round in (0..ROUNDS).chain(0..ROUNDS).chain(0..ROUNDS) {
        let dir = copy_of(server.dir());
        let mut command = command(&["restore", "--replace"]);
        let restore = Process::spawn(command.arg(&file).arg("--data").arg(dir.path()));
        std::thread::sleep(longest * round / ROUNDS);
        restore.kill();
        let survivor = Server::start_at(dir.path(), &[], &[]);
        let stats = survivor.get("/ojs/v1/admin/stats").expect(200);
        match stats["jobs"]["available"].as_u64().unwrap() as usize {
            OLD => old += 1,
            NEW => new += 1,
            other => panic!("{other} jobs are neither the old nor the new database"),
        }
        if old + new >= ROUNDS && old > 0 {
            break;
        }
    }
    println!("{old} times the old one, {new} times the new one");
    assert!(old > 0, "none was killed in time");
}

/// How long a restore takes when nobody kills it.
fn once(old: &Path, file: &Path) -> std::time::Duration {
    let dir = copy_of(old);
    let begun = Instant::now();
    assert_ok(&rota("restore", file, dir.path(), &["--replace"]));
    begun.elapsed()
}

fn copy_of(old: &Path) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("log")).unwrap();
    let segments = fs::read_dir(old.join("log")).unwrap();
    let segments = segments.map(|entry| Path::new("log").join(entry.unwrap().file_name()));
    for name in ["rota.db".into(), "rota.db-wal".into()].into_iter().chain(segments) {
        fs::copy(old.join(&name), dir.path().join(&name)).unwrap();
    }
    dir
}
