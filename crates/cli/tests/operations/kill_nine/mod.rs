//! `kill -9` under load, over and over: nothing that was answered is lost, nothing happens twice.

mod audit;
mod ledger;
mod load;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::seeded_random::Dice;
use crate::support::Server;
use crate::wire::Wire;
use ledger::Ledger;
use load::{Producer, Worker};

const QUEUES: [&str; 3] = ["red", "green", "blue"];
const PRODUCERS: usize = 3;
const WORKERS: usize = 4;

/// Reservations outlast the test, so a second delivery can only be the server's mistake.
const FLAGS: [&str; 6] = [
    "--jobs-visibility-timeout",
    "2h",
    "--workers-heartbeat-timeout",
    "2h",
    "--storage-reserve",
    "1MiB",
];

/// What all threads share.
struct World {
    address: Mutex<SocketAddr>,
    ledger: Ledger,
    producing: AtomicBool,
    working: AtomicBool,
}

impl World {
    fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to whichever server runs now.
    fn connect(&self) -> Wire {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Ok(wire) = Wire::open(self.address()) {
                return wire;
            }
            assert!(Instant::now() < until, "no server came back");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn whatever_was_answered_survives_being_killed_at_any_moment() {
    let kills = std::env::var("ROTA_KILLS").map_or(20, |text| text.parse().expect("a number"));
    let seed = Dice::seed();
    println!("ROTA_SEED={seed} ROTA_KILLS={kills}");
    let mut server = Server::start_apart(&FLAGS);
    let world = World {
        address: Mutex::new(server.address()),
        ledger: Ledger::default(),
        producing: AtomicBool::new(true),
        working: AtomicBool::new(true),
    };
    let mut dice = Dice::new(seed);
    let mut seeds = || dice.roll();
    thread::scope(|scope| {
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|n| {
                let producer = Producer::new(&world, n as u64, seeds());
                scope.spawn(move || producer.run())
            })
            .collect();
        let workers: Vec<_> = (0..WORKERS)
            .map(|n| {
                let worker = Worker::new(&world, format!("worker-{n}"), seeds());
                scope.spawn(move || worker.run())
            })
            .collect();
        kill_again_and_again(&mut server, &world, kills, &mut Dice::new(seeds()));
        world.producing.store(false, Ordering::Relaxed);
        producers.into_iter().for_each(|thread| thread.join().expect("a producer ends well"));
        world.working.store(false, Ordering::Relaxed);
        workers.into_iter().for_each(|thread| thread.join().expect("a worker ends well"));
    });
    audit::drain(&world, Worker::new(&world, "drain".to_owned(), seeds()));
    let story = audit::account(&server, &world);
    server.kill();
    server.restart();
    *world.address.lock().unwrap() = server.address();
    assert_eq!(audit::account(&server, &world), story, "a restart changed something");
    let complaints = world.ledger.complaints();
    assert!(complaints.is_empty(), "ROTA_SEED={seed}\n{}", complaints.join("\n"));
    println!("{kills} kills; {story}");
}

fn kill_again_and_again(server: &mut Server, world: &World, kills: u32, dice: &mut Dice) {
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(30 + dice.below(300) as u64));
        server.kill();
        server.restart();
        *world.address.lock().unwrap() = server.address();
        audit::glance(server, world, dice);
    }
}
