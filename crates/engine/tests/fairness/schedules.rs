use crate::byte_caps::put_large;
use crate::world::{World, job};
use rota_engine::{
    Backpressure, Bounds, Cap, Caps, Command, Config, CronSpec, EventKind, Overlap, QueueSettings,
    Reply,
};
use rota_model::cron::Schedule;
use rota_model::mutation::RowKind;
use rota_model::{Class, CronName, JobType, Millis, Policy, QueueName, State, TenantId};

pub const MINUTE: u64 = 60_000;

fn schedule(world: &mut World, overlap: Overlap) {
    let reply = world.apply(put(("a", "often"), overlap));
    assert!(matches!(reply, Reply::Cron { created: true, .. }), "{reply:?}");
}

/// A tenant's schedule of every minute.
pub fn put(named: (&str, &str), overlap: Overlap) -> Command {
    put_at(named, overlap, ("* * * * *", "UTC"))
}

fn put_at(
    (tenant, name): (&str, &str),
    overlap: Overlap,
    (expression, timezone): (&str, &str),
) -> Command {
    let tenant = TenantId::parse(tenant).unwrap();
    let spec = CronSpec {
        name: CronName::parse(name).unwrap().of_tenant(&tenant),
        expression: expression.into(),
        timezone: timezone.into(),
        schedule: Schedule::parse(expression, timezone).unwrap(),
        overlap,
        enabled: true,
        class: Class {
            queue: QueueName::default_queue(),
            kind: JobType::parse("often").unwrap(),
            tenant,
            priority: 0,
            policy: Policy::default().into(),
        },
        body: bytes::Bytes::from_static(br#""type":"often","args":[]"#),
        proven: false,
        shown: bytes::Bytes::new(),
    };
    Command::PutCron(Box::new(spec))
}

fn keep_newest(world: &mut World, max_depth: u64) {
    let bounds = Bounds {
        max_depth,
        max_bytes: 0,
        tenant_max_depth: 0,
        tenant_max_bytes: 0,
        strategy: Backpressure::DropOldest,
        warn_at: 800,
    };
    let settings = QueueSettings { bounds: Some(bounds), ..QueueSettings::default() };
    world.apply(Command::ConfigureQueue(QueueName::default_queue(), settings));
}

fn runs(world: &World) -> usize {
    world.events.iter().filter(|e| matches!(e, EventKind::CronTriggered { .. })).count()
}

fn dropped(world: &World) -> Vec<rota_model::Seq> {
    let events = world.events.iter();
    let seq = |event: &EventKind| match event {
        EventKind::QueueDropped { job, .. } => Some(job.seq),
        _ => None,
    };
    events.filter_map(seq).collect()
}

#[test]
fn a_run_makes_room_in_a_full_queue_that_keeps_the_newest() {
    let mut world = World::new();
    keep_newest(&mut world, 2);
    let waiting = world.enqueue(&job("b"), 2);
    schedule(&mut world, Overlap::Skip);
    world.pass(MINUTE);
    assert_eq!((runs(&world), dropped(&world)), (1, vec![waiting[0]]));
    let left: Vec<_> = world.fetch(10).into_iter().map(|claimed| claimed.seq).collect();
    assert_eq!(left.len(), 2);
    assert!(left.contains(&waiting[1]) && !left.contains(&waiting[0]), "{left:?}");
}

#[test]
fn a_run_that_pushed_its_predecessor_out_does_not_wait_for_it() {
    let mut world = World::new();
    keep_newest(&mut world, 1);
    schedule(&mut world, Overlap::Enqueue);
    world.pass(MINUTE);
    let first = world.engine.next_seq().0 - 1;
    world.pass(MINUTE);
    assert_eq!((runs(&world), dropped(&world)), (2, vec![rota_model::Seq(first)]));
    let left = world.fetch(10);
    assert_eq!(left.iter().map(|claimed| claimed.seq.0).collect::<Vec<_>>(), [first + 1]);
    assert_eq!(world.engine.queue("default").unwrap().totals.of(State::Discarded), 1);
}

#[test]
fn a_run_behind_an_active_one_is_held_until_that_is_over() {
    let mut world = World::new();
    keep_newest(&mut world, 5);
    schedule(&mut world, Overlap::Enqueue);
    world.pass(MINUTE);
    let first = world.fetch(1).remove(0);
    world.pass(MINUTE);
    assert_eq!(runs(&world), 2);
    assert!(world.fetch(1).is_empty());
    world.crash(10);
    assert!(world.fetch(1).is_empty());
    world.ack(first.seq);
    assert_eq!(world.fetch(1).len(), 1);
}

#[test]
fn a_job_waits_from_when_it_is_available() {
    let mut world = World::new();
    let later = crate::world::Job { start_in: Some(5_000), ..job("a") };
    world.enqueue(&later, 1);
    world.pass(5_000);
    world.pass(700);
    let claimed = world.fetch(1).pop().unwrap();
    let waits = |world: &World| {
        let view = world.engine.queue(&QueueName::default_queue()).unwrap();
        let waits = &view.minute.wait_ms;
        (waits.count(), waits.mean().unwrap().round() as u64)
    };
    assert_eq!(waits(&world), (1, 700));
    // One that comes back waits anew.
    world.nack(claimed.seq, None);
    while world.engine.queue(&QueueName::default_queue()).unwrap().totals.of(State::Available) == 0
    {
        world.pass(100);
    }
    world.pass(300);
    assert_eq!(world.fetch(1).len(), 1);
    assert_eq!(waits(&world), (2, 500));
}

/// What a run writes does not grow with the runs that wait.
#[test]
fn a_run_writes_the_same_however_many_wait() {
    for overlap in [Overlap::Allow, Overlap::Enqueue] {
        let mut world = World::new();
        schedule(&mut world, overlap);
        let mut written = Vec::new();
        // With the 500th entry the journal writes the tenant out as well.
        for _ in 0..400 {
            world.pass(MINUTE);
            written.push(world.written);
        }
        assert_eq!(runs(&world), 400);
        // The schedule's state has its last 20 executions, whose numbers have more digits later.
        assert!(written[1] > 0);
        assert!(written[399] <= written[25] + 40, "{} and {} bytes", written[25], written[399]);
        let first = world.fetch(1).remove(0);
        world.ack(first.seq);
        assert_eq!(world.written, 0, "the end of a run writes no schedule");
    }
}

/// Otherwise a tenant could have large templates written every second, without sending anything.
#[test]
fn what_a_run_writes_does_not_grow_with_the_template() {
    let mut world = World::new();
    world.apply(put_large("a", "often", 50_000));
    assert!(world.written > 50_000);
    // The second run is skipped, because the first one has not ended.
    let mut written = Vec::new();
    for _ in 0..2 {
        world.pass(MINUTE);
        written.push(world.written);
    }
    assert!(written.iter().all(|bytes| *bytes < 1_000), "{written:?}");
    assert!(written.iter().any(|bytes| *bytes > 0), "{written:?}");
    let often = CronName::parse("often").unwrap().of_tenant(&TenantId::parse("a").unwrap());
    world.apply(Command::EnableCron(often.clone(), false));
    assert!(world.written > 0 && world.written < 1_000, "{} bytes", world.written);
    world.crash(10);
    let shown = world.engine.cron(&often).unwrap();
    assert_eq!((shown.enabled, shown.run_count, shown.skip_count), (false, 1, 1));
    assert!(shown.shown.len() > 50_000);
    world.apply(Command::RemoveCron(often));
    assert!(world.rows_of(RowKind::CronState).is_empty());
}

#[test]
fn a_schedule_of_an_older_format_has_its_state_in_its_row() {
    let mut world = World::new();
    schedule(&mut world, Overlap::Skip);
    world.pass(MINUTE);
    world.pass(MINUTE);
    world.merge_cron_rows();
    world.crash(10);
    let often = CronName::parse("often").unwrap().of_tenant(&TenantId::parse("a").unwrap());
    let shown = world.engine.cron(&often).unwrap();
    assert_eq!((shown.enabled, shown.run_count, shown.skip_count), (true, 1, 1));
    assert_eq!(shown.last_run.map(|at| at < shown.next_run.unwrap()), Some(true));
    let before = runs(&world);
    let run = world.fetch(1).remove(0);
    world.ack(run.seq);
    world.pass(MINUTE);
    assert_eq!(runs(&world), before + 1, "it goes on");
}

#[test]
fn runs_are_known_after_a_restart() {
    let mut world = World::new();
    schedule(&mut world, Overlap::Enqueue);
    (0..3).for_each(|_| world.pass(MINUTE));
    for left in (0..3).rev() {
        world.crash(10);
        let run = world.fetch(5);
        assert_eq!(run.len(), 1, "the others wait for this one");
        world.ack(run[0].seq);
        let totals = world.engine.queue("default").unwrap().totals;
        assert_eq!(totals.of(State::Available), left);
    }
}

/// What waited behind the first run of a schedule waits for nobody once the schedule is gone.
#[test]
fn runs_of_a_deleted_schedule_are_jobs_like_any_other() {
    let mut world = World::new();
    schedule(&mut world, Overlap::Enqueue);
    (0..3).for_each(|_| world.pass(MINUTE));
    let name = CronName::parse("often").unwrap().of_tenant(&TenantId::parse("a").unwrap());
    world.apply(Command::RemoveCron(name));
    world.crash(10);
    assert_eq!(world.fetch(5).len(), 3);
}

/// What was skipped since the last call, because clocks went forward.
fn dst_skips(world: &mut World) -> Vec<String> {
    let skipped = |event: EventKind| match event {
        EventKind::CronSkipped { reason: "dst_skip", scheduled_for, .. } => {
            Some(scheduled_for.to_string())
        }
        _ => None,
    };
    std::mem::take(&mut world.events).into_iter().filter_map(skipped).collect()
}

fn pass_until(world: &mut World, time: &str) {
    let ms = Millis::parse_rfc3339(time).unwrap().since(world.wall());
    world.pass(ms as u64);
}

/// 02:00 becomes 03:00 on this day in New York, and a time between them does not exist.
#[test]
fn a_run_that_clocks_skip_is_reported_when_it_would_have_been_due() {
    for restarted in [false, true] {
        let mut world = World::new();
        let night = ("30 2 * * *", "America/New_York");
        world.apply(put_at(("a", "nightly"), Overlap::Skip, night));
        pass_until(&mut world, "2026-03-08T07:29:59.999Z");
        assert_eq!((dst_skips(&mut world).len(), world.engine.wake_in_ms()), (0, Some(1)));
        if restarted {
            world.crash(0);
        }
        pass_until(&mut world, "2026-03-08T07:30:00Z");
        assert_eq!(dst_skips(&mut world), ["2026-03-08T07:30:00.000Z"]);
        let count = |world: &World| {
            let cron = &world.engine.crons_after(None, None, "", 0, usize::MAX)[0];
            (cron.skip_count, cron.next_run.unwrap().to_string())
        };
        let expected = (1, "2026-03-09T06:30:00.000Z".to_owned());
        assert_eq!(count(&world), expected);
        if restarted {
            world.crash(0);
        }
        assert_eq!(count(&world), expected);
        pass_until(&mut world, "2026-03-10T06:30:00Z");
        assert_eq!(dst_skips(&mut world).len(), 0, "once is enough");
    }
}

/// The server was down, or the schedule disabled.
#[test]
fn skips_of_a_time_without_the_schedule_are_reported_unless_it_was_disabled() {
    for disabled in [false, true] {
        let mut world = World::new();
        let night = ("30 2 * * *", "America/New_York");
        world.apply(put_at(("a", "nightly"), Overlap::Skip, night));
        let name = world.engine.crons_after(None, None, "", 0, usize::MAX)[0].name.clone();
        pass_until(&mut world, "2026-03-07T12:00:00Z");
        if disabled {
            world.apply(Command::EnableCron(name.clone(), false));
            pass_until(&mut world, "2026-03-10T12:00:00Z");
            world.apply(Command::EnableCron(name, true));
        } else {
            world.crash(3 * 24 * 60 * MINUTE);
        }
        pass_until(&mut world, "2026-03-12T12:00:00Z");
        let expected: &[&str] = if disabled { &[] } else { &["2026-03-08T07:30:00.000Z"] };
        assert_eq!(dst_skips(&mut world), expected);
    }
}

#[test]
fn a_run_obeys_the_caps_on_queues_and_classes() {
    let capped = |caps: Caps| World::with(Config { caps, ..Config::default() });
    let one = Cap { total: 100, per_tenant: 1 };
    let reasons = |world: &World| -> Vec<&'static str> {
        let reason = |event: &EventKind| match event {
            EventKind::CronSkipped { reason, .. } => Some(*reason),
            _ => None,
        };
        world.events.iter().filter_map(reason).collect()
    };
    let mut world = capped(Caps { classes: one, ..Caps::default() });
    let other = world.enqueue(&job("a").kind("other"), 1)[0];
    world.apply(put(("a", "often"), Overlap::Allow));
    world.pass(MINUTE);
    assert_eq!((runs(&world), reasons(&world)), (0, vec!["too_many_classes"]));
    world.fetch(1);
    world.ack(other);
    world.pass(MINUTE);
    assert_eq!((runs(&world), reasons(&world).len()), (1, 1));

    let mut world = capped(Caps { queues: one, ..Caps::default() });
    world.enqueue(&job("a").queue("other"), 1);
    world.apply(put(("a", "often"), Overlap::Allow));
    world.pass(MINUTE);
    assert_eq!((runs(&world), reasons(&world)), (0, vec!["too_many_queues"]));
}
