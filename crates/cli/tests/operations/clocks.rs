//! A wall clock that is set while the server runs, and between two runs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Server, preload};

const HOUR: i64 = 3_600;

/// The wall clock of one server.
struct WallClock {
    offset: File,
    seconds: i64,
}

impl WallClock {
    fn set(&mut self, seconds: i64) {
        self.seconds = seconds;
        self.offset.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }

    /// What it shows so many seconds from now.
    fn shows_in(&self, seconds: i64) -> String {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        let ms = since.as_millis() as i64 + (self.seconds + seconds) * 1_000;
        rota_client::timestamp(SystemTime::UNIX_EPOCH + Duration::from_millis(ms as u64)).unwrap()
    }
}

fn start(directory: &Path) -> (Server, WallClock) {
    let library = preload::compile("clock.c", directory);
    let path = directory.join("offset");
    let offset = File::create(&path).unwrap();
    let mut clock = WallClock { offset, seconds: 0 };
    clock.set(0);
    let environment =
        [("LD_PRELOAD", library.to_str().unwrap()), ("CLOCK_OFFSET_FILE", path.to_str().unwrap())];
    (Server::start_at(&directory.join("data"), &[], &environment), clock)
}

fn ahead_ms(server: &Server) -> i64 {
    server.get("/health").expect(200)["clock"]["ahead_ms"].as_i64().unwrap()
}

fn wait_until(server: &Server, is_so: impl Fn(i64) -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so(ahead_ms(server)) {
        assert!(Instant::now() < until, "{}", ahead_ms(server));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn job(queue: &str, more: Value) -> Value {
    let mut job = json!({"type": "a", "args": [], "queue": queue});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job
}

/// New jobs wait and live as long as they say.
fn check_times(server: &Server, clock: &WallClock, queue: &str) {
    let begun = Instant::now();
    let relative = server.enqueue(job(queue, json!({"scheduled_at": "+PT3S"})));
    let absolute = server.enqueue(job(queue, json!({"scheduled_at": clock.shows_in(3)})));
    let living = [json!("+PT10M"), json!(clock.shows_in(600))]
        .map(|expires| server.enqueue(job(queue, json!({"expires_at": expires}))));
    for id in [&relative, &absolute] {
        let state = server.job(id)["state"].clone();
        assert!(state == "scheduled" || begun.elapsed() >= Duration::from_millis(2_900), "{state}");
    }
    living.iter().for_each(|id| assert_eq!(server.job(id)["state"], "available"));
    let taken: Vec<String> =
        server.fetch(queue, 2).iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(taken, living);
    // Retries wait as long as their policy says.
    let retried = &taken[0];
    let error = json!({"message": "m", "code": "c"});
    let answer = server.post("/ojs/v1/workers/nack", json!({"job_id": retried, "error": error}));
    assert_eq!(answer.expect(200)["state"], "retryable");
    for id in [&relative, &absolute] {
        server.wait_for_state(id, "available");
        assert!(begun.elapsed() >= Duration::from_millis(2_500), "it started early");
    }
    server.wait_for_state(retried, "available");
}

#[test]
fn new_jobs_keep_their_times_when_the_clock_is_set_back_or_corrected() {
    let directory = TempDir::new().unwrap();
    let (mut server, mut clock) = start(directory.path());
    check_times(&server, &clock, "before");

    clock.set(-HOUR);
    wait_until(&server, |ahead| ahead > 0);
    let ahead = ahead_ms(&server);
    assert!((HOUR * 1_000 - 60_000..=HOUR * 1_000 + 1_000).contains(&ahead), "{ahead}");
    check_times(&server, &clock, "set-back");
    let metrics = server.get("/metrics").text;
    let line = metrics.lines().find(|line| line.starts_with("rota_clock_ahead_seconds "));
    assert!(line.is_some_and(|line| line.contains(" 35") || line.contains(" 36")), "{line:?}");

    // Another process finds a store from the future.
    server.restart();
    assert!(ahead_ms(&server) > HOUR * 1_000 - 600_000);
    check_times(&server, &clock, "restarted");

    // The clock has run ahead, and is put right.
    clock.set(2 * HOUR);
    wait_until(&server, |ahead| ahead == 0);
    clock.set(0);
    wait_until(&server, |ahead| ahead > HOUR * 1_000);
    check_times(&server, &clock, "corrected");
}

#[test]
fn workers_are_told_what_the_wall_clock_shows() {
    let directory = TempDir::new().unwrap();
    let (server, mut clock) = start(directory.path());
    clock.set(-HOUR);
    wait_until(&server, |ahead| ahead > 0);
    let worker = server.post("/ojs/v1/workers/heartbeat", json!({"worker_id": "w"})).expect(200);
    let shown = worker["server_time"].as_str().unwrap();
    assert!(shown < clock.shows_in(60).as_str() && shown > clock.shows_in(-60).as_str(), "{shown}");
}
