//! Tests of timestamps, compared with jiff.

use jiff::Timestamp;

use super::*;

fn text(at: i64) -> String {
    let mut out = b"at ".to_vec();
    Millis(at).write_rfc3339(&mut out);
    String::from_utf8(out).unwrap().split_off(3)
}

fn parse(text: &str) -> Result<Millis, TimeError> {
    Millis::parse_rfc3339(text)
}

/// SplitMix64: enough randomness for a test, without a dependency.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
fn formats_known_instants() {
    assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(text(1), "1970-01-01T00:00:00.001Z");
    assert_eq!(text(951_782_400_000), "2000-02-29T00:00:00.000Z");
    assert_eq!(text(1_770_892_200_000), "2026-02-12T10:30:00.000Z");
    assert_eq!(text(Millis::MAX.0), "9999-12-31T23:59:59.999Z");
    assert_eq!(format!("{:>26}", Millis::ZERO), "  1970-01-01T00:00:00.000Z");
}

#[test]
fn formatting_clamps_to_what_rfc3339_can_say() {
    assert_eq!(text(-1), "1970-01-01T00:00:00.000Z");
    assert_eq!(text(i64::MIN), "1970-01-01T00:00:00.000Z");
    assert_eq!(text(Millis::MAX.0 + 1), "9999-12-31T23:59:59.999Z");
    assert_eq!(text(i64::MAX), "9999-12-31T23:59:59.999Z");
}

#[test]
fn formats_every_day_of_a_calendar_cycle_as_jiff_does() {
    for day in 0..146_097 {
        let at = day * DAY_MS;
        let expected = Timestamp::from_millisecond(at).unwrap();
        assert_eq!(text(at), format!("{expected:.3}"));
    }
}

#[test]
fn formats_and_parses_random_instants_as_jiff_does() {
    let seed = 0x0123_4567;
    let mut state = seed;
    for _ in 0..100_000 {
        let at = (random(&mut state) % Timestamp::MAX.as_millisecond() as u64) as i64;
        let expected = format!("{:.3}", Timestamp::from_millisecond(at).unwrap());
        assert_eq!(text(at), expected, "seed {seed}");
        assert_eq!(parse(&expected), Ok(Millis(at)), "seed {seed}");
    }
}

#[test]
fn parses_every_first_and_last_day_of_a_month_as_jiff_does() {
    for year in (0..=400).chain(1_890..=2_110).chain(9_900..=9_998) {
        for month in 1..=12 {
            for day in [1, 28, 29, 30, 31] {
                let written = format!("{year:04}-{month:02}-{day:02}T00:00:00Z");
                let expected = written.parse::<Timestamp>().ok();
                let expected = expected.map(|at| Millis(at.as_millisecond()));
                assert_eq!(parse(&written).ok(), expected, "{written}");
            }
        }
    }
}

#[test]
fn parses_rfc3339() {
    let at = Millis(1_770_892_200_000);
    for same in [
        "2026-02-12T10:30:00Z",
        "2026-02-12t10:30:00z",
        "2026-02-12T10:30:00.000Z",
        "2026-02-12T10:30:00.0009999999999999999999Z",
        "2026-02-12T12:30:00+02:00",
        "2026-02-12T05:00:00-05:30",
        "2026-02-13T10:29:00+23:59",
        "2026-02-12T10:30:00-00:00",
    ] {
        assert_eq!(parse(same), Ok(at), "{same}");
    }
    assert_eq!(parse("2026-02-12T10:30:00.5Z"), Ok(at.saturating_add_ms(500)));
    assert_eq!(parse("2026-02-12T10:30:00.12Z"), Ok(at.saturating_add_ms(120)));
    assert_eq!(parse("2026-02-12T10:30:00.1239Z"), Ok(at.saturating_add_ms(123)));
    assert_eq!(parse("1969-12-31T23:59:59.999Z"), Ok(Millis(-1)));
    assert_eq!(parse("9999-12-31T23:59:59.999Z"), Ok(Millis::MAX));
}

#[test]
fn rejects_what_is_not_rfc3339() {
    for malformed in [
        "",
        "now",
        "2026-02-12",
        "2026-02-12T10:30Z",
        "2026-02-12T10:30:00.Z",
        "2026-02-12T10:30:00,5Z",
        "2026-02-12 10:30:00Z",
        "2026-02-12_10:30:00Z",
        "20260212T103000Z",
        "2026-W07-4T10:30:00Z",
        "2026-043T10:30:00.0Z",
        "+002026-02-12T10:30:00Z",
        "-002026-02-12T10:30:00Z",
        "10000-01-01T00:00:00Z",
        "2026-02-12T10:30:00+02",
        "2026-02-12T10:30:00+0200",
        "2026-02-12T10:30:00+02:00:00",
        "2026-02-12T10:30:00 Z",
        "2026-02-12T10:30:00Z ",
        " 2026-02-12T10:30:00Z",
        "2026-02-12T10:30:00Z[UTC]",
        "2026-02-12T10:30:00+01:00[Europe/Paris]",
        "2026-02-12T1x:30:00Z",
        "2026-02-1\u{662}T10:30:00Z",
        "2026\u{2212}02-12T10:30:00Z",
        "1770892200",
    ] {
        let refused = Err(TimeError::Timestamp(TimestampFault::Malformed));
        assert_eq!(parse(malformed), refused, "{malformed}");
    }
    for missing_offset in ["2026-02-12T10:30:00", "2026-02-12T10:30:00.123"] {
        let refused = Err(TimeError::Timestamp(TimestampFault::MissingOffset));
        assert_eq!(parse(missing_offset), refused, "{missing_offset}");
    }
}

