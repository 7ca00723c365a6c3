//! Nobody but the owner may read jobs: neither the data, nor archives, nor backups.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Server, command};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        }
        found.push(path);
    }
}

#[test]
fn only_the_owner_may_read() {
    let dir = tempfile::TempDir::new().unwrap();
    let data = dir.path().join("a/data");
    let flags = [
        ["--dead-letter-pruning-policy", "archive"],
        ["--dead-letter-max-age", "0"],
        ["--dead-letter-prune-interval", "1s"],
    ];
    let server = Server::start_at(&data, &flags.concat(), &[]);
    let id = server
        .enqueue(json!({"type": "a", "args": [], "queue": "q", "retry": {"max_attempts": 1}}));
    server.fetch("q", 1);
    let nack = json!({"job_id": id, "error": {"code": "x", "message": "x", "retryable": false}});
    server.post("/ojs/v1/workers/nack", nack).expect(200);
    let until = Instant::now() + Duration::from_secs(60);
    while !data.join("archive").exists() {
        assert!(Instant::now() < until, "nothing is archived");
        thread::sleep(Duration::from_millis(50));
    }
    let backup = dir.path().join("backup.db");
    let copied = command(&["backup", "--data"]).arg(&data).arg(&backup).output().unwrap();
    assert!(copied.status.success(), "{copied:?}");
    let mut found = vec![data.clone(), dir.path().join("a"), backup];
    files_below(&data, &mut found);
    let names: Vec<String> =
        found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    for name in ["rota.db", "rota.db-wal", "rota.db-shm", "rota.lock", "rota.reserve", "archive"] {
        assert!(names.iter().any(|found| found == name), "{name} is not in {names:?}");
    }
    for path in &found {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(path), expected, "{}", path.display());
    }
}
