//! Jobs that were put off use their limit whole, in their order, whatever else is late.

use crate::world::{World, job};
use rota_engine::{Command, EventKind};
use rota_model::Seq;
use serde_json::{Value, json};

fn rate(limit: u32, period: &str) -> Value {
    json!({"key": "k", "rate": {"limit": limit, "period": period}, "on_limit": "reschedule"})
}

/// Fetches every `step` milliseconds until then, and tells when which jobs started.
fn starts(world: &mut World, from: u64, until: u64, step: u64) -> Vec<(u64, Seq)> {
    let mut starts = Vec::new();
    while world.mono - from <= until {
        for claimed in world.fetch(8) {
            starts.push((world.mono - from, claimed.seq));
            world.ack(claimed.seq);
        }
        world.pass(step);
    }
    starts
}

fn expected(jobs: &[Seq], times: &[u64]) -> Vec<(u64, Seq)> {
    times.iter().copied().zip(jobs.iter().copied()).collect()
}

fn released(world: &mut World) -> usize {
    let events = std::mem::take(&mut world.events);
    events.iter().filter(|e| matches!(e, EventKind::LimitReleased { .. })).count()
}

/// Eight jobs, of which two have started and six are put off to 2, 4 and 6 seconds.
fn eight() -> (World, Vec<Seq>, u64) {
    let mut world = World::new();
    let jobs = world.enqueue(&job("a").limit(rate(2, "PT2S")), 8);
    let from = world.mono;
    let first = world.fetch(8);
    assert_eq!(first.len(), 2);
    first.into_iter().for_each(|claimed| world.ack(claimed.seq));
    world.events.clear();
    (world, jobs, from)
}

#[test]
fn workers_that_were_away_leave_no_later_opening_unused() {
    let (mut world, jobs, from) = eight();
    world.pass(4_500);
    let got = starts(&mut world, from, 10_000, 100);
    assert_eq!(got, expected(&jobs[2..], &[4_500, 4_500, 6_500, 6_500, 8_500, 8_500]));
    assert_eq!(released(&mut world), 6, "once for each start");
}

#[test]
fn a_server_that_was_down_leaves_no_later_opening_unused() {
    let (mut world, jobs, _) = eight();
    world.crash(5_000);
    let from = world.mono;
    let got = starts(&mut world, from, 6_000, 100);
    assert_eq!(got, expected(&jobs[2..], &[0, 0, 2_000, 2_000, 4_000, 4_000]));
    assert_eq!(released(&mut world), 6);
}

#[test]
fn a_period_that_was_lengthened_is_used_whole_and_in_order() {
    let (mut world, jobs, from) = eight();
    world.say("k", json!({"rate": {"limit": 2, "period": "PT4S"}}), None);
    let got = starts(&mut world, from, 13_000, 100);
    assert_eq!(got, expected(&jobs[2..], &[4_000, 4_000, 8_000, 8_000, 12_000, 12_000]));
    assert_eq!(released(&mut world), 6);
}

#[test]
fn a_period_that_was_shortened_brings_jobs_forward() {
    let (mut world, jobs, from) = eight();
    world.say("k", json!({"rate": {"limit": 2, "period": "PT1S"}}), None);
    let got = starts(&mut world, from, 7_000, 1);
    let times: Vec<u64> = got.iter().map(|(at, _)| *at).collect();
    assert_eq!(got, expected(&jobs[2..], &times));
    // One that is brought forward to an opening that is there already comes a millisecond later.
    let late = times.iter().zip([1_000, 1_000, 2_000, 2_000, 3_000, 3_000]);
    assert!(late.clone().all(|(at, due)| (due..due + 5).contains(at)), "{times:?}");
    assert_eq!(released(&mut world), 6);
}

#[test]
fn the_place_of_a_job_that_is_cancelled_goes_to_the_next() {
    let (mut world, jobs, from) = eight();
    for seq in &jobs[2..4] {
        let target = world.target(*seq);
        world.apply(Command::Cancel(vec![target]));
    }
    let got = starts(&mut world, from, 5_000, 1);
    let times: Vec<u64> = got.iter().map(|(at, _)| *at).collect();
    assert_eq!(got, expected(&jobs[4..], &times));
    let late = times.iter().zip([2_000, 2_000, 4_000, 4_000]);
    assert!(late.clone().all(|(at, due)| (due..due + 5).contains(at)), "{times:?}");
}

#[test]
fn a_job_with_other_numbers_waits_for_those_before_it_no_longer_than_they_count() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(rate(2, "PT2S")), 4);
    let slow = world.enqueue(&job("a").limit(rate(1, "PT3S")), 2);
    let from = world.mono;
    let times = starts(&mut world, from, 9_000, 100);
    assert_eq!(times[4..], [(5_000, slow[0]), (8_000, slow[1])]);
}

#[test]
fn a_throttle_that_is_always_a_little_late_is_used_whole() {
    let mut world = World::new();
    let limit = json!({"key": "k", "throttle": {"limit": 100, "period": "PT1S"},
                       "on_limit": "reschedule"});
    world.enqueue(&job("a").limit(limit), 300);
    let from = world.mono;
    let mut count = 0;
    let mut steps = [1, 2, 1, 3, 1, 1, 2, 4].into_iter().cycle();
    while world.mono - from < 3_000 {
        count += world.fetch(8).into_iter().map(|claimed| world.ack(claimed.seq)).count();
        world.pass(steps.next().unwrap());
    }
    assert!(count >= 285, "{count} of 300");
    assert_eq!(released(&mut world) + 1, count);
}
