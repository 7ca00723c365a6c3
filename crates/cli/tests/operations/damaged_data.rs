//! Data that is damaged: said so, never guessed at, never a panic.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Ended, Process};
use crate::seeded_random::Dice;
use crate::start::assert_refused;
use crate::wire::{Answer, Wire};

const FLAGS: [&str; 2] = ["--storage-reserve", "0"];
const JOBS: usize = 300;

#[test]
fn what_is_no_database_is_refused() {
    let mut dice = Dice::new(1);
    let garbage: Vec<u8> = (0..50_000).map(|_| dice.roll() as u8).collect();
    let cases: [&[u8]; 5] =
        [&garbage, b"x", b"SQLite format 3\0", &[0; 8192], b"<html>not found</html>"];
    for bytes in cases {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rota.db");
        fs::write(&path, bytes).unwrap();
        let ended = Process::serve(dir.path(), &FLAGS).end();
        assert_refused(&ended, &[&path.display().to_string(), "left as it is"]);
        assert_eq!(fs::read(&path).unwrap(), bytes, "every byte is as it was");
    }
}

#[test]
fn a_database_cut_short_is_never_served_as_if_whole() {
    let (dir, path) = filled();
    let whole = fs::read(&path).unwrap();
    for keep in [50, 100, 4096, 8192, whole.len() / 4, whole.len() / 2, whole.len() - 8192] {
        restore(&dir, &path, &whole[..keep]);
        let outcome = contact(dir.path());
        assert!(outcome.is_err(), "{keep} of {} bytes were enough", whole.len());
        assert_no_accident(&outcome, &format!("cut to {keep} bytes"));
    }
}

#[test]
fn flipped_bytes_never_cause_an_accident() {
    let seed = Dice::seed();
    println!("ROTA_SEED={seed}");
    let mut dice = Dice::new(seed);
    let (dir, path) = filled();
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for round in 0..25 {
        let mut bytes = whole.clone();
        let at = 100 + dice.below(whole.len() - 400);
        let length = 1 + dice.below(200);
        bytes[at..at + length].iter_mut().for_each(|byte| *byte ^= dice.roll() as u8 | 1);
        restore(&dir, &path, &bytes);
        let outcome = contact(dir.path());
        refused += u32::from(outcome.is_err());
        let what = format!("ROTA_SEED={seed} round {round}: {length} bytes flipped at {at}");
        assert_no_accident(&outcome, &what);
    }
    println!("{refused} of 25 were noticed");
}

/// Whole pages that turn to noise cannot go unnoticed by a server that reads them.
#[test]
fn a_page_of_noise_is_never_served() {
    let seed = Dice::seed();
    let mut dice = Dice::new(seed);
    let (dir, path) = filled();
    let whole = fs::read(&path).unwrap();
    for page in 1..whole.len() / 8192 {
        let mut bytes = whole.clone();
        bytes[page * 8192..(page + 1) * 8192].iter_mut().for_each(|b| *b = dice.roll() as u8);
        restore(&dir, &path, &bytes);
        if let Ok(served) = contact(dir.path()) {
            let unread = served.iter().find(|answer| answer.status == 503);
            assert!(unread.is_none(), "ROTA_SEED={seed} page {page}: {}", unread.unwrap().text());
            assert_no_accident(&Ok(served), &format!("ROTA_SEED={seed} page {page}"));
        }
    }
}

/// Only what needs the damaged page fails, and it says so.
#[test]
fn damage_on_a_running_server_fails_the_requests_that_meet_it() {
    const MANY: usize = 40;
    const DAMAGED: usize = 7;
    let dir = TempDir::new().unwrap();
    let mut server = Process::serve(dir.path(), &FLAGS);
    let text = |n: usize| format!("marker-{n:02}-{}", "x".repeat(6000));
    let job = |n: usize| json!({"type": "a", "args": [text(n)]});
    let jobs: Vec<Value> = (0..MANY).map(job).collect();
    let answer = server.connect().post("/ojs/v1/jobs/batch", &json!({"jobs": jobs})).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let enqueued = answer.json()["jobs"].as_array().unwrap().clone();
    let path_of = |n: usize| format!("/ojs/v1/jobs/{}", enqueued[n]["id"].as_str().unwrap());
    assert_eq!(server.terminate().code, Some(0));

    let mut server = Process::serve(dir.path(), &FLAGS);
    let mut wire = server.connect();
    flip_bit_of(&dir.path().join("rota.db"), text(DAMAGED).as_bytes());
    let answer = wire.get(&path_of(DAMAGED)).unwrap();
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"]), (500, &json!("data_damaged")), "{error}");
    assert_eq!(error["retryable"], false);
    assert!(error["hint"].as_str().unwrap().contains("rota doctor"), "{error}");
    assert!(!answer.text().contains("rota.db"), "tenants need not know the path");
    for n in (0..MANY).filter(|n| *n != DAMAGED) {
        let answer = wire.get(&path_of(n)).unwrap();
        assert_eq!(answer.json()["job"]["args"][0], text(n), "job {n}: {}", answer.status);
    }
    let ask = json!({"queues": ["default"], "count": MANY});
    let fetched = wire.post("/ojs/v1/workers/fetch", &ask).unwrap().json()["jobs"].clone();
    let texts = fetched.as_array().unwrap().iter().map(|job| job["args"][0].clone());
    let texts: Vec<Value> = texts.collect();
    let others: Vec<Value> = (0..MANY).filter(|n| *n != DAMAGED).map(|n| text(n).into()).collect();
    assert_eq!(texts, others);
    let acks: Vec<_> = fetched.as_array().unwrap().iter().map(|job| &job["id"]).collect();
    for id in acks {
        let answer = wire.post("/ojs/v1/workers/ack", &json!({"job_id": id})).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let ack = json!({"job_id": enqueued[DAMAGED]["id"]});
    let answer = wire.post("/ojs/v1/workers/ack", &ack).unwrap();
    assert_eq!(answer.json()["error"]["code"], "data_damaged", "{}", answer.text());
    let metrics = wire.get("/metrics").unwrap().text();
    let count = metrics.lines().find_map(|line| line.strip_prefix("rota_damaged_reads_total "));
    assert!(count.is_some_and(|count| count != "0"), "{count:?}");
    let data = dir.path().display().to_string();
    let found = crate::process::run(&["doctor", "--data", &data], &[]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains("do not match their checksums"), "{}", found.stdout);
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = format!("{}{}", ended.stdout, ended.stderr);
    assert!(log.contains("rota.db does not match its checksum"), "{log}");
}

/// Flips a bit of the first place in the file that has these bytes.
fn flip_bit_of(path: &Path, bytes: &[u8]) {
    let content = fs::read(path).unwrap();
    let at = content.windows(bytes.len()).position(|window| window == bytes).unwrap();
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[content[at + 50] ^ 1], at as u64 + 50).unwrap();
}

