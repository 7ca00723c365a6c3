//! `rota doctor` on servers, and on what only looks like one.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::doctor_data::{filters, finding};
use crate::jobs::enqueue;
use crate::process::{Ended, run};
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
          ok       format       Format 2, as this version writes it.
          ok       file         SQLite finds every page and every index sound.
          ok       contents     0 jobs as of commit N; every rule of Rota holds.

        Server http://HOST
          ok       answers      rota VERSION answers, up TIME.
          ok       health       It is well.
          ok       work         0 jobs waiting, 0 active, 0 workers.

        All is well.
        ");
    });
}

#[test]
fn work_that_nobody_does_is_warned_of() {
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
          ok       health       It is well.
          warning  maintenance  It is in maintenance and hands out no jobs: moving disks.
                                End it when the work is done; it does not end by itself.
          warning  workers      4 jobs wait, and no worker is there.
                                Start a worker, or look why yours does not fetch.
          warning  queues       Paused, so that their jobs wait: default.
                                Let one go on with `rota queues resume NAME`, unless it is meant to wait.

        3 warnings, no problem.
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
    std::thread::sleep(std::time::Duration::from_millis(500));
    let ended = doctor(&server, &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lost = finding(&ended, "workers");
    assert!(lost["what"].as_str().unwrap().contains("lost-1"), "{lost}");
    let dead = finding(&ended, "dead letter");
    assert_eq!(dead["what"], "100 jobs failed for good, 100 of them in default.");
}

#[test]
fn a_server_of_another_directory_is_told() {
    let server = Server::start();
    let dir = TempDir::new().unwrap();
    let data = dir.path().display().to_string();
    let ended = run(&["doctor", "--data", &data, "--url", &server.url(""), "--json"], &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let what = finding(&ended, "data")["what"].clone();
    assert!(what.as_str().unwrap().contains(&server.dir().display().to_string()), "{what}");
}

#[test]
fn a_server_that_listens_elsewhere_is_told() {
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
    let Some(disk) = crate::small_disk::SmallDisk::mount(12) else { return };
    let server = Server::start_at(&disk.path().join("data"), &["--storage-reserve", "2MiB"], &[]);
    let job = json!({"type": "a", "args": ["x".repeat(100_000)]});
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while server.get("/ojs/v1/health").status == 200 {
        server.post("/ojs/v1/jobs", job.clone());
        assert!(std::time::Instant::now() < until, "the disk never fills up");
    }
    let ended = doctor(&server, &["--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let health = finding(&ended, "health");
    assert_eq!(
        (&health["level"], &health["what"]),
        (&"problem".into(), &"Its disk is full: new jobs are refused.".into(),)
    );
    assert_eq!(finding(&ended, "disk")["level"], "problem");
}

#[test]
fn a_url_where_nobody_is_has_an_exit_code_of_its_own() {
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
fn something_that_is_no_job_server_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let page = "<html>It works!</html>";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{page}",
                page.len()
            );
        }
    });
    let dir = TempDir::new().unwrap();
    let data = dir.path().display().to_string();
    let ended = run(&["doctor", "--data", &data, "--url", &url, "--json"], &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let what = finding(&ended, "answers")["what"].clone();
    assert!(what.as_str().unwrap().contains("does not answer as an OJS server"), "{what}");
}

fn doctor(server: &Server, flags: &[&str]) -> Ended {
    let (data, url) = (server.dir().display().to_string(), server.url(""));
    run(&[&["doctor", "--data", &data, "--url", &url], flags].concat(), &[])
}
