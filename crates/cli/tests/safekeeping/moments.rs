//! Restores to moments of a history that was recorded while it happened.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Ended, run};
use crate::servers_with_jobs::{assert_failed, assert_ok, enqueue, fetch_all, rota};
use crate::small_disk::SmallDisk;
use crate::support::Server;

/// The state of every job.
type States = BTreeMap<String, String>;

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Gives up when it can no longer be slowness.
pub fn wait_until(mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not come");
}

/// An RFC 3339 time.
fn time(ms: i64) -> String {
    rota_model::Millis(ms).to_string()
}

fn archiving(archive: &Path) -> [String; 4] {
    [
        "--archive".into(),
        archive.display().to_string(),
        "--log-archive-interval".into(),
        "100ms".into(),
    ]
}

fn serve(dir: &Path, archive: &Path) -> Server {
    let flags = archiving(archive);
    Server::start_at(dir, &flags.each_ref().map(String::as_str), &[])
}

fn restore(flags: &[&str], dir: &Path) -> Ended {
    let dir = dir.display().to_string();
    run(&[&["restore", "--data", &dir], flags].concat(), &[])
}

/// Does one random thing, and notes what it changes.
fn step(server: &Server, rng: &mut fastrand::Rng, states: &mut States) {
    let of_state = |state: &str| {
        let mut ids = states.iter().filter(|(_, known)| *known == state).map(|(id, _)| id.clone());
        ids.next()
    };
    match rng.u8(..6) {
        0 | 1 => {
            let id = server
                .enqueue(json!({"type": "a", "args": [rng.u32(..)], "retry": {"max_attempts": 1}}));
            states.insert(id, "available".into());
        }
        2 => {
            for job in server.fetch("default", 2) {
                states.insert(job["id"].as_str().unwrap().into(), "active".into());
            }
        }
        3 => {
            let Some(id) = of_state("active") else { return };
            let result = json!({"job_id": id, "result": {"n": rng.u32(..)}});
            server.post("/ojs/v1/workers/ack", result).expect(200);
            states.insert(id, "completed".into());
        }
        4 => {
            let Some(id) = of_state("active") else { return };
            let error =
                json!({"job_id": id, "error": {"code": "x", "message": "no", "retryable": false}});
            server.post("/ojs/v1/workers/nack", error).expect(200);
            states.insert(id, "discarded".into());
        }
        _ => {
            let Some(id) = of_state("available") else { return };
            server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
            states.insert(id, "cancelled".into());
        }
    }
}

/// Every job of the whole history, as a server shows it; those that do not exist are left out.
fn states_of(server: &Server, all: &States) -> States {
    let state = |id: &String| {
        let reply = server.get(&format!("/ojs/v1/jobs/{id}"));
        match reply.status {
            404 => None,
            _ => Some((id.clone(), reply.expect(200)["job"]["state"].as_str().unwrap().to_owned())),
        }
    };
    all.keys().filter_map(state).collect()
}

#[test]
fn any_moment_of_a_recorded_history_can_be_restored() {
    let seed = 20_261_118;
    let mut rng = fastrand::Rng::with_seed(seed);
    let home = TempDir::new().unwrap();
    let (data, archive) = (home.path().join("data"), home.path().join("archive"));
    let backup = home.path().join("backup.db");
    let mut server = serve(&data, &archive);
    let mut moments: Vec<(i64, States)> = Vec::new();
    let mut states = States::new();
    for number in 0..240 {
        step(&server, &mut rng, &mut states);
        moments.push((now_ms(), states.clone()));
        // So that two steps are never of the same millisecond.
        std::thread::sleep(Duration::from_millis(3));
        match number {
            60 => assert_ok(&rota("backup", &backup, &data, &[])),
            120 => server.kill(),
            _ => {}
        }
        if number == 120 {
            server = serve(&data, &archive);
        }
    }
    assert_eq!(server.terminate().code(), Some(0));
    let (archive, backup) = (archive.display().to_string(), backup.display().to_string());
    let with_backup =
        [(61, true), (rng.usize(62..120), true), (rng.usize(120..239), true), (239, true)];
    let without = [(rng.usize(0..60), false), (rng.usize(60..239), false)];
    for (at, from_backup) in with_backup.into_iter().chain(without) {
        let (ms, expected) = &moments[at];
        let until = time(*ms);
        let mut flags = vec!["--archive", &archive, "--until", &until, "--json"];
        if from_backup {
            flags.extend(["--from", &backup]);
        }
        let to = TempDir::new().unwrap();
        let ended = restore(&flags, to.path());
        assert_ok(&ended);
        let told: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(told["is_newest"], at == 239, "{told}");
        let server = Server::start_at(to.path(), &[], &[]);
        assert_eq!(
            &states_of(&server, &states),
            expected,
            "seed {seed}, moment {at}, {from_backup}"
        );
    }
}

