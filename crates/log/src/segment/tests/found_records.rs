//! What a start has found in the log stays there, although the process before was killed between a write and its sync.

use super::world::World;
use crate::Log;
use crate::files::simulated::Fault;

#[test]
fn a_power_cut_after_a_start_takes_nothing_that_the_start_has_found() {
    let mut taken_over = 0;
    for seed in 0..2_000 {
        let mut world = World::new(seed, |disk| disk);
        world.open().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        // No call succeeds from some moment on: the process is killed.
        let killed = world.disk.calls() + world.rng.u64(..60);
        world.disk.fail_at(killed, Fault::PowerCut);
        while world.step().is_ok() {}
        let acknowledged = world.history.acknowledged.len() as u64;
        world.log = None;
        world.disk.end_process();
        world.open().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        taken_over += world.log().tip().index.saturating_sub(acknowledged);
        world.log = None;
        world.disk.restart();
        world.open().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(taken_over > 100, "only {taken_over} records were found that nobody was promised");
}
