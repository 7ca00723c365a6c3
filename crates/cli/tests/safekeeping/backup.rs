//! `rota backup`.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Process, run};
use crate::servers_with_jobs::{
    assert_failed, assert_ok, enqueue, enqueue_sized, fetch_all, files, rota,
};
use crate::small_disk::SmallDisk;
use crate::steady_load::Load;
use crate::support::{Server, command};

/// The promise: what was answered before the backup began is in it, and can be worked on.
#[test]
fn everything_acknowledged_comes_back_from_a_busy_server() {
    let dir = TempDir::new().unwrap();
    let (file, restored) = (dir.path().join("copy.db"), dir.path().join("restored"));
    let server = Server::start();
    enqueue_sized(&server, 2000, 5000);
    let load = Load::start(server.address(), 4);
    while load.acknowledged().len() < 50 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = load.acknowledged();
    let ended = rota("backup", &file, server.dir(), &["--json"]);
    assert_ok(&ended);
    let count_after = load.acknowledged().len();
    while load.acknowledged().len() == count_after {
        std::thread::sleep(Duration::from_millis(5));
    }
    load.end();

    assert_ok(&rota("restore", &file, &restored, &[]));
    let copy = Server::start_at(&restored, &[], &[]);
    let fetched = fetch_all(&copy);
    let missing = before.iter().filter(|id| !fetched.contains(*id)).count();
    assert_eq!(missing, 0, "of {} that were acknowledged", before.len());
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["jobs"]["available"], fetched.len() as u64, "{told}");
    // And it goes on as a server of its own.
    enqueue(&copy, 1);
    assert_eq!(fetch_all(&copy).len(), 1);
}

#[test]
fn a_stopped_server_is_backed_up_and_left_as_it_was() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("copy.db");
    let mut server = Server::start();
    enqueue(&server, 3);
    assert_eq!(server.terminate().code(), Some(0));
    let before = files(server.dir());
    let ended = rota("backup", &file, server.dir(), &[]);
    assert_ok(&ended);
    assert!(ended.stdout.contains("3 jobs: 3 available"), "{}", ended.stdout);
    let mut after = files(server.dir());
    after.retain(|name| name != "rota.backup.json");
    assert_eq!(after, before);
    assert_eq!(files(dir.path()), ["copy.db"]);
}

#[test]
fn what_a_killed_server_had_only_in_its_log_is_backed_up() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("copy.db");
    let mut server = Server::start();
    enqueue(&server, 3);
    server.kill();
    let ended = rota("backup", &file, server.dir(), &[]);
    assert!(ended.stdout.contains("3 jobs: 3 available"), "{ended:?}");
    server.restart();
    assert_eq!(fetch_all(&server).len(), 3);
}

#[test]
fn a_summary_is_printed_for_people_or_scripts_or_not_at_all() {
    let dir = TempDir::new().unwrap();
    let file = |name: &str| dir.path().join(name);
    let server = Server::start();
    enqueue(&server, 12);
    server.fetch("default", 2);
    let ended = rota("backup", &file("a.db"), server.dir(), &[]);
    assert_ok(&ended);
    insta::with_settings!({filters => vec![
        (r"backup .*/a\.db", "backup  FILE"), (r"took    .*", "took    TIME"),
        (r"size    .*", "size    SIZE"), (r"commit  \d+", "commit  N"),
    ]}, {
        insta::assert_snapshot!(ended.stdout, @r"
        backup  FILE
        jobs    12 jobs: 10 available, 2 active
        size    SIZE
        commit  N
        format  12
        took    TIME
        ");
    });
    let ended = rota("backup", &file("b.db"), server.dir(), &["--json"]);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["jobs"]["active"], 2);
    assert_eq!(told["bytes"], fs::metadata(file("b.db")).unwrap().len());
    assert_eq!(told["file"], file("b.db").display().to_string());
    assert_eq!(told["damages"], serde_json::json!([]));
    assert!(told["commit"].as_u64().unwrap() >= 2 && told["seconds"].as_f64().unwrap() > 0.0);
    let ended = rota("backup", &file("c.db"), server.dir(), &["--quiet"]);
    assert_ok(&ended);
    assert_eq!((ended.stdout, ended.stderr), (String::new(), String::new()));
}

#[test]
fn a_file_that_exists_is_kept_unless_forced() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("copy.db");
    let server = Server::start();
    fs::write(&file, "precious").unwrap();
    assert_failed(
        &rota("backup", &file, server.dir(), &[]),
        &["copy.db exists already", "--force"],
    );
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    assert_ok(&rota("backup", &file, server.dir(), &["--force"]));
    assert_ok(&rota("restore", &file, &dir.path().join("restored"), &[]));
    let own = server.dir().join("rota.db");
    assert_failed(&rota("backup", &own, server.dir(), &["--force"]), &["data directory itself"]);
    assert_eq!(enqueue(&server, 1).len(), 1);
}

