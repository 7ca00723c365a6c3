//! Servers with jobs in them.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Ended, run};
use crate::support::Server;

/// Enqueues this many jobs and tells their ids.
pub fn enqueue(server: &Server, count: usize) -> Vec<String> {
    enqueue_sized(server, count, 10)
}

pub fn enqueue_sized(server: &Server, count: usize, bytes: usize) -> Vec<String> {
    let mut ids = Vec::new();
    while ids.len() < count {
        let size = (count - ids.len()).min(500).min((8 << 20) / bytes);
        let jobs: Vec<Value> =
            (0..size).map(|_| json!({"type": "a", "args": ["x".repeat(bytes)]})).collect();
        let body = server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
        let jobs = body["jobs"].as_array().expect("a list of jobs");
        ids.extend(jobs.iter().map(|job| job["id"].as_str().unwrap().to_owned()));
    }
    ids
}

/// Fetches until there is nothing more; each job is handed out once.
pub fn fetch_all(server: &Server) -> HashSet<String> {
    let mut ids = HashSet::new();
    loop {
        let jobs = server.fetch("default", 1000);
        if jobs.is_empty() {
            return ids;
        }
        for job in jobs {
            let id = job["id"].as_str().unwrap().to_owned();
            assert!(ids.insert(id.clone()), "{id} was handed out twice");
        }
    }
}

/// `rota` with a file and a data directory.
pub fn rota(verb: &str, file: &Path, dir: &Path, flags: &[&str]) -> Ended {
    let (file, dir) = (file.display().to_string(), dir.display().to_string());
    let arguments = [&[verb, &file, "--data", &dir], flags].concat();
    run(&arguments, &[])
}

#[track_caller]
pub fn assert_ok(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Exit code 1, these words, and nothing on standard output.
#[track_caller]
pub fn assert_failed(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word} is not in: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("panicked at"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

/// The names of the files in a directory, sorted.
pub fn files(dir: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}
