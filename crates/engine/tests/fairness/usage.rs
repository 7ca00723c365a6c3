//! What tenants used: everything once, whatever happens, in bounded steps.

use rota_engine::{Command, Config};
use rota_model::TenantId;
use rota_model::usage::{Usage, UsagePer};
use serde_json::json;

use crate::world::{World, job, name};

const HOUR: u64 = 3_600_000;

/// What a reader finds: what is on disk, and what the engine has besides.
fn used(world: &World, tenant: &str, per: UsagePer) -> Vec<(i64, Usage)> {
    let on_disk = world.usage.iter().filter(|((id, of, _), _)| id == tenant && *of == per.code());
    let mut periods: std::collections::BTreeMap<i64, Usage> =
        on_disk.map(|((_, _, at), usage)| (*at, *usage)).collect();
    let unwritten = world.engine.unwritten_usage(&TenantId::parse(tenant).unwrap());
    for (hour, usage) in unwritten.map_or_else(Vec::new, |unwritten| unwritten.hours) {
        periods.entry(per.start_of(hour).0).or_default().add(&usage);
    }
    periods.into_iter().collect()
}

fn sum(periods: &[(i64, Usage)]) -> Usage {
    periods.iter().fold(Usage::default(), |mut sum, (_, usage)| {
        sum.add(usage);
        sum
    })
}

#[test]
fn everything_is_counted_once_over_hours_days_and_crashes() {
    // Written out after nearly every batch, or only at the end of an hour.
    for journal_entries in [1, 100_000] {
        let mut world = World::with(Config { journal_entries, ..Config::default() });
        let mut expected = Usage::default();
        for step in 0..300u64 {
            world.enqueue(&job("a"), 3);
            world.enqueue(&job("b"), 1);
            (expected.enqueued, expected.bytes) = (expected.enqueued + 3, expected.bytes + 30);
            world.pass(1_000);
            for claimed in world.fetch(3) {
                let own = world.owner(claimed.seq) == "a";
                world.pass(10);
                if step % 5 == 0 {
                    world.nack(claimed.seq, None);
                } else {
                    world.ack(claimed.seq);
                }
                if own {
                    expected.started += 1;
                    *(if step % 5 == 0 {
                        &mut expected.failed
                    } else {
                        &mut expected.completed
                    }) += 1;
                }
            }
            if step % 11 == 0 {
                world.crash(step % 3 * HOUR);
            }
            world.pass(step % 7 * 200_000);
            let hours = sum(&used(&world, "a", UsagePer::Hour));
            let run_ms = hours.run_ms;
            assert_eq!(Usage { run_ms: 0, discarded: 0, ..hours }, expected, "step {step}");
            assert_eq!(sum(&used(&world, "a", UsagePer::Day)), hours);
            assert!(run_ms as i64 >= 10 * expected.started, "{run_ms}");
        }
        assert!(used(&world, "a", UsagePer::Hour).len() > 50);
        assert!(used(&world, "a", UsagePer::Day).len() > 2);
    }
}

#[test]
fn a_job_counts_in_the_hour_in_which_things_happen_to_it() {
    let mut world = World::new();
    world.enqueue(&job("a"), 1);
    let claimed = world.fetch(1).remove(0);
    // The next hour begins after twenty minutes.
    world.pass(HOUR / 3);
    world.ack(claimed.seq);
    let hours = used(&world, "a", UsagePer::Hour);
    let first = Usage { enqueued: 1, bytes: 10, started: 1, ..Usage::default() };
    assert_eq!(hours[0].1, first);
    assert_eq!(hours[1].1, Usage { completed: 1, run_ms: HOUR / 3, ..Usage::default() });
}

#[test]
fn an_hour_of_many_tenants_is_written_in_slices() {
    let mut world = World::new();
    for n in 0..1_000 {
        world.enqueue(&job(name(format!("t{n}"))), 1);
    }
    world.batch_sizes.clear();
    world.pass(HOUR);
    assert!(world.batch_sizes.len() > 10);
    let most = world.batch_sizes.iter().max().unwrap();
    assert!(*most < 200, "{most} mutations in a batch");
    assert_eq!(world.usage.len(), 2_000, "an hour and a day of each");
    let unwritten = world.engine.unwritten_usage(&TenantId::parse("t7").unwrap()).unwrap();
    assert!(unwritten.hours.is_empty(), "nothing of it is kept in memory");
    // A tenant that does nothing more has nothing more written.
    world.batch_sizes.clear();
    world.pass(HOUR);
    assert!(world.batch_sizes.iter().sum::<usize>() < 50, "{:?}", world.batch_sizes);
}

#[test]
fn usage_is_forgotten_after_its_time_and_with_its_tenant() {
    let mut world = World::new();
    world.tenant("a", json!({}));
    let days = Config::default().usage_hours_ms / (24 * HOUR);
    for _ in 0..days + 5 {
        let seq = world.enqueue(&job("a"), 1)[0];
        world.fetch(1);
        world.ack(seq);
        world.pass(24 * HOUR);
    }
    assert_eq!(used(&world, "a", UsagePer::Day).len() as u64, days + 5);
    let hours = used(&world, "a", UsagePer::Hour).len() as u64;
    assert!((days..=days + 1).contains(&hours), "{hours}");
}

#[test]
fn a_deleted_tenant_whose_finished_jobs_are_kept_begins_with_nothing() {
    for journal_entries in [1, 100_000] {
        let mut world = World::with(Config { journal_entries, ..Config::default() });
        world.enqueue(&job("a"), 3);
        for claimed in world.fetch(3) {
            world.ack(claimed.seq);
        }
        world.pass(1_000);
        world.apply(Command::DeleteTenant(TenantId::parse("a").unwrap(), None));
        let nothing = |world: &World| {
            let view = world.engine.tenant("a").expect("finished jobs keep its name");
            assert_eq!(sum(&used(world, "a", UsagePer::Hour)), Usage::default());
            assert_eq!((view.minute.enqueued, view.day.completed), (0, 0));
        };
        nothing(&world);
        world.crash(1_000);
        nothing(&world);
        world.enqueue(&job("a"), 2);
        world.crash(1_000);
        assert_eq!(sum(&used(&world, "a", UsagePer::Hour)).enqueued, 2);
    }
}