/// A directory with jobs in every stage, and its database file.
fn filled() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let mut server = Process::serve(dir.path(), &FLAGS);
    let mut wire = server.connect();
    let job =
        |n| json!({"type": "a", "args": [n, "x".repeat(500)], "queue": format!("q{}", n % 3)});
    let jobs: Vec<Value> = (0..JOBS).map(job).collect();
    assert_eq!(wire.post("/ojs/v1/jobs/batch", &json!({"jobs": jobs})).unwrap().status, 201);
    let fetched = wire.post("/ojs/v1/workers/fetch", &json!({"queues": ["q0"], "count": 50}));
    for job in fetched.unwrap().json()["jobs"].as_array().unwrap().iter().take(40) {
        let ack = json!({"job_id": job["id"], "result": {"n": 1}});
        assert_eq!(wire.post("/ojs/v1/workers/ack", &ack).unwrap().status, 200);
    }
    assert_eq!(server.terminate().code, Some(0));
    let path = dir.path().join("rota.db");
    (dir, path)
}

fn restore(dir: &TempDir, path: &Path, bytes: &[u8]) {
    for log in ["rota.db-wal", "rota.db-shm"] {
        let _ = fs::remove_file(dir.path().join(log));
    }
    fs::write(path, bytes).unwrap();
}

/// Starts it and asks about everything. `Ok` when it served throughout.
fn contact(dir: &Path) -> Result<Vec<Answer>, Ended> {
    let mut server = Process::serve(dir, &FLAGS);
    let Some(address) = server.address() else { return Err(server.end()) };
    let talked = Wire::open(address).and_then(|mut wire| talk(&mut wire));
    // A server that died is heard out; one that did not is told to stop.
    match talked {
        Ok(answers) if server.is_running() => {
            let ended = server.terminate();
            if ended.code == Some(0) && !ended.stderr.contains("panicked at") {
                return Ok(answers);
            }
            Err(ended)
        }
        _ => Err(server.end()),
    }
}

fn talk(wire: &mut Wire) -> io::Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for page in 1..=4 {
        answers.push(wire.get(&format!("/ojs/v1/admin/jobs?per_page=100&page={page}"))?);
    }
    for queue in ["q0", "q1", "q2"] {
        answers.push(wire.get(&format!("/ojs/v1/queues/{queue}/stats"))?);
        let ask = json!({"queues": [queue], "count": 1000});
        let fetched = wire.post("/ojs/v1/workers/fetch", &ask)?;
        for job in fetched.json()["jobs"].as_array().unwrap_or(&Vec::new()) {
            answers.push(wire.get(&format!("/ojs/v1/jobs/{}", job["id"].as_str().unwrap_or("?")))?);
            answers.push(wire.post("/ojs/v1/workers/ack", &json!({"job_id": job["id"]}))?);
        }
        answers.push(fetched);
    }
    answers.push(wire.post("/ojs/v1/jobs", &json!({"type": "a", "args": []}))?);
    Ok(answers)
}

/// Whatever happened, it was decided and not an accident: a cause and a code, or an answer.
#[track_caller]
fn assert_no_accident(outcome: &Result<Vec<Answer>, Ended>, what: &str) {
    match outcome {
        Ok(answers) => {
            let is_bad = |answer: &&Answer| {
                answer.status == 500 && answer.json()["error"]["code"] != "data_damaged"
            };
            let bad = answers.iter().find(is_bad);
            assert!(bad.is_none(), "{what}: {}", bad.unwrap().text());
        }
        Err(ended) => {
            assert!(!ended.stderr.contains("panicked at"), "{what}: {}", ended.stderr);
            assert!(matches!(ended.code, Some(1 | 70)), "{what}: {ended:?}");
            assert!(ended.stderr.contains("rota: "), "{what}: {}", ended.stderr);
        }
    }
}
