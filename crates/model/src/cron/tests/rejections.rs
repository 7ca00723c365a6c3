//! Invalid cron expressions.

use super::*;
use Field::*;

fn refused(expression: &str) -> CronError {
    match Expression::parse(expression) {
        Ok(parsed) => panic!("{expression} was accepted: {parsed:?}"),
        Err(error) => error,
    }
}

#[test]
fn rejects_values_out_of_range() {
    for (expression, field, value) in [
        ("60 * * * *", Minute, "60"),
        ("* 24 * * *", Hour, "24"),
        ("* * 0 * *", DayOfMonth, "0"),
        ("* * 32 * *", DayOfMonth, "32"),
        ("* * * 0 *", Month, "0"),
        ("* * * 13 *", Month, "13"),
        ("* * * * 8", DayOfWeek, "8"),
        ("60 * * * * *", Second, "60"),
        ("0-60 * * * *", Minute, "60"),
        ("999999999999999999999 * * * *", Minute, "999999999999999999999"),
        ("* * 0W * *", DayOfMonth, "0"),
        ("* * 32W * *", DayOfMonth, "32"),
        ("* * * * 8L", DayOfWeek, "8"),
        ("* * * * 8#1", DayOfWeek, "8"),
    ] {
        let value = value.to_owned();
        assert_eq!(refused(expression), CronError::OutOfRange { field, value }, "{expression}");
    }
}

#[test]
fn rejects_what_cannot_be_read() {
    for (expression, field, value) in [
        ("a * * * *", Minute, "a"),
        ("-1 * * * *", Minute, "-1"),
        ("+1 * * * *", Minute, "+1"),
        ("1- * * * *", Minute, "1-"),
        ("1-2-3 * * * *", Minute, "1-2-3"),
        ("*-5 * * * *", Minute, "*-5"),
        ("/5 * * * *", Minute, "/5"),
        ("1.5 * * * *", Minute, "1.5"),
        ("L * * * *", Minute, "L"),
        ("\u{661} * * * *", Minute, "\u{661}"),
        ("* ** * * *", Hour, "**"),
        ("* * ? * *", DayOfMonth, "?"),
        ("* * W * *", DayOfMonth, "W"),
        ("* * 1-5W * *", DayOfMonth, "1-5W"),
        ("* * L-3 * *", DayOfMonth, "L-3"),
        ("* * * JANUARY *", Month, "JANUARY"),
        ("* * * MON *", Month, "MON"),
        ("* * * * JAN", DayOfWeek, "JAN"),
        ("* * * * L", DayOfWeek, "L"),
        ("* * * * #1", DayOfWeek, "#1"),
        ("* * * * MON-FRIL", DayOfWeek, "MON-FRIL"),
    ] {
        let value = value.to_owned();
        assert_eq!(refused(expression), CronError::Malformed { field, value }, "{expression}");
    }
}

#[test]
fn rejects_invalid_steps() {
    for (expression, field, value) in [
        ("*/0 * * * *", Minute, "*/0"),
        ("*/ * * * *", Minute, "*/"),
        ("*/+5 * * * *", Minute, "*/+5"),
        ("*/x * * * *", Minute, "*/x"),
        ("*/5/5 * * * *", Minute, "*/5/5"),
        ("*/61 * * * *", Minute, "*/61"),
        ("* */25 * * *", Hour, "*/25"),
        ("* * * * 1-5/8", DayOfWeek, "1-5/8"),
    ] {
        let value = value.to_owned();
        assert_eq!(refused(expression), CronError::InvalidStep { field, value }, "{expression}");
    }
}

#[test]
fn rejects_reversed_ranges() {
    for (expression, field, value) in [
        ("5-1 * * * *", Minute, "5-1"),
        ("* 22-2/2 * * *", Hour, "22-2/2"),
        ("* * * DEC-JAN *", Month, "DEC-JAN"),
        ("* * * * FRI-MON", DayOfWeek, "FRI-MON"),
    ] {
        let value = value.to_owned();
        assert_eq!(refused(expression), CronError::ReversedRange { field, value }, "{expression}");
    }
}

#[test]
fn rejects_empty_items() {
    for (expression, field) in [
        ("1,,2 * * * *", Minute),
        ("1, * * * *", Minute),
        ("* , * * *", Hour),
        ("* * L, * *", DayOfMonth),
        ("* * * * ,5#3", DayOfWeek),
    ] {
        assert_eq!(refused(expression), CronError::EmptyItem { field }, "{expression}");
    }
}

#[test]
fn rejects_weeks_that_no_month_has() {
    for value in ["5#0", "5#6", "5#", "5#33", "5#1#2"] {
        let error = refused(&format!("* * * * {value}"));
        assert_eq!(error, CronError::InvalidNth { field: DayOfWeek, value: value.to_owned() });
    }
}

#[test]
fn rejects_invalid_expressions() {
    assert_eq!(refused(""), CronError::Empty);
    assert_eq!(refused(" \t"), CronError::Empty);
    for (expression, count) in [("*", 1), ("* * * *", 4), ("* * * * * * *", 7)] {
        assert_eq!(refused(expression), CronError::FieldCount { count });
    }
    assert_eq!(refused(&"* ".repeat(129)), CronError::TooLong { max: 256 });
    for expression in ["@", "@reboot", "@Daily", "@daily x", "@everyday", "@every5m"] {
        assert_eq!(refused(expression), CronError::UnknownAlias(expression.to_owned()));
    }
    for expression in
        ["@every", "@every ", "@every -5m", "@every soon", "@every PT5M", "@every 1h 5m"]
    {
        assert!(matches!(refused(expression), CronError::InvalidInterval(_)), "{expression}");
    }
    for (expression, interval) in [("@every 500ms", "500ms"), ("@every 0s", "0s")] {
        assert_eq!(refused(expression), CronError::IntervalTooShort(interval.to_owned()));
    }
}

#[test]
fn rejects_dates_that_never_come() {
    for expression in
        ["0 0 31 2 *", "0 0 30 FEB *", "0 0 31 4,6,9,11 *", "0 0 31W 2 *", "0 0 30 2 */2"]
    {
        assert_eq!(refused(expression), CronError::NeverMatches(expression.to_owned()));
    }
    // Either day field may match, so the weekday alone makes this one possible.
    assert!(Expression::parse("0 0 31 2 MON").is_ok());
    // A leap day falls on every weekday some time.
    for weekday in 0..7 {
        assert!(Expression::parse(&format!("0 0 * 2 {weekday}#5")).is_ok());
    }
}

#[test]
fn errors_name_the_field_the_value_and_the_range() {
    for (expression, message) in [
        ("60 * * * *", "minute \"60\" is out of range; allowed: 0-59"),
        ("* * * 13 *", "month \"13\" is out of range; allowed: 1-12 or JAN-DEC"),
        ("*/0 * * * *", "minute \"*/0\" has an invalid step; allowed: 1 to 60"),
        ("* 9-5 * * *", "hour range \"9-5\" ends before it starts; allowed: 0-23"),
        (
            "@every 500ms",
            "\"@every\" \"500ms\" is too short; schedules are evaluated at most once a second (1s)",
        ),
    ] {
        assert_eq!(refused(expression).to_string(), message);
    }
}
