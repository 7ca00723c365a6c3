//! Changes of daylight saving time.

use super::*;

const NEW_YORK: &str = "America/New_York";
/// Its clocks move by half an hour.
const LORD_HOWE: &str = "Australia/Lord_Howe";
const KOLKATA: &str = "Asia/Kolkata";

fn skipped(expression: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
    let skipped = schedule(expression, zone).skipped_by_dst(at(from), at(to));
    skipped.iter().map(|time| time.to_string().replace(".000Z", "Z")).collect()
}

#[test]
fn follows_the_local_clock() {
    let expected = ["2026-03-07T14:00:00Z", "2026-03-08T13:00:00Z", "2026-03-09T13:00:00Z"];
    assert_eq!(next("0 9 * * *", NEW_YORK, "2026-03-07T00:00:00Z", 3), expected);
    let expected = ["2026-10-31T13:00:00Z", "2026-11-01T14:00:00Z"];
    assert_eq!(next("0 9 * * *", NEW_YORK, "2026-10-31T00:00:00Z", 2), expected);
    let expected = ["2026-02-13T03:30:00Z", "2026-02-14T03:30:00Z"];
    assert_eq!(next("0 9 * * *", KOLKATA, "2026-02-12T10:00:00Z", 2), expected);
    let expected = ["2026-03-01T05:00:00Z", "2026-04-01T04:00:00Z"];
    assert_eq!(next("0 23 L * *", "America/Chicago", "2026-02-12T00:00:00Z", 2), expected);
}

#[test]
fn a_time_that_does_not_exist_is_not_fired() {
    let expected = ["2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z"];
    assert_eq!(next("30 2 * * *", NEW_YORK, "2026-03-06T12:00:00Z", 2), expected);
    let expected = ["2026-03-08T06:45:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:15:00Z"];
    assert_eq!(next("*/15 * * * *", NEW_YORK, "2026-03-08T06:30:00Z", 3), expected);
    let expected = ["2026-03-08T06:59:59Z", "2026-03-08T07:00:00Z"];
    assert_eq!(next("* * * * * *", NEW_YORK, "2026-03-08T06:59:58Z", 2), expected);
    // 02:00 becomes 02:30.
    let expected = ["2026-10-02T15:45:00Z", "2026-10-04T15:15:00Z"];
    assert_eq!(next("15 2 * * *", LORD_HOWE, "2026-10-02T00:00:00Z", 2), expected);
    let expected = ["2026-10-02T16:00:00Z", "2026-10-03T15:30:00Z"];
    assert_eq!(next("30 2 * * *", LORD_HOWE, "2026-10-02T00:00:00Z", 2), expected);
}

#[test]
fn a_time_that_occurs_twice_fires_the_first_time() {
    let expected = ["2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"];
    assert_eq!(next("30 1 * * *", NEW_YORK, "2026-10-31T00:00:00Z", 3), expected);
    // Also when asked from within, or just before, the second time.
    for after in ["2026-11-01T05:30:00Z", "2026-11-01T06:10:00Z", "2026-11-01T06:29:59Z"] {
        assert_eq!(next("30 1 * * *", NEW_YORK, after, 1), ["2026-11-02T06:30:00Z"]);
    }
    let expected = ["2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z"];
    assert_eq!(next("@hourly", NEW_YORK, "2026-11-01T04:59:00Z", 2), expected);
    let expected = ["2026-11-01T05:59:59Z", "2026-11-01T07:00:00Z"];
    assert_eq!(next("* * * * * *", NEW_YORK, "2026-11-01T05:59:58Z", 2), expected);
    // 02:00 becomes 01:30.
    let expected = ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"];
    assert_eq!(next("45 1 * * *", LORD_HOWE, "2026-04-04T00:00:00Z", 2), expected);
}

#[test]
fn a_whole_day_may_be_missing() {
    let apia = "Pacific/Apia";
    let expected = ["2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z"];
    assert_eq!(next("0 9 * * *", apia, "2011-12-29T00:00:00Z", 2), expected);
    let day = ("2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z");
    assert_eq!(skipped("0 9 * * *", apia, day.0, day.1), ["2011-12-30T19:00:00Z"]);
}

#[test]
fn reports_what_was_skipped() {
    let (from, to) = ("2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z");
    assert_eq!(skipped("30 2 * * *", NEW_YORK, from, to), ["2026-03-08T07:30:00Z"]);
    assert_eq!(skipped("*/20 * * * *", NEW_YORK, from, to), ["2026-03-08T07:00:00Z"]);
    assert_eq!(
        skipped("15 2 * * *", LORD_HOWE, "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"),
        ["2026-10-03T15:45:00Z"]
    );
    for (expression, zone) in
        [("30 3 * * *", NEW_YORK), ("30 1 * * *", NEW_YORK), ("30 2 * * *", "UTC")]
    {
        assert_eq!(
            skipped(expression, zone, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            [""; 0]
        );
    }
}

#[test]
fn reports_each_skip_in_exactly_one_of_adjacent_spans() {
    let (start, middle, end) =
        ("2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z", "2026-03-08T08:00:00Z");
    let before = "2026-03-08T06:59:59Z";
    assert_eq!(skipped("*/30 2 * * *", NEW_YORK, before, start), [start]);
    assert_eq!(skipped("*/30 2 * * *", NEW_YORK, start, middle), [""; 0]);
    assert_eq!(skipped("30 2 * * *", NEW_YORK, start, middle), [middle]);
    assert_eq!(skipped("*/30 2 * * *", NEW_YORK, middle, end), [""; 0]);
    assert_eq!(skipped("*/30 2 * * *", NEW_YORK, end, before), [""; 0]);
}

#[test]
fn a_gap_is_reported_once() {
    let (from, to) = ("2026-03-07T00:00:00Z", "2026-03-09T00:00:00Z");
    assert_eq!(skipped("* * * * *", NEW_YORK, from, to), ["2026-03-08T07:00:00Z"]);
    assert_eq!(skipped("* * * * * *", NEW_YORK, from, to), ["2026-03-08T07:00:00Z"]);
    let all = schedule("30 2 * * *", NEW_YORK).skipped_by_dst(Millis::ZERO, Millis::MAX);
    assert!((40..=50).contains(&all.len()), "{}", all.len());
    assert_eq!(schedule("0 0 * * *", "UTC").skipped_by_dst(Millis(i64::MIN), Millis(i64::MAX)), []);
}

#[test]
fn a_time_that_is_always_skipped_has_no_next() {
    assert_eq!(next("30 2 * 3 SUN#2", NEW_YORK, "2026-01-01T00:00:00Z", 1), [""; 0]);
}
