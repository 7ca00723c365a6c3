//! A disk without room: new jobs are refused, work goes on, and nothing that was answered is lost.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::small_disk::SmallDisk;
use crate::support::{JSON, Reply, Server};
use crate::wire::Wire;

const FLAGS: [&str; 2] = ["--storage-reserve", "2MiB"];
const MEGABYTES: u32 = 12;
/// More than what is left for the log, so that without it there is room to move all of the log.
const BALLAST: usize = 6 << 20;

#[test]
fn new_jobs_are_refused_and_accepted_again_without_a_restart() {
    let disk = SmallDisk::mount(MEGABYTES);
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![7; BALLAST]).unwrap();
    let mut server = Server::start_at(&disk.path().join("data"), &FLAGS, &[]);
    let pid = server.pid();
    let mut accepted = fill(&server);
    assert_all_there(&server, &accepted);
    wait_until_degraded(&server, &mut accepted);
    assert_eq!(server.pid(), pid);

    fs::remove_file(&ballast).unwrap();
    accepted.push(wait_for_room(&server));
    assert_eq!(server.get("/ojs/v1/health").expect(200)["status"], "ok");
    assert_all_there(&server, &accepted);
    assert_count(&server, accepted.len());
    assert_eq!((server.pid(), server.terminate().code()), (pid, Some(0)));
    server.restart();
    assert_all_there(&server, &accepted);
    assert_count(&server, accepted.len());
}

#[test]
fn work_goes_on_while_new_jobs_are_refused() {
    // All of the log fits into the reserve.
    work_on_a_full_disk(24, "12MiB");
}

#[test]
fn work_goes_on_with_a_small_reserve_too() {
    work_on_a_full_disk(MEGABYTES, "2MiB");
}

fn work_on_a_full_disk(megabytes: u32, reserve: &str) {
    let disk = SmallDisk::mount(megabytes);
    let flags = ["--storage-reserve", reserve];
    let server = Server::start_at(&disk.path().join("data"), &flags, &[]);
    let mut accepted = fill(&server);
    wait_until_degraded(&server, &mut accepted);
    let fetched = work(&server, "POST", "/ojs/v1/workers/fetch", &fetch_of(10));
    let jobs = fetched["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 10, "work can be fetched");
    let id = |n: usize| jobs[n]["id"].clone();
    for n in 0..6 {
        let ack = json!({"job_id": id(n), "result": {"done": true}});
        work(&server, "POST", "/ojs/v1/workers/ack", &ack);
    }
    for n in 6..9 {
        let nack = json!({"job_id": id(n), "error": {"code": "x", "message": "failed"}});
        work(&server, "POST", "/ojs/v1/workers/nack", &nack);
    }
    work(&server, "DELETE", &format!("/ojs/v1/jobs/{}", id(9).as_str().unwrap()), &Value::Null);
    let purge = json!({"states": ["completed", "cancelled"], "confirm": true});
    let purged = work(&server, "DELETE", "/ojs/v1/admin/queues/default/jobs", &purge);
    assert_eq!(purged["purged_count"], 7, "{purged}");
    accepted.retain(|known| !(0..6).chain([9]).any(|n| id(n) == **known));
    assert_all_there(&server, &accepted);
    assert_count(&server, accepted.len());
}

#[test]
fn purging_alone_makes_room_again() {
    let disk = SmallDisk::mount(20);
    let flags = ["--storage-reserve", "4MiB"];
    let server = Server::start_at(&disk.path().join("data"), &flags, &[]);
    // Slowly, so that the log is moved in between and stays smaller than the reserve.
    let database = server.dir().join("rota.db");
    let accepted = fill_from(server.address(), 0, Some(&database));
    let until = Instant::now() + Duration::from_secs(60);
    let mut acked = 0;
    while acked < accepted.len() {
        let fetched = work(&server, "POST", "/ojs/v1/workers/fetch", &fetch_of(100));
        let jobs = fetched["jobs"].as_array().unwrap();
        let acks: Vec<Value> = jobs.iter().map(|job| json!({"job_id": job["id"]})).collect();
        if !acks.is_empty() {
            let answer = work(&server, "POST", "/ojs/v1/workers/ack", &json!({"jobs": acks}));
            acked += answer["succeeded"].as_u64().unwrap() as usize;
        }
        assert!(Instant::now() < until, "{acked} of {} jobs could be worked off", accepted.len());
    }
    let purge = json!({"states": ["completed"], "confirm": true});
    let purged = work(&server, "DELETE", "/ojs/v1/admin/queues/default/jobs", &purge);
    assert_eq!(purged["purged_count"], accepted.len() as u64);
    // The space inside the database is free, and new jobs go there.
    let id = wait_for_room(&server);
    assert_eq!(server.job(&id)["state"], "available");
    assert_count(&server, 1);
}

#[test]
fn a_server_killed_on_a_full_disk_starts_again_with_everything() {
    let disk = SmallDisk::mount(MEGABYTES);
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![7; BALLAST]).unwrap();
    let mut server = Server::start_at(&disk.path().join("data"), &FLAGS, &[]);
    let mut accepted = fill(&server);
    for _ in 0..3 {
        server.kill();
        server.restart();
        assert_all_there(&server, &accepted);
        let more = server.post("/ojs/v1/jobs", big_job(0));
        match more.status {
            201 => accepted.push(id_of(&more.body)),
            _ => assert_refused_for_space(more),
        }
    }
    fs::remove_file(&ballast).unwrap();
    accepted.push(wait_for_room(&server));
    assert_all_there(&server, &accepted);
    assert_count(&server, accepted.len());
}