#[test]
fn a_killed_backup_leaves_no_file_and_an_unharmed_server() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("copy.db");
    let server = Server::start();
    let ids = enqueue_sized(&server, 1200, 50_000);
    let load = Load::start(server.address(), 1);
    let (partial, restored) = (dir.path().join("copy.db.partial"), dir.path().join("restored"));
    let mut cut_short = 0;
    // A backup that was faster than its killer is tried again.
    for attempt in 1_u64.. {
        let mut backup =
            Process::spawn(command(&["backup"]).arg(&file).arg("--data").arg(server.dir()));
        let enough = |file: fs::Metadata| file.len() >> 20 >= cut_short * 10;
        while backup.is_running() && !fs::metadata(&partial).is_ok_and(enough) {
            std::thread::yield_now();
        }
        backup.kill();
        if file.exists() {
            assert_ok(&rota("restore", &file, &restored, &[]));
            fs::remove_dir_all(&restored).unwrap();
            fs::remove_file(&file).unwrap();
        } else {
            cut_short += 1;
        }
        if cut_short == 5 {
            break;
        }
        // The last one's remains stay for the backup that is not killed.
        let _ = fs::remove_file(&partial);
        assert!(attempt < 200, "only {cut_short} of {attempt} were cut short");
    }
    let acknowledged = load.end();
    assert_ok(&rota("backup", &file, server.dir(), &[]));
    assert_eq!(files(dir.path()), ["copy.db"], "the remains were used again");
    assert_eq!(fetch_all(&server).len(), ids.len() + acknowledged.len());
}

/// The server's log is as short as ever once the backup is over.
#[test]
fn the_log_shrinks_again_after_a_backup() {
    let dir = TempDir::new().unwrap();
    let server = Server::start();
    enqueue_sized(&server, 600, 50_000);
    assert_ok(&rota("backup", &dir.path().join("copy.db"), server.dir(), &[]));
    let log = server.dir().join("rota.db-wal");
    enqueue_sized(&server, 1200, 50_000);
    let until = Instant::now() + Duration::from_secs(60);
    while fs::metadata(&log).unwrap().len() > 70 << 20 {
        assert!(Instant::now() < until, "the log stays at {}", fs::metadata(&log).unwrap().len());
        enqueue(&server, 100);
    }
}

#[test]
fn a_disk_without_room_is_named_before_anything_is_written() {
    let disk = SmallDisk::mount(4);
    let server = Server::start();
    enqueue_sized(&server, 200, 50_000);
    let file = disk.path().join("copy.db");
    assert_failed(
        &rota("backup", &file, server.dir(), &[]),
        &["MiB free on its disk", "Free some"],
    );
    assert_eq!(files(disk.path()), Vec::<String>::new());
    let dir = TempDir::new().unwrap();
    assert_ok(&rota("backup", &dir.path().join("copy.db"), server.dir(), &[]));
}

/// A server on a disk that is nearly full must not be filled up by its own backup.
#[test]
fn a_backup_leaves_room_on_the_disk_of_the_server() {
    let disk = SmallDisk::mount(60);
    let server = Server::start_at(&disk.path().join("data"), &["--storage-reserve", "1MiB"], &[]);
    enqueue_sized(&server, 100, 50_000);
    let file = disk.path().join("copy.db");
    assert_failed(&rota("backup", &file, server.dir(), &[]), &["MiB free on its disk"]);
    assert!(!file.exists());
}

#[test]
fn unwritable_and_unreadable_files_are_reported() {
    let dir = TempDir::new().unwrap();
    let server = Server::start();
    let nowhere = dir.path().join("missing/copy.db");
    assert_failed(&rota("backup", &nowhere, server.dir(), &[]), &["cannot be written", "copy.db"]);
    let empty = dir.path().join("empty");
    let ended = rota("backup", &dir.path().join("copy.db"), &empty, &[]);
    assert_failed(&ended, &["there is no Rota database at", "empty/rota.db"]);
    assert!(!empty.exists(), "a backup creates no data directory");
    let ended = rota("backup", &dir.path().join("copy.db"), &empty, &["--json"]);
    let told: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!((ended.code, &told["error"]["exit_code"]), (Some(1), &Value::from(1)));
    assert_eq!(run(&["backup"], &[]).code, Some(2));
}

/// The directory is found like the server's own.
#[test]
fn the_directory_comes_from_the_settings() {
    let dir = TempDir::new().unwrap();
    let server = Server::start();
    enqueue(&server, 5);
    let data = server.dir().display().to_string();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let by_variable = run(&["backup", &file("a.db")], &[("ROTA_DATA", &data)]);
    let settings = file("rota.toml");
    fs::write(&settings, format!("data = {data:?}")).unwrap();
    let by_file = run(&["backup", &file("b.db"), "--config", &settings], &[]);
    for ended in [by_variable, by_file] {
        assert!(ended.stdout.contains("5 jobs"), "{ended:?}");
    }
    let mistake = run(&["backup", &file("c.db")], &[("ROTA_DATTA", &data)]);
    assert_eq!(mistake.code, Some(2), "{mistake:?}");
}
