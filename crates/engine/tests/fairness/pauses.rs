//! After a pause of the process, workers have time to report, as after a restart.

use rota_engine::{Beat, Command, Now, Registration, Reply};
use rota_model::{Millis, Seq, State, WorkerId};

use crate::world::{World, job};

fn pause(world: &mut World, ms: u64) {
    let wall = world.engine.now().wall.0 + ms as i64;
    world.mono += ms;
    world.apply(Command::Resume(Now { wall: Millis(wall), mono: world.mono, ahead_ms: 0 }));
    world.pass(0);
}

fn worker() -> WorkerId {
    WorkerId::parse("w").unwrap()
}

/// A job of a worker that has just sent a heartbeat.
fn take(world: &mut World, visibility_ms: u64) -> Seq {
    world.enqueue(&job("a"), 1);
    let claimed = world.fetch_with(&["default"], 1, |fetch| {
        fetch.worker = Some(worker());
        fetch.visibility_ms = Some(visibility_ms);
    });
    let jobs = vec![world.target(claimed[0].seq)];
    let about = Registration { worker: worker(), ..Registration::named(worker()) }.into();
    let beat =
        Beat { worker: worker(), state: None, jobs, visibility_ms: Some(visibility_ms), about };
    assert!(matches!(world.apply(Command::Beat(beat)), Reply::Beat(_)));
    claimed[0].seq
}

fn is_active(world: &mut World, seq: Seq) -> bool {
    world.target(seq).state() == State::Active
}

#[test]
fn reservations_last_15_seconds_longer_or_their_whole_length() {
    for (visibility_ms, grace_ms) in [(60_000, 15_000), (2_000, 2_000)] {
        let mut world = World::new();
        let seq = take(&mut world, visibility_ms);
        pause(&mut world, 3_600_000);
        world.pass(grace_ms - 1);
        assert!(is_active(&mut world, seq), "{visibility_ms}");
        world.pass(1);
        assert!(!is_active(&mut world, seq), "{visibility_ms}");
    }
}

#[test]
fn what_is_left_of_a_reservation_is_kept_if_it_is_more() {
    let mut world = World::new();
    let seq = take(&mut world, 60_000);
    pause(&mut world, 20_000);
    world.pass(29_999);
    assert!(is_active(&mut world, seq));
}

#[test]
fn nobody_counts_as_silent_for_what_was_missed() {
    let mut world = World::new();
    let seq = take(&mut world, 7_200_000);
    pause(&mut world, 60_000);
    world.pass(29_999);
    assert!(is_active(&mut world, seq));
    world.pass(1_001);
    assert!(!is_active(&mut world, seq), "30 s are over");
    let seq = take(&mut world, 7_200_000);
    world.pass(60_000);
    assert!(!is_active(&mut world, seq), "this was no pause");
}
