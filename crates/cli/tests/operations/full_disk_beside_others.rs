//! Other files take every byte that becomes free on a full disk. Work goes on in the space that the server has, and
//! purging makes room inside it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::full_disk::{assert_count, fetch_of, fill, wait_for_room, wait_until_degraded, work};
use crate::small_disk::SmallDisk;
use crate::support::Server;

/// Writes to a file whenever there is room for a byte, until it is dropped.
struct Filler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Filler {
    fn start(disk: &Path) -> Self {
        let mut file =
            OpenOptions::new().create(true).append(true).open(disk.join("other")).unwrap();
        fill_up(&mut file);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                fill_up(&mut file);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || joined.is_some_and(|joined| joined.is_ok()));
    }
}

fn fill_up(file: &mut File) {
    for size in [64 << 10, 4 << 10, 1] {
        loop {
            match file.write_all(&vec![7; size]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Fetches and acks everything, and is killed on the way.
fn work_off(server: &mut Server, jobs: usize) {
    let until = Instant::now() + Duration::from_secs(120);
    let (mut acked, mut killed) = (0, false);
    while acked < jobs {
        let fetched = work(server, "POST", "/ojs/v1/workers/fetch", &fetch_of(50));
        let acks: Vec<Value> = fetched["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| json!({"job_id": job["id"]}))
            .collect();
        if !acks.is_empty() {
            let answer = work(server, "POST", "/ojs/v1/workers/ack", &json!({"jobs": acks}));
            acked += answer["succeeded"].as_u64().unwrap() as usize;
        }
        if acked > jobs / 2 && !killed {
            killed = true;
            server.kill();
            server.restart();
        }
        assert!(Instant::now() < until, "{acked} of {jobs} jobs could be worked off");
    }
}

fn check(megabytes: u32, reserve: &str) {
    let disk = SmallDisk::mount(megabytes);
    let flags = ["--storage-reserve", reserve];
    let mut server = Server::start_at(&disk.path().join("data"), &flags, &[]);
    let mut accepted = fill(&server);
    wait_until_degraded(&server, &mut accepted);
    let filler = Filler::start(disk.path());
    work_off(&mut server, accepted.len());
    let purge = json!({"states": ["completed"], "confirm": true});
    let purged = work(&server, "DELETE", "/ojs/v1/admin/queues/default/jobs", &purge);
    assert_eq!(purged["purged_count"], accepted.len() as u64);
    let id = wait_for_room(&server);
    assert_count(&server, 1);
    // A start finds the disk as full.
    server.kill();
    server.restart();
    assert_eq!(server.job(&id)["state"], "available");
    drop(filler);
}

#[test]
fn purging_makes_room_although_others_take_what_is_free() {
    check(20, "4MiB");
}

#[test]
fn the_same_with_much_in_reserve() {
    check(48, "16MiB");
}
