//! Other files have taken every free byte of a full disk. Work goes on in the space that the server has, and purging
//! makes room inside it.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::full_disk::{assert_count, fetch_of, fill, wait_for_room, wait_until_degraded, work};
use crate::small_disk::SmallDisk;
use crate::support::Server;

/// Takes every byte that is free.
fn fill_up(disk: &Path) {
    let mut file = OpenOptions::new().create(true).append(true).open(disk.join("other")).unwrap();
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
    fill_up(disk.path());
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
}

#[test]
fn purging_makes_room_although_others_have_taken_what_was_free() {
    check(20, "4MiB");
}

#[test]
fn the_same_with_much_in_reserve() {
    check(48, "16MiB");
}
