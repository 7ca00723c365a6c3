//! `rota doctor` on servers, and on what only looks like one.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::doctor_data::{filters, finding};
use crate::process::{Ended, run};
use crate::servers_with_jobs::enqueue;
use crate::support::Server;

#[test]
fn a_running_server_and_its_directory_are_well() {
    let server = Server::start();
    let ended = doctor(&server, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(ended.stdout, @r"
        Data directory DIR
          ok       server       A server is running here: process PID.
          ok       disk         SIZE free, SIZE in reserve.
          ok       format       Format 12, as this version writes it.
          ok       log          N records in SIZE; the database has applied all of them.
          ok       file         SQLite finds every page and every index sound.
          ok       contents     0 jobs as of commit N; the data is consistent.

        Server http://HOST
          ok       answers      rota VERSION answers, up TIME.
          ok       health       The server is healthy.
          ok       work         0 jobs waiting, 0 active, 0 workers.

        No problems found.
        ");
    });
}

#[test]
fn waiting_jobs_without_a_worker_are_a_warning() {
    let server = Server::start();
    enqueue(&server, 4);
    server.post("/ojs/v1/queues/default/pause", json!({})).expect(200);
    let maintenance = json!({"enabled": true, "reason": "moving disks"});
    server.post("/ojs/v1/admin/system/maintenance", maintenance).expect(200);
    let ended = doctor(&server, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (_, about_server) = ended.stdout.split_once("Server ").unwrap();
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(about_server, @r"
        http://HOST
          ok       answers      rota VERSION answers, up TIME.
          ok       health       The server is healthy.
          warning  maintenance  It is in maintenance and hands out no jobs: moving disks.
                                End it when the work is done; it does not end by itself.
          warning  workers      4 jobs wait, and no worker is there.
                                Start a worker, or look why yours does not fetch.
          warning  queues       Paused, so that their jobs wait: default.
                                Resume one with `rota queues resume NAME`, unless the pause is intended.

        3 warnings, no problems.
        ");
    });
}

