//! Random schedules, compared with a minute-by-minute search that shares no code with the real one.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::*;

const MINUTE_MS: i64 = 60_000;
const ORACLE_MINUTES: i64 = 20 * 24 * 60;

const ZONES: [&str; 8] = [
    "UTC",
    "America/New_York",
    "Europe/London",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/Sao_Paulo",
    "Asia/Tehran",
    "Pacific/Apia",
];

/// SplitMix64: enough randomness for a test, without a dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn between(&mut self, min: i8, max: i8) -> i8 {
        min + self.below((max - min) as u64 + 1) as i8
    }
}

/// The text of a field and the values that it matches.
struct RandomField {
    text: String,
    values: Vec<i8>,
}

impl RandomField {
    fn new(random: &mut Random, min: i8, max: i8) -> RandomField {
        match random.below(6) {
            0..=2 => RandomField { text: "*".to_owned(), values: (min..=max).collect() },
            3 => {
                let step = random.between(2, 7);
                let values = (min..=max).step_by(step as usize).collect();
                RandomField { text: format!("*/{step}"), values }
            }
            4 => {
                let first = random.between(min, max);
                let last = random.between(first, max);
                RandomField { text: format!("{first}-{last}"), values: (first..=last).collect() }
            }
            _ => {
                let values = [random.between(min, max), random.between(min, max)].to_vec();
                RandomField { text: format!("{},{}", values[0], values[1]), values }
            }
        }
    }

    fn starred(&self) -> bool {
        self.text.starts_with('*')
    }
}

struct RandomExpression {
    minute: RandomField,
    hour: RandomField,
    day: RandomField,
    month: RandomField,
    weekday: RandomField,
}

impl RandomExpression {
    fn new(random: &mut Random) -> RandomExpression {
        RandomExpression {
            minute: RandomField::new(random, 0, 59),
            hour: RandomField::new(random, 0, 23),
            day: RandomField::new(random, 1, 31),
            month: RandomField::new(random, 1, 12),
            weekday: RandomField::new(random, 0, 6),
        }
    }

    fn text(&self) -> String {
        let fields = [&self.minute, &self.hour, &self.day, &self.month, &self.weekday];
        fields.map(|field| field.text.as_str()).join(" ")
    }

    fn matches(&self, local: DateTime) -> bool {
        let day = self.day.values.contains(&local.day());
        let weekday = self.weekday.values.contains(&local.weekday().to_sunday_zero_offset());
        let date = match self.day.starred() || self.weekday.starred() {
            true => day && weekday,
            false => day || weekday,
        };
        date && self.minute.values.contains(&local.minute())
            && self.hour.values.contains(&local.hour())
            && self.month.values.contains(&local.month())
    }
}

fn local(zone: &TimeZone, at: i64) -> DateTime {
    zone.to_datetime(Timestamp::from_millisecond(at).unwrap())
}

/// Whether clocks showed the same local time within the three hours before.
fn is_repeated(zone: &TimeZone, at: i64) -> bool {
    (1..=180).any(|minutes| local(zone, at - minutes * MINUTE_MS) == local(zone, at))
}

fn oracle(expression: &RandomExpression, zone: &TimeZone, after: i64) -> Option<i64> {
    let first = after.div_euclid(MINUTE_MS) + 1;
    (first..first + ORACLE_MINUTES)
        .map(|minute| minute * MINUTE_MS)
        .find(|&at| expression.matches(local(zone, at)) && !is_repeated(zone, at))
}

/// A random instant; every other one within two days of a change of clocks, if there are any.
fn random_instant(random: &mut Random, zone: &TimeZone) -> i64 {
    let start = at("1995-01-01T00:00:00Z").0;
    let end = at("2037-01-01T00:00:00Z").0;
    let instant = start + random.below((end - start) as u64) as i64;
    let change = zone.following(Timestamp::from_millisecond(instant).unwrap()).next();
    match change {
        Some(change) if random.below(2) == 0 => {
            let two_days = 2 * 24 * 60 * MINUTE_MS as u64;
            change.timestamp().as_millisecond() - random.below(two_days) as i64
        }
        _ => instant,
    }
}

#[test]
fn agrees_with_a_minute_by_minute_search() {
    let seed = 0x00c0_ffee;
    let mut random = Random(seed);
    for case in 0..320 {
        let zone_name = ZONES[case % ZONES.len()];
        let expression = RandomExpression::new(&mut random);
        let Ok(schedule) = Schedule::parse(&expression.text(), zone_name) else {
            continue;
        };
        let zone = TimeZone::get(zone_name).unwrap();
        let mut after = random_instant(&mut random, &zone);
        for _ in 0..5 {
            let context =
                format!("seed {seed}: {} {zone_name} {}", expression.text(), Millis(after));
            let found = schedule.next_after(Millis(after), Millis::ZERO).map(|found| found.at.0);
            let Some(expected) = oracle(&expression, &zone, after) else {
                let horizon = after + ORACLE_MINUTES * MINUTE_MS;
                assert!(found.is_none_or(|found| found >= horizon), "{context}: {found:?}");
                break;
            };
            assert_eq!(found.map(Millis), Some(Millis(expected)), "{context}");
            after = expected;
        }
    }
}

#[test]
fn next_after_is_monotonic_and_agrees_with_itself() {
    let seed = 0x0bad_cafe;
    let mut random = Random(seed);
    for case in 0..2_000 {
        let zone_name = ZONES[case % ZONES.len()];
        let Ok(schedule) = Schedule::parse(&RandomExpression::new(&mut random).text(), zone_name)
        else {
            continue;
        };
        let after = random_instant(&mut random, &TimeZone::get(zone_name).unwrap());
        let next = |after| schedule.next_after(Millis(after), Millis::ZERO).map(|found| found.at.0);
        let Some(found) = next(after) else {
            continue;
        };
        assert!(found > after, "seed {seed}: {schedule:?} {after}");
        let between = after + random.below((found - after) as u64) as i64;
        assert_eq!(next(between), Some(found), "seed {seed}: {schedule:?} {after} {between}");
    }
}
