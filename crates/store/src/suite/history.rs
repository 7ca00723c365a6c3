//! Statistics of queues by minute and hour.

use rota_model::Millis;

use super::Fixture;
use super::driver::Driver;
use super::sample::bytes;
use crate::{HistoryRow, Mutation, Period};

fn row(period: Period, queue: &str, at: i64, data: &str) -> HistoryRow {
    HistoryRow { period, at: Millis(at), queue: queue.into(), data: bytes(data) }
}

fn put(period: Period, queue: &str, at: i64, data: &str) -> Mutation {
    Mutation::History(row(period, queue, at, data))
}

pub fn history_is_replaced_and_read_by_range<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![
        put(Period::Minute, "a", 120, "3"),
        put(Period::Minute, "a", 0, "1"),
        put(Period::Minute, "a", 60, "2"),
        put(Period::Minute, "b", 60, "other queue"),
        put(Period::Hour, "a", 60, "other period"),
    ]);
    driver.commit(vec![put(Period::Minute, "a", 60, "two")]);
    let mut driver = driver.crash_and_reopen();
    let all = [
        row(Period::Minute, "a", 0, "1"),
        row(Period::Minute, "a", 60, "two"),
        row(Period::Minute, "a", 120, "3"),
    ];
    assert_eq!(driver.history(Period::Minute, "a", 0, 1000), all);
    assert_eq!(driver.history(Period::Minute, "a", 60, 120), all[1..2]);
    assert_eq!(driver.history(Period::Minute, "a", 61, 120), []);
    let hour = driver.history(Period::Hour, "a", 0, 1000);
    assert_eq!(hour, [row(Period::Hour, "a", 60, "other period")]);
    assert_eq!(driver.history(Period::Hour, "b", 0, 1000), []);
}

pub fn old_history_is_deleted_in_slices<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let mut rows = Vec::new();
    for queue in ["a", "b"] {
        for start in [0, 60, 120] {
            rows.extend([
                put(Period::Minute, queue, start, "m"),
                put(Period::Hour, queue, start, "h"),
            ]);
        }
    }
    driver.commit(rows);
    let (period, before) = (Period::Minute, Millis(120));
    driver.commit(vec![Mutation::ForgetHistory { period, before, most: 2 }]);
    for queue in ["a", "b"] {
        let minutes = driver.history(Period::Minute, queue, 0, 1000);
        let starts: Vec<_> = minutes.iter().map(|row| row.at.0).collect();
        assert_eq!(starts, [60, 120]);
        assert_eq!(driver.history(Period::Hour, queue, 0, 1000).len(), 3);
    }
}

pub fn deleting_the_history_of_one_queue_keeps_the_others<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let rows = ["a", "b"].map(|queue| {
        [Period::Minute, Period::Hour].map(|period| put(period, queue, 60, "figures"))
    });
    driver.commit(rows.into_iter().flatten().collect());
    driver.commit(vec![Mutation::ForgetHistoryOf("a".into())]);
    let mut driver = driver.crash_and_reopen();
    for period in [Period::Minute, Period::Hour] {
        assert_eq!(driver.history(period, "a", 0, 1000), []);
        assert_eq!(driver.history(period, "b", 0, 1000), [row(period, "b", 60, "figures")]);
    }
}

pub fn loading_returns_the_minutes_of_the_last_hour<F: Fixture>(fixture: &F) {
    let hour = Period::Hour.ms();
    let mut driver = Driver::open(fixture);
    driver.commit_at(
        Millis(5 * hour + 90_000),
        vec![
            put(Period::Minute, "a", 4 * hour - 60_000, "long before"),
            put(Period::Minute, "a", 5 * hour - 60_000, "before"),
            put(Period::Minute, "b", 5 * hour, "first"),
            put(Period::Minute, "c", 5 * hour + 60_000, "second"),
            put(Period::Hour, "a", 5 * hour, "not a minute"),
        ],
    );
    let before = row(Period::Minute, "a", 5 * hour - 60_000, "before");
    let of_hour = [
        row(Period::Minute, "b", 5 * hour, "first"),
        row(Period::Minute, "c", 5 * hour + 60_000, "second"),
    ];
    // The hour before may not have been closed yet.
    let mut driver = driver.crash_and_reopen();
    let mut loaded = driver.load().history;
    loaded.sort_by(|a, b| a.queue.cmp(&b.queue));
    assert_eq!(loaded, [&[before][..], &of_hour].concat());
    driver.commit_at(Millis(5 * hour + 900_000), vec![]);
    let mut driver = driver.crash_and_reopen();
    let mut loaded = driver.load().history;
    loaded.sort_by(|a, b| a.queue.cmp(&b.queue));
    assert_eq!(loaded, of_hour);
}