#[test]
fn a_restored_history_is_continued_and_the_other_one_is_abandoned() {
    let home = TempDir::new().unwrap();
    let (data, archive) = (home.path().join("data"), home.path().join("archive"));
    let early = home.path().join("early.db");
    let late = home.path().join("late.db");
    let mut server = serve(&data, &archive);
    let kept = enqueue(&server, 3);
    assert_ok(&rota("backup", &early, &data, &[]));
    let until = time(now_ms());
    std::thread::sleep(Duration::from_millis(5));
    let lost = enqueue(&server, 4);
    assert_ok(&rota("backup", &late, &data, &[]));
    assert_eq!(server.terminate().code(), Some(0));
    let from = early.display().to_string();
    let folder = archive.display().to_string();
    let ended =
        restore(&["--from", &from, "--archive", &folder, "--until", &until, "--replace"], &data);
    assert_ok(&ended);
    assert!(ended.stdout.contains("is abandoned"), "{}", ended.stdout);
    server = serve(&data, &archive);
    let new = enqueue(&server, 2);
    assert_eq!(server.terminate().code(), Some(0));

    // The newest of the archive is what the restored server did.
    let again = TempDir::new().unwrap();
    assert_ok(&restore(&["--from", &from, "--archive", &folder], again.path()));
    let found = fetch_all(&Server::start_at(again.path(), &[], &[]));
    assert!(kept.iter().chain(&new).all(|id| found.contains(id)), "{found:?}");
    assert!(!lost.iter().any(|id| found.contains(id)), "{found:?}");
    let late = late.display().to_string();
    let ended = restore(&["--from", &late, "--archive", &folder, "--replace"], again.path());
    assert_failed(&ended, &["abandoned by a later restore", "Nothing was changed"]);
    assert_failed(
        &restore(&["--from", &from, "--archive", &folder], &data),
        &["exists already", "--replace"],
    );
}

/// What is gone from the archive is named, and is not left out silently.
#[test]
fn gaps_and_damaged_files_are_refused() {
    let home = TempDir::new().unwrap();
    let (data, archive) = (home.path().join("data"), home.path().join("archive"));
    let mut server = serve(&data, &archive);
    enqueue(&server, 3_000);
    assert_eq!(server.terminate().code(), Some(0));
    server = serve(&data, &archive);
    enqueue(&server, 3_000);
    assert_eq!(server.terminate().code(), Some(0));
    let folder = archive.display().to_string();
    let mut segments: Vec<_> =
        std::fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|ending| ending == "segment"));
    segments.sort();
    let to = TempDir::new().unwrap();
    let first = &segments[0];
    let sound = std::fs::read(first).unwrap();
    let mut damaged = sound.clone();
    let middle = sound.len() / 2;
    damaged[middle] ^= 4;
    std::fs::write(first, damaged).unwrap();
    assert_failed(
        &restore(&["--archive", &folder], to.path()),
        &["is damaged in", "can be restored"],
    );
    std::fs::remove_file(first).unwrap();
    assert_failed(
        &restore(&["--archive", &folder], to.path()),
        &["must go back to the first record"],
    );
    std::fs::write(first, sound).unwrap();
    assert_ok(&restore(&["--archive", &folder], to.path()));
    assert_eq!(fetch_all(&Server::start_at(to.path(), &[], &[])).len(), 6_000);
}

#[test]
fn a_full_archive_keeps_the_log_and_catches_up() {
    let disk = SmallDisk::mount(4);
    let home = TempDir::new().unwrap();
    let data = home.path().join("data");
    let archive = disk.path().join("archive");
    let filler = disk.path().join("filler");
    std::fs::create_dir(&archive).unwrap();
    std::fs::write(&filler, vec![1; 3 << 20]).unwrap();
    let mut server = serve(&data, &archive);
    let status = |server: &Server| server.get("/health").expect(200)["archive"].clone();
    let ids = crate::servers_with_jobs::enqueue_sized(&server, 3_000, 600);
    wait_until(|| status(&server)["status"] == "failing");
    assert!(status(&server)["records_behind"].as_u64().unwrap() > 0);
    let metrics = server.get("/metrics").text;
    assert!(metrics.contains("rota_archive_failing 1"), "{metrics}");
    // Killed meanwhile, too.
    server.kill();
    server = serve(&data, &archive);
    wait_until(|| status(&server)["status"] == "failing");
    std::fs::remove_file(&filler).unwrap();
    wait_until(|| status(&server) == json!({"status": "ok", "records_behind": 0}));
    server.kill();
    let to = TempDir::new().unwrap();
    assert_ok(&restore(&["--archive", &archive.display().to_string()], to.path()));
    let found = fetch_all(&Server::start_at(to.path(), &[], &[]));
    assert_eq!(found.len(), ids.len());
}

#[test]
fn the_archive_of_another_server_is_refused() {
    let home = TempDir::new().unwrap();
    let archive = home.path().join("archive");
    let server = serve(&home.path().join("one"), &archive);
    enqueue(&server, 1);
    drop(server);
    let other = home.path().join("two").display().to_string();
    let ended = run(
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--data",
            &other,
            "--archive",
            &archive.display().to_string(),
        ],
        &[],
    );
    assert_failed(&ended, &["has the records of another server"]);
}
