//! Tests of durations.

use super::*;

fn iso_problem(text: &str) -> Problem {
    parse_iso8601(text).unwrap_err().problem
}

fn human_problem(text: &str) -> Problem {
    parse_human(text).unwrap_err().problem
}

#[test]
fn reads_iso8601() {
    for (text, ms) in [
        ("PT0.5S", 500),
        ("PT1S", SECOND),
        ("PT5S", 5 * SECOND),
        ("PT30S", 30 * SECOND),
        ("PT1M", MINUTE),
        ("PT5M", 5 * MINUTE),
        ("PT15M", 15 * MINUTE),
        ("PT1H", HOUR),
        ("PT24H", DAY),
        ("PT0S", 0),
        ("P0D", 0),
        ("P1Y", 365 * DAY),
        ("P1M", 30 * DAY),
        ("P1W", 7 * DAY),
        ("P1D", DAY),
        ("P1M1DT1M", 31 * DAY + MINUTE),
        ("P1Y2M3W4DT5H6M7.089S", 450 * DAY + 5 * HOUR + 6 * MINUTE + 7_089),
        ("PT36H", 36 * HOUR),
        ("PT1.5H", 90 * MINUTE),
        ("PT0.25M", 15 * SECOND),
        ("PT1,5S", 1_500),
        ("P0.5D", 12 * HOUR),
        ("P0.5Y", 4_380 * HOUR),
        ("PT1H0.001S", HOUR + 1),
        ("PT0.0019S", 1),
        ("PT0.99999999999999999999999999S", 999),
        ("PT007S", 7 * SECOND),
        ("PT9223372036854775.807S", i64::MAX),
    ] {
        assert_eq!(parse_iso8601(text), Ok(ms), "{text}");
    }
}

#[test]
fn rejects_what_is_not_iso8601() {
    for (text, problem) in [
        ("", Problem::Empty),
        ("P", Problem::Empty),
        ("PT", Problem::EmptyTime),
        ("P1DT", Problem::EmptyTime),
        ("T1S", Problem::MissingPrefix),
        ("1S", Problem::MissingPrefix),
        ("30s", Problem::MissingPrefix),
        ("pt5m", Problem::MissingPrefix),
        (" PT5M", Problem::MissingPrefix),
        ("+PT5M", Problem::MissingPrefix),
        ("-PT5M", Problem::Negative),
        ("PT-5M", Problem::Negative),
        ("PT5m", Problem::WrongUnit),
        ("PT5", Problem::WrongUnit),
        ("PT5X", Problem::WrongUnit),
        ("PT5MX", Problem::WrongUnit),
        ("PT5M ", Problem::NotANumber),
        ("PT5 M", Problem::WrongUnit),
        ("P5", Problem::WrongUnit),
        ("P5S", Problem::WrongUnit),
        ("P5H", Problem::WrongUnit),
        ("PT5D", Problem::WrongUnit),
        ("PT5S5M", Problem::WrongUnit),
        ("PT5M5M", Problem::WrongUnit),
        ("P1D1Y", Problem::WrongUnit),
        ("PT1HT1M", Problem::WrongUnit),
        ("PTM", Problem::NotANumber),
        ("PT.5S", Problem::NotANumber),
        ("PT5.S", Problem::NotANumber),
        ("PT1.5.5S", Problem::WrongUnit),
        ("PT1e3S", Problem::WrongUnit),
        ("PT\u{665}S", Problem::NotANumber),
        ("PT5\u{b5}S", Problem::WrongUnit),
        ("PT1.5H30M", Problem::FractionNotLast),
        ("P1.5DT1S", Problem::FractionNotLast),
        ("PT9223372036854775.808S", Problem::Overflow),
        ("PT9223372036854776S", Problem::Overflow),
        ("PT99999999999999999999S", Problem::Overflow),
        ("P300000000Y", Problem::Overflow),
        ("P106751991167DT24H", Problem::Overflow),
    ] {
        assert_eq!(iso_problem(text), problem, "{text}");
    }
}

#[test]
fn reads_human() {
    for (text, ms) in [
        ("500ms", 500),
        ("45s", 45 * SECOND),
        ("30m", 30 * MINUTE),
        ("2h", 2 * HOUR),
        ("7d", 7 * DAY),
        ("1h30m", 90 * MINUTE),
        ("2h45m30s", 2 * HOUR + 45 * MINUTE + 30 * SECOND),
        ("1d2h3m4s5ms", DAY + 2 * HOUR + 3 * MINUTE + 4_005),
        ("1.5h", 90 * MINUTE),
        ("0.5s", 500),
        ("1m500ms", MINUTE + 500),
        ("0s", 0),
    ] {
        assert_eq!(parse_human(text), Ok(ms), "{text}");
    }
}

#[test]
fn rejects_what_is_not_human() {
    for (text, problem) in [
        ("", Problem::Empty),
        ("-5s", Problem::Negative),
        ("5", Problem::WrongUnit),
        ("s", Problem::NotANumber),
        ("soon", Problem::NotANumber),
        ("5S", Problem::WrongUnit),
        ("5sec", Problem::WrongUnit),
        ("5us", Problem::WrongUnit),
        ("5w", Problem::WrongUnit),
        ("5 s", Problem::WrongUnit),
        ("1h 30m", Problem::NotANumber),
        ("30m1h", Problem::WrongUnit),
        ("1h1h", Problem::WrongUnit),
        ("1.5h30m", Problem::FractionNotLast),
        ("9223372036854775808ms", Problem::Overflow),
        ("PT5S", Problem::NotANumber),
    ] {
        assert_eq!(human_problem(text), problem, "{text}");
    }
}

#[test]
fn reads_either_form() {
    assert_eq!(parse_any("PT5M"), Ok(5 * MINUTE));
    assert_eq!(parse_any("5m"), Ok(5 * MINUTE));
    assert_eq!(parse_any("").unwrap_err().expected, Form::Any);
    assert_eq!(parse_any("P5").unwrap_err().expected, Form::Any);
}

#[test]
fn formats_as_short_as_it_can() {
    for (ms, text) in [
        (0, "PT0S"),
        (-5, "PT0S"),
        (1, "PT0.001S"),
        (500, "PT0.5S"),
        (1_500, "PT1.5S"),
        (1_050, "PT1.05S"),
        (60_001, "PT1M0.001S"),
        (300_000, "PT5M"),
        (HOUR, "PT1H"),
        (HOUR + SECOND, "PT1H1S"),
        (DAY, "P1D"),
        (7 * DAY, "P7D"),
        (DAY + HOUR, "P1DT1H"),
        (36 * HOUR + 90_500, "P1DT12H1M30.5S"),
    ] {
        assert_eq!(format_iso8601(ms), text);
    }
}

#[test]
fn formatting_round_trips() {
    let steps = std::iter::successors(Some(1_i64), |ms| ms.checked_mul(7)?.checked_add(13));
    for ms in steps.chain((0..100_000).step_by(37)).chain([i64::MAX, i64::MAX - 1]) {
        assert_eq!(parse_iso8601(&format_iso8601(ms)), Ok(ms));
    }
}

#[test]
fn errors_say_what_was_expected() {
    let message = parse_iso8601("30s").unwrap_err().to_string();
    assert!(message.contains("does not start with \"P\"; expected an ISO 8601"), "{message}");
    assert!(parse_human("x").unwrap_err().to_string().contains("\"1h30m\""));
}