/// The number of a job that was not written is used again by the next one. Whoever fetches that
/// must not be given the body of the first.
#[test]
fn the_body_of_a_refused_job_is_never_delivered() {
    let disk = SmallDisk::mount(MEGABYTES);
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![7; BALLAST]).unwrap();
    // A cache that holds the jobs which fill the disk, and not the large one that comes after.
    let flags = [&FLAGS[..], &["--cache-bodies", "512KiB"]].concat();
    let server = Server::start_at(&disk.path().join("data"), &flags, &[]);
    fill(&server);
    fs::remove_file(&ballast).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let large = || json!({"type": "large", "queue": "large", "args": ["y".repeat(600 << 10)]});
    let id = loop {
        let reply = server.post("/ojs/v1/jobs", large());
        if reply.status == 201 {
            break id_of(&reply.body);
        }
        assert_refused_for_space(reply);
        assert!(Instant::now() < until, "new jobs are still refused");
        thread::sleep(Duration::from_millis(100));
    };
    let ask = json!({"queues": ["large"]});
    let fetched = work(&server, "POST", "/ojs/v1/workers/fetch", &ask)["jobs"].clone();
    let text = fetched[0].to_string();
    assert_eq!(fetched[0]["id"], json!(id), "{}", text.chars().take(300).collect::<String>());
    assert_eq!(fetched[0]["type"], "large");
}

/// Enqueues from several sides until there is no more room; the ids that were answered.
pub fn fill(server: &Server) -> Vec<String> {
    let address = server.address();
    let mut accepted: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..3).map(|n| scope.spawn(move || fill_from(address, n, None))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(accepted.len() > 100, "only {} jobs fit", accepted.len());
    // The refusals may have made some room.
    loop {
        let reply = server.post("/ojs/v1/jobs", big_job(0));
        if reply.status != 201 {
            assert_refused_for_space(reply);
            return accepted;
        }
        accepted.push(id_of(&reply.body));
        assert!(accepted.len() < 5_000, "the disk does not fill");
    }
}

