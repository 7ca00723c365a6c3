//! Formats times and durations.

use jiff::Timestamp;

/// `3m ago`, `in 2h`; anything that is not a time is shown unchanged.
pub(crate) fn relative(time: &str) -> String {
    relative_to(time, Timestamp::now())
}

/// The time, and how far away it is.
pub(crate) fn moment(time: &str) -> String {
    format!("{time} ({})", relative(time))
}

/// `350ms`, `1.2s`, `4m`.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 1_000.0 => format!("{ms:.0}ms"),
        ms if ms < 60_000.0 => format!("{:.1}s", ms / 1_000.0),
        ms => coarse((ms / 1_000.0) as i64),
    }
}

fn relative_to(time: &str, now: Timestamp) -> String {
    let Ok(time) = time.parse::<Timestamp>() else { return time.to_owned() };
    let ms = now.as_millisecond() - time.as_millisecond();
    match ms {
        // Clocks of two machines differ slightly.
        -999..=999 => "now".to_owned(),
        1_000.. => format!("{} ago", coarse(ms / 1_000)),
        _ => format!("in {}", coarse(-ms / 1_000)),
    }
}

/// The largest unit, and the next one if the first is small: `45s`, `2h59m`, `30d`.
fn coarse(seconds: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let largest = UNITS.iter().position(|(_, length)| seconds >= *length).unwrap_or(3);
    let (unit, length) = UNITS[largest];
    let whole = seconds / length;
    let rest = UNITS.get(largest + 1).map(|(unit, smaller)| (unit, seconds % length / smaller));
    match rest {
        Some((smaller, count)) if whole < 10 && count > 0 => {
            format!("{whole}{unit}{count}{smaller}")
        }
        _ => format!("{whole}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_coarse() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let shown = |time: &str| relative_to(time, now);
        assert_eq!(shown("2026-11-15T12:00:00.5Z"), "now");
        assert_eq!(shown("2026-11-15T11:59:50Z"), "10s ago");
        assert_eq!(shown("2026-11-15T11:58:30Z"), "1m30s ago");
        assert_eq!(shown("2026-11-15T11:50:00Z"), "10m ago");
        assert_eq!(shown("2026-11-12T12:00:00Z"), "3d ago");
        assert_eq!(shown("2026-11-15T15:00:30Z"), "in 3h");
        assert_eq!(shown("2026-11-15T14:59:58Z"), "in 2h59m");
        assert_eq!(shown("soon"), "soon");
    }

    #[test]
    fn durations_are_short() {
        assert_eq!(milliseconds(12.4), "12ms");
        assert_eq!(milliseconds(1_250.0), "1.2s");
        assert_eq!(milliseconds(600_000.0), "10m");
    }
}
