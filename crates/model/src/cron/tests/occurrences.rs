//! Finding the next occurrences.

use super::*;

/// Thursday.
const START: &str = "2026-02-12T10:30:30Z";

#[test]
fn finds_the_next_occurrences() {
    for (expression, expected) in [
        ("* * * * *", ["2026-02-12T10:31:00Z", "2026-02-12T10:32:00Z"]),
        ("* * * * * *", ["2026-02-12T10:30:31Z", "2026-02-12T10:30:32Z"]),
        ("1,15 * * * *", ["2026-02-12T11:01:00Z", "2026-02-12T11:15:00Z"]),
        ("1-5 * * * *", ["2026-02-12T11:01:00Z", "2026-02-12T11:02:00Z"]),
        ("*/15 * * * *", ["2026-02-12T10:45:00Z", "2026-02-12T11:00:00Z"]),
        ("*/30 * * * *", ["2026-02-12T11:00:00Z", "2026-02-12T11:30:00Z"]),
        ("30 * * * *", ["2026-02-12T11:30:00Z", "2026-02-12T12:30:00Z"]),
        ("10/25 * * * *", ["2026-02-12T10:35:00Z", "2026-02-12T11:10:00Z"]),
        ("0-20/10,50 * * * *", ["2026-02-12T10:50:00Z", "2026-02-12T11:00:00Z"]),
        ("*/20 30 10 * * *", ["2026-02-12T10:30:40Z", "2026-02-13T10:30:00Z"]),
        ("45 30 10 * * *", ["2026-02-12T10:30:45Z", "2026-02-13T10:30:45Z"]),
        ("0 9 * * *", ["2026-02-13T09:00:00Z", "2026-02-14T09:00:00Z"]),
        ("0 9 * * MON-FRI", ["2026-02-13T09:00:00Z", "2026-02-16T09:00:00Z"]),
        ("0 9 * * mon-Fri", ["2026-02-13T09:00:00Z", "2026-02-16T09:00:00Z"]),
        ("0 9 * * FRI-SUN", ["2026-02-13T09:00:00Z", "2026-02-14T09:00:00Z"]),
        ("0 9 * * 7", ["2026-02-15T09:00:00Z", "2026-02-22T09:00:00Z"]),
        ("0 9 * * 0", ["2026-02-15T09:00:00Z", "2026-02-22T09:00:00Z"]),
        ("0 9 * * 6-7", ["2026-02-14T09:00:00Z", "2026-02-15T09:00:00Z"]),
        ("0 9 * * 5/2", ["2026-02-13T09:00:00Z", "2026-02-20T09:00:00Z"]),
        ("0 9 * JUL,dec *", ["2026-07-01T09:00:00Z", "2026-07-02T09:00:00Z"]),
        ("0 0 1 JAN-MAR *", ["2026-03-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
        ("0 0 31 * *", ["2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"]),
        ("0 0 29 2 *", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        ("0 0 L * *", ["2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"]),
        ("0 23 L * *", ["2026-02-28T23:00:00Z", "2026-03-31T23:00:00Z"]),
        ("0 0 15W * *", ["2026-02-16T00:00:00Z", "2026-03-16T00:00:00Z"]),
        ("0 0 lw * *", ["2026-02-27T00:00:00Z", "2026-03-31T00:00:00Z"]),
        ("0 0 * * 5#3", ["2026-02-20T00:00:00Z", "2026-03-20T00:00:00Z"]),
        ("0 0 * * FRI#3", ["2026-02-20T00:00:00Z", "2026-03-20T00:00:00Z"]),
        ("0 0 * * 5L", ["2026-02-27T00:00:00Z", "2026-03-27T00:00:00Z"]),
        ("0 0 * * 7#5", ["2026-03-29T00:00:00Z", "2026-05-31T00:00:00Z"]),
        ("@yearly", ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"]),
        ("@annually", ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"]),
        ("@monthly", ["2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"]),
        ("@weekly", ["2026-02-15T00:00:00Z", "2026-02-22T00:00:00Z"]),
        ("@daily", ["2026-02-13T00:00:00Z", "2026-02-14T00:00:00Z"]),
        ("@midnight", ["2026-02-13T00:00:00Z", "2026-02-14T00:00:00Z"]),
        ("@hourly", ["2026-02-12T11:00:00Z", "2026-02-12T12:00:00Z"]),
        (" \t0  9 * *\t* ", ["2026-02-13T09:00:00Z", "2026-02-14T09:00:00Z"]),
    ] {
        assert_eq!(next(expression, "UTC", START, 2), expected, "{expression}");
    }
}

#[test]
fn an_occurrence_is_strictly_after() {
    let daily = schedule("0 9 * * *", "UTC");
    let nine = at("2026-02-12T09:00:00Z");
    let next_after = |after| daily.next_after(after, Millis::ZERO).unwrap().at;
    assert_eq!(next_after(nine.saturating_sub_ms(1)), nine);
    assert_eq!(next_after(nine), at("2026-02-13T09:00:00Z"));
    assert_eq!(next_after(nine.saturating_add_ms(1)), at("2026-02-13T09:00:00Z"));
}

#[test]
fn the_rarest_date_is_found_across_a_century() {
    // `*/7` is Sunday alone, and narrows the day of month because it starts with a star.
    let expected = ["2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"];
    assert_eq!(next("0 0 29 2 */7", "UTC", "2061-01-01T00:00:00Z", 2), expected);
    assert_eq!(next("0 0 * 2 SUN#5", "UTC", "2088-02-29T00:00:00Z", 1), ["2128-02-29T00:00:00Z"]);
}

#[test]
fn nothing_is_found_beyond_the_last_year() {
    assert_eq!(next("@yearly", "UTC", "9998-06-01T00:00:00Z", 5), ["9999-01-01T00:00:00Z"]);
    assert_eq!(next("* * * * *", "UTC", "9999-12-31T23:59:59Z", 1), [""; 0]);
    for (after, anchor) in [(i64::MAX, 0), (i64::MIN, 0), (i64::MAX, i64::MIN), (Millis::MAX.0, 0)]
    {
        for expression in ["* * * * *", "@every 1h"] {
            let found = schedule(expression, "UTC").next_after(Millis(after), Millis(anchor));
            assert!(found.is_none_or(|found| found.at > Millis(after)), "{expression} {after}");
        }
    }
}

#[test]
fn every_counts_from_the_anchor() {
    let every = schedule("@every 1h30m", "America/New_York");
    assert!(every.expression.is_interval());
    let anchor = at("2026-02-12T10:07:13.456Z");
    let next_after = |after| every.next_after(after, anchor).unwrap().at;
    assert_eq!(next_after(Millis::ZERO), anchor);
    assert_eq!(next_after(anchor.saturating_sub_ms(1)), anchor);
    assert_eq!(next_after(anchor), at("2026-02-12T11:37:13.456Z"));
    assert_eq!(next_after(at("2026-02-12T11:37:13.455Z")), at("2026-02-12T11:37:13.456Z"));
    assert_eq!(next_after(at("2026-02-12T11:37:13.456Z")), at("2026-02-12T13:07:13.456Z"));
    assert_eq!(every.skipped_by_dst(Millis::ZERO, Millis::MAX), []);

    for (expression, seconds) in [
        ("@every 30m", 1_800),
        ("@every 2h", 7_200),
        ("@every 45s", 45),
        ("@every 1s", 1),
        ("@every 1000ms", 1),
        ("@every  1d ", 86_400),
    ] {
        let next = schedule(expression, "UTC").next_after(anchor, anchor).unwrap().at;
        assert_eq!(next.since(anchor), seconds * 1_000, "{expression}");
    }
}

#[test]
fn keeps_the_text_it_was_given() {
    let expression = Expression::parse(" @Every 5m".to_lowercase().as_str()).unwrap();
    assert_eq!((expression.as_str(), expression.to_string().as_str()), ("@every 5m", "@every 5m"));
}