/// After every two megabytes it waits until this file, if any, has grown by them.
fn fill_from(address: SocketAddr, n: usize, grows: Option<&Path>) -> Vec<String> {
    let mut wire = Wire::open(address).unwrap();
    let mut grown = 0;
    let mut accepted = Vec::new();
    let mut refusals = 0;
    while refusals < 5 {
        assert!(accepted.len() < 5_000, "the disk does not fill");
        let batch = n == 2;
        let answer = if batch {
            wire.post("/ojs/v1/jobs/batch", &json!({"jobs": [big_job(n), big_job(n), big_job(n)]}))
        } else {
            wire.post("/ojs/v1/jobs", &big_job(n))
        };
        let answer = answer.expect("the server answers");
        let body = answer.json();
        match answer.status {
            201 if batch => {
                accepted.extend(
                    body["jobs"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|job| job["id"].as_str().unwrap().to_owned()),
                );
            }
            201 => {
                accepted.push(id_of(&body));
                if let Some(file) = grows.filter(|_| accepted.len().is_multiple_of(250)) {
                    grown = wait_for_growth(file, grown + (1 << 20));
                }
            }
            status => {
                let error = &body["error"];
                assert_eq!((status, &error["code"]), (503, &json!("backend_error")), "{body}");
                assert!(answer.header("retry-after").is_some(), "{answer:?}");
                refusals += 1;
            }
        }
    }
    accepted
}

/// Until the file has so many bytes, or does not get them for lack of room.
fn wait_for_growth(file: &Path, bytes: u64) -> u64 {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let now = fs::metadata(file).unwrap().len();
        if now >= bytes || Instant::now() > until {
            return now;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn assert_refused_for_space(reply: Reply) {
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
    let error = reply.expect_error(503, "backend_error");
    assert_eq!(error["retryable"], true, "{error}");
    for member in ["message", "hint", "request_id"] {
        assert!(error[member].as_str().is_some_and(|text| !text.is_empty()), "{error}");
    }
}

/// Goes on until the disk is really full: the first refusals may have made some room.
#[track_caller]
pub fn wait_until_degraded(server: &Server, accepted: &mut Vec<String>) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let more = server.post("/ojs/v1/jobs", big_job(0));
        if more.status == 201 {
            accepted.push(id_of(&more.body));
        } else {
            assert_refused_for_space(more);
            let health = server.get("/ojs/v1/health");
            if (health.status, &health.body["status"]) == (503, &json!("degraded")) {
                return;
            }
        }
        assert!(Instant::now() < until, "{}", server.get("/ojs/v1/health").text);
    }
}

#[track_caller]
fn assert_all_there(server: &Server, ids: &[String]) {
    for id in ids {
        let found = server.get(&format!("/ojs/v1/jobs/{id}"));
        assert_eq!((found.status, &found.body["id"]), (200, &json!(id)), "{}", found.text);
    }
}

#[track_caller]
pub fn assert_count(server: &Server, expected: usize) {
    let stats = server.get("/ojs/v1/admin/stats").expect(200);
    let counted: u64 = stats["jobs"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(counted, expected as u64, "{stats}");
}

pub fn wait_for_room(server: &Server) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let reply = server.post("/ojs/v1/jobs", json!({"type": "after", "args": []}));
        if reply.status == 201 {
            return id_of(&reply.body);
        }
        assert_refused_for_space(reply);
        assert!(Instant::now() < until, "new jobs are still refused");
        thread::sleep(Duration::from_millis(100));
    }
}

/// The request that meets the wall is undone and may be sent again; then it must go through.
#[track_caller]
pub fn work(server: &Server, method: &str, path: &str, body: &Value) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    let text = if body.is_null() { String::new() } else { body.to_string() };
    loop {
        let reply = server.send(method, path, &[JSON], Some(text.as_bytes()));
        if reply.status == 200 || Instant::now() > until {
            return reply.expect(200);
        }
        assert_refused_for_space(reply);
        thread::sleep(Duration::from_millis(50));
    }
}

pub fn fetch_of(count: usize) -> Value {
    json!({"queues": ["default"], "count": count})
}

fn big_job(n: usize) -> Value {
    json!({"type": "fill.disk", "args": [n, "x".repeat(8_000)]})
}

fn id_of(body: &Value) -> String {
    body["job"]["id"].as_str().expect("a job has an id").to_owned()
}