#[test]
fn rejects_fields_out_of_range() {
    for (written, field) in [
        ("2026-00-12T10:30:00Z", "month"),
        ("2026-13-12T10:30:00Z", "month"),
        ("2026-02-00T10:30:00Z", "day"),
        ("2026-02-29T10:30:00Z", "day"),
        ("2100-02-29T10:30:00Z", "day"),
        ("2026-04-31T10:30:00Z", "day"),
        ("2026-02-12T24:00:00Z", "hour"),
        ("2026-02-12T10:60:00Z", "minute"),
        ("2016-12-31T23:59:60Z", "second"),
        ("2026-02-12T10:30:00+24:00", "offset hour"),
        ("2026-02-12T10:30:00-02:60", "offset minute"),
    ] {
        let refused = Err(TimeError::Timestamp(TimestampFault::OutOfRange(field)));
        assert_eq!(parse(written), refused, "{written}");
    }
    let refused = Err(TimeError::Timestamp(TimestampFault::TooLate));
    assert_eq!(parse("9999-12-31T23:59:59-00:01"), refused);
}

#[test]
fn when_is_absolute_or_relative() {
    let now = Present::from(Millis(1_000));
    let absolute = When { at: Millis(5_000), given: Some(Millis(5_000)) };
    assert_eq!(parse_when("1970-01-01T00:00:05Z", now), Ok(absolute));
    assert_eq!(parse_when("+PT2S", now), Ok(When { at: Millis(3_000), given: None }));
    assert_eq!(parse_when("+P1DT0.5S", now), Ok(When { at: Millis(86_401_500), given: None }));

    for refused in ["", "+", "PT2S", "-PT2S", "+2s", "+-PT2S", "++PT2S", "+1970-01-01T00:00:05Z"] {
        assert!(parse_when(refused, now).is_err(), "{refused}");
    }
    let too_late = Err(TimeError::When(TimestampFault::TooLate));
    assert_eq!(
        parse_when("+P8000Y", now),
        Ok(When { at: Millis(252_288_000_001_000), given: None })
    );
    assert_eq!(parse_when("+P9000Y", now), too_late);
    assert_eq!(parse_when("+PT9223372036854775S", now), too_late);
}

#[test]
fn timestamps_refer_to_the_wall_clock_and_distances_to_the_time_of_the_server() {
    let present = Present { now: Millis(9_000), ahead_ms: 8_000 };
    let when = parse_when("1970-01-01T00:00:05Z", present).unwrap();
    assert_eq!((when.at, when.given), (Millis(13_000), Some(Millis(5_000))));
    assert_eq!(parse_when("+PT2S", present).unwrap().at, Millis(11_000));
    assert_eq!(present.server_time(Millis::MAX), Millis::MAX);
}

#[test]
fn errors_say_what_was_expected() {
    let message = parse("2026-02-12T10:30:00").unwrap_err().to_string();
    assert!(message.starts_with("has no UTC offset"), "{message}");
    assert!(message.contains("such as \"2026-02-12T10:30:00.000Z\""), "{message}");
    let message = parse_when("soon", Millis::ZERO.into()).unwrap_err().to_string();
    assert!(message.contains("\"+PT2S\""), "{message}");
    let message = parse_when("+2s", Millis::ZERO.into()).unwrap_err().to_string();
    assert!(message.contains("\"+PT2S\"") && message.contains("start with \"P\""), "{message}");
}

#[test]
fn serializes_as_a_number() {
    assert_eq!(serde_json::to_string(&Millis(5)).unwrap(), "5");
    assert_eq!(serde_json::from_str::<Millis>("-5").unwrap(), Millis(-5));
}

#[test]
fn arithmetic_saturates() {
    assert_eq!(Millis(5).saturating_add_ms(-7), Millis(-2));
    assert_eq!(Millis(5).saturating_sub_ms(7), Millis(-2));
    assert_eq!(Millis(i64::MAX).saturating_add_ms(1), Millis(i64::MAX));
    assert_eq!(Millis(9).since(Millis(4)), 5);
    assert_eq!(Millis(4).since(Millis(9)), -5);
    assert_eq!(Millis(i64::MAX).since(Millis(i64::MIN)), i64::MAX);
}