#[test]
fn lost_workers_and_piles_of_dead_letters_are_warned_of() {
    let flags = ["--workers-heartbeat-timeout", "200ms", "--workers-heartbeat-interval", "100ms"];
    let server = Server::start_with(&flags);
    server.post("/ojs/v1/workers/heartbeat", json!({"worker_id": "lost-1"})).expect(200);
    let job = json!({"type": "a", "args": [], "options": {"retry": {"max_attempts": 1}}});
    let jobs: Vec<Value> = vec![job; 100];
    server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    for job in server.fetch("default", 100) {
        let error = json!({"code": "x", "message": "failed"});
        server
            .post("/ojs/v1/workers/nack", json!({"job_id": job["id"], "error": error}))
            .expect(200);
    }
    let until = Instant::now() + Duration::from_secs(60);
    while server.get("/ojs/v1/admin/workers/lost-1").expect(200)["state"] != "stale" {
        assert!(Instant::now() < until, "the worker is never lost");
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = doctor(&server, &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lost = finding(&ended, "workers");
    assert!(lost["what"].as_str().unwrap().contains("lost-1"), "{lost}");
    let dead = finding(&ended, "dead letter");
    assert_eq!(dead["what"], "100 jobs failed for good, 100 of them in default.");
}

#[test]
fn a_server_with_another_data_directory_is_reported() {
    let server = Server::start();
    let dir = TempDir::new().unwrap();
    let data = dir.path().display().to_string();
    let ended = run(&["doctor", "--data", &data, "--url", &server.url(""), "--json"], &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let what = finding(&ended, "data")["what"].clone();
    assert!(what.as_str().unwrap().contains(&server.dir().display().to_string()), "{what}");
    assert!(what.as_str().unwrap().starts_with("The server uses another directory: "), "{what}");
}

#[test]
fn a_server_on_another_address_is_reported() {
    let server = Server::start();
    let data = server.dir().display().to_string();
    let ended = run(&["doctor", "--data", &data, "--json"], &[("ROTA_LISTEN", "127.0.0.1:9")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let finding = finding(&ended, "answers");
    assert_eq!(finding["level"], "warning");
    assert!(finding["advice"].as_str().unwrap().contains("--url"), "{finding}");
}

#[test]
fn a_full_disk_is_a_problem_with_its_remedy() {
    let disk = crate::small_disk::SmallDisk::mount(12);
    let server = Server::start_at(&disk.path().join("data"), &["--storage-reserve", "2MiB"], &[]);
    let job = json!({"type": "a", "args": ["x".repeat(100_000)]});
    let mut ballast = std::fs::File::create(disk.path().join("ballast")).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    // The server may find room once more by moving its log; that is taken too.
    let ended = loop {
        while server.post("/ojs/v1/jobs", job.clone()).status == 201 {}
        while ballast.write_all(&[7; 4096]).is_ok() {}
        let ended = doctor(&server, &["--json"]);
        if finding(&ended, "health")["level"] == "problem" {
            break ended;
        }
        assert!(Instant::now() < until, "the disk never stays full: {ended:?}");
    };
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(finding(&ended, "health")["what"], "Its disk is full: new jobs are rejected.");
    assert_eq!(finding(&ended, "disk")["level"], "problem");
}

#[test]
fn an_unreachable_url_has_its_own_exit_code() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().display().to_string();
    let ended = run(&["doctor", "--data", &data, "--url", "http://127.0.0.1:9", "--json"], &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(finding(&ended, "answers")["level"], "problem");
    assert_eq!(finding(&ended, "database")["level"], "warning", "the data is checked all the same");
    let by_variable = run(&["doctor", "--data", &data], &[("ROTA_URL", "http://127.0.0.1:9")]);
    assert_eq!(by_variable.code, Some(3), "{by_variable:?}");
    assert_eq!(run(&["doctor", "--url", "nonsense"], &[]).code, Some(2));
    assert_eq!(run(&["doctor", "--nonsense"], &[]).code, Some(2));
}

#[test]
fn a_server_of_another_kind_has_its_own_error() {
    let url = answer_with(|_| (200, "<html>It works!</html>".to_owned()));
    let ended = doctor_at(&url);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let what = finding(&ended, "answers")["what"].clone();
    assert!(what.as_str().unwrap().contains("does not answer as an OJS server"), "{what}");
}

#[test]
fn another_job_server_is_asked_for_its_health_only() {
    let url = answer_with(|path| match path {
        "/ojs/v1/health" => (200, json!({"status": "ok"}).to_string()),
        "/ojs/manifest" => {
            (200, json!({"implementation": {"name": "other", "version": "7"}}).to_string())
        }
        path => panic!("{path} is nobody's business"),
    });
    let ended = doctor_at(&url);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answers = finding(&ended, "answers");
    assert_eq!(
        (&answers["level"], &answers["what"]),
        (&"warning".into(), &"other 7 answers.".into(),)
    );
}

/// Versions differ, and it is too busy to say more: that is a finding, not the end.
#[test]
fn a_server_that_stops_answering_is_a_problem() {
    let url = answer_with(|path| match path {
        "/ojs/v1/health" => {
            (503, json!({"status": "degraded", "backend": {"status": "unresponsive"}}).to_string())
        }
        "/ojs/manifest" => {
            (200, json!({"implementation": {"name": "rota", "version": "0.0.1"}}).to_string())
        }
        _ => {
            let error = json!({"code": "busy", "message": "Too many requests wait."});
            (503, json!({"error": error}).to_string())
        }
    });
    let ended = doctor_at(&url);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for (check, level) in [("health", "problem"), ("requests", "problem"), ("version", "warning")] {
        assert_eq!(finding(&ended, check)["level"], level, "{check}");
    }
}

/// Something that answers every request with what is asked for here, and tells where it is.
fn answer_with(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let n = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..n]).into_owned();
            let (status, body) = answer(request.split(' ').nth(1).unwrap_or_default());
            let _ = write!(
                stream,
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    url
}

/// With an empty data directory.
fn doctor_at(url: &str) -> Ended {
    let dir = TempDir::new().unwrap();
    let data = dir.path().display().to_string();
    run(&["doctor", "--data", &data, "--url", url, "--json"], &[])
}

fn doctor(server: &Server, flags: &[&str]) -> Ended {
    let (data, url) = (server.dir().display().to_string(), server.url(""));
    run(&[&["doctor", "--data", &data, "--url", &url], flags].concat(), &[])
}
