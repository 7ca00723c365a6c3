//! The dead letter: its lists, shards and replays, and jobs that are changed when they are retried.

use std::sync::Arc;

use rota_model::{ClassId, DeadRow, DeadShardId, Ending, Millis, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, claim, created, error, everything, finish, insert, insert_of, job};
use crate::{DeadFilter, JobRow, ListQuery, Mutation, Rewrite, Selection};

fn bury(seq: u64, shard: u32, error: &str, replay_at: Option<i64>) -> Mutation {
    let row = DeadRow {
        shard: DeadShardId(shard),
        error: error.into(),
        other: seq % 2 == 1,
        replay_at: replay_at.map(Millis),
    };
    Mutation::Bury(Seq(seq), Box::new(row))
}

fn dead(filter: DeadFilter) -> ListQuery {
    ListQuery { select: Selection::DEAD_LETTER, dead: Some(filter), limit: 2, ..everything() }
}

/// Jobs 0 to 5 die in turn; the even ones in shard 1 by `Timeout`, the odd ones in shard 2 by `Refused`.
fn six_dead<F: Fixture>(fixture: &F) -> Driver<'_, F> {
    let mut driver = Driver::open(fixture);
    driver.commit((0..7).map(|seq| insert_of(seq, seq as u32 % 3)).collect());
    for seq in 0..6 {
        let (shard, kind) = if seq % 2 == 0 { (1, "Timeout") } else { (2, "Refused") };
        driver.commit(vec![
            claim(seq),
            error(seq, 1),
            finish(seq, Ending::DeadLetter),
            bury(seq, shard, kind, None),
        ]);
    }
    driver
}

pub fn dead_jobs_are_listed_by_error_and_time<F: Fixture>(fixture: &F) {
    let mut driver = six_dead(fixture);
    let of = |error: &str| DeadFilter { error_type: Some(error.into()), ..DeadFilter::default() };
    assert_eq!(driver.list_all(&dead(DeadFilter::default())), [0, 1, 2, 3, 4, 5]);
    assert_eq!(driver.list_all(&dead(of("Timeout"))), [0, 2, 4]);
    assert_eq!(driver.list_all(&dead(of("Time"))), [0; 0]);
    let classes = Some(vec![ClassId(0)]);
    assert_eq!(driver.list_all(&ListQuery { classes, ..dead(of("Refused")) }), [3]);
    // Job n was discarded at created(n + 20).
    let between =
        DeadFilter { since: Some(created(22)), until: Some(created(24)), ..of("Timeout") };
    assert_eq!(driver.list_all(&dead(between)), [2]);
    let long: Arc<str> = "x".repeat(300).into();
    driver.commit(vec![bury(0, 1, rota_model::dead_letter::error_type(&long), None)]);
    let cut = DeadFilter { error_type: Some(long), ..DeadFilter::default() };
    assert_eq!(driver.list_all(&dead(cut)), [0], "a long type is found by its beginning");
}

pub fn the_oldest_dead_jobs_of_a_shard_are_found<F: Fixture>(fixture: &F) {
    let mut driver = six_dead(fixture);
    let at = |seq: u64| (Seq(seq), created(seq + 20));
    assert_eq!(driver.oldest_dead(1, 2), [at(0), at(2)]);
    assert_eq!(driver.oldest_dead(2, 9), [at(1), at(3), at(5)]);
    assert_eq!(driver.oldest_dead(3, 9), []);
    assert_eq!(driver.dead_span(None), Some((created(20), created(25))));
    assert_eq!(driver.dead_span(Some(&[1])), Some((created(20), created(24))));
    assert_eq!(driver.dead_span(Some(&[2, 3])), Some((created(21), created(25))));
    assert_eq!(driver.dead_span(Some(&[])), None);
    driver.commit(vec![Mutation::Delete(Seq(0))]);
    assert_eq!(driver.oldest_dead(1, 1), [at(2)]);
}

pub fn due_replays_are_found_with_their_count<F: Fixture>(fixture: &F) {
    let mut driver = six_dead(fixture);
    let replays = r#"{"count":2,"last":7,"rule":"a","by_rule":[["a",2]]}"#;
    driver.commit(vec![
        bury(0, 1, "Timeout", Some(300)),
        bury(1, 2, "Refused", Some(100)),
        bury(2, 1, "Timeout", Some(200)),
        Mutation::Replayed(Seq(2), bytes(replays)),
    ]);
    let seqs = |due: &[rota_model::DueReplay]| due.iter().map(|due| due.seq.0).collect::<Vec<_>>();
    let due = driver.due_replays(Millis(250), 9);
    assert_eq!(seqs(&due), [1, 2]);
    assert_eq!((due[0].replays.count, due[1].replays.by("a")), (0, 2));
    assert_eq!(due[1].done.dead.as_ref().map(|dead| &*dead.error), Some("Timeout"));
    assert_eq!(seqs(&driver.due_replays(Millis(1_000), 1)), [1]);
    driver.commit(vec![bury(1, 2, "Refused", None)]);
    assert_eq!(seqs(&driver.due_replays(Millis(1_000), 9)), [2, 0]);
    assert_eq!(driver.record(2).replays, Some(bytes(replays)));
}

pub fn a_dead_job_that_is_revived_or_deleted_leaves_nothing_behind<F: Fixture>(fixture: &F) {
    let mut driver = six_dead(fixture);
    driver.commit(vec![
        Mutation::Replayed(Seq(0), bytes("{}")),
        Mutation::Replayed(Seq(2), bytes("{}")),
    ]);
    driver.commit(vec![
        Mutation::Revive { seq: Seq(0), enqueued: Millis(9) },
        Mutation::Delete(Seq(2)),
    ]);
    let mut driver = driver.crash_and_reopen();
    assert_eq!(driver.list_all(&dead(DeadFilter::default())), [1, 3, 4, 5]);
    assert_eq!(driver.oldest_dead(1, 9).len(), 1);
    assert_eq!(driver.record(0).replays, Some(bytes("{}")), "a revived job keeps its count");
    // A new job with the number of a deleted one.
    driver.commit(vec![insert(2)]);
    assert_eq!(driver.record(2).replays, None);
}

pub fn a_rewritten_job_has_its_new_class_and_body<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    // So many jobs that the zone of the first is closed.
    driver.commit((0..300).map(insert).collect());
    driver.commit(vec![finish(5, Ending::DeadLetter), bury(5, 0, "Timeout", None)]);
    let body = bytes(r#""type":"sample.job","args":["changed"]"#);
    driver.commit(vec![
        Mutation::Revive { seq: Seq(5), enqueued: Millis(9) },
        Mutation::Rewrite(Box::new(Rewrite { seq: Seq(5), class: ClassId(7), body: body.clone() })),
    ]);
    let record = driver.record(5);
    assert_eq!((record.body.id, &record.body.json), (job(5).0.id, &body));
    let JobRow::Live(live) = record.row else { panic!("it lives again") };
    assert_eq!((live.class, live.bytes as usize), (ClassId(7), body.len()));
    let of = |class| ListQuery { classes: Some(vec![ClassId(class)]), ..everything() };
    assert_eq!(driver.list_all(&of(7)), [5]);
    assert_eq!(driver.list_all(&of(1)).len(), 299);
}
