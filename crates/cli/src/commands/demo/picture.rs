//! What is drawn while the demo runs: both servers side by side, in 80 columns and 24 lines.

use std::time::Duration;

use super::figures::{Figures, Wait};
use super::tally::{NAMES, Tally};
use crate::output::grouped;

/// Waiting times are those of so long.
const LATELY: Duration = Duration::from_secs(5);

pub(super) fn picture(passed: Duration, of: Duration, fair: &Tally, unfair: &Tally) -> String {
    let mut lines = vec![
        format!(
            "Nine quiet tenants, a flood, and one that marks everything urgent: {} of {}s",
            passed.as_secs(),
            of.as_secs_f64()
        ),
        String::new(),
        format!("{:7}{:^34}  |{:^34}", "", "with fairness", "without").trim_end().to_owned(),
        row("TENANT", TITLES, TITLES),
    ];
    for (tenant, name) in NAMES.iter().enumerate() {
        let shown = |tally: &Tally| cells(&tally.figures_of_late(tenant..tenant + 1, LATELY));
        lines.push(row(name, shown(fair), shown(unfair)));
    }
    lines.push(String::new());
    lines.push(
        "P50, P99: from enqueueing to the start, of jobs that began in the last 5s or".into(),
    );
    lines.push(
        "have not begun yet, which count with their time so far. Ctrl-C ends the demo.".into(),
    );
    lines.push(String::new());
    lines.join("\n") + "\n"
}

const TITLES: [&str; 5] = ["IN", "DONE", "WAITING", "P50", "P99"];

fn cells(figures: &Figures) -> [String; 5] {
    let time = |wait: Option<Wait>| wait.map_or_else(|| "-".to_owned(), Wait::short);
    [
        short(figures.enqueued),
        short(figures.done),
        short(figures.waiting()),
        time(figures.median),
        time(figures.p99),
    ]
}

fn row<T: AsRef<str>, U: AsRef<str>>(name: &str, left: [T; 5], right: [U; 5]) -> String {
    let line = format!("{name:<7}{}  |{}", side(left), side(right));
    line.trim_end().to_owned()
}

fn side<T: AsRef<str>>(cells: [T; 5]) -> String {
    const WIDTHS: [usize; 5] = [7, 7, 8, 6, 6];
    let cells = cells.iter().zip(WIDTHS);
    cells.map(|(cell, width)| format!("{:>width$}", cell.as_ref())).collect()
}

/// At most six characters: `12,345`, `123k`.
fn short(count: u64) -> String {
    match count {
        0..100_000 => grouped(count),
        _ => format!("{}k", grouped(count / 1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_into_the_smallest_terminal() {
        let mut tally = Tally::default();
        for tenant in 0..NAMES.len() {
            tally.enqueue(tenant, 20_000);
            tally.begin(tenant, 0);
            tally.finish(tenant);
        }
        let minutes = Duration::from_secs(600);
        let text = picture(minutes, minutes, &tally, &tally);
        assert!(text.lines().count() < 24, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(text.contains("\nquiet-1 20,000      1  19,999 "), "{text}");
    }

    #[test]
    fn large_counts_stay_short() {
        assert_eq!(short(99_999), "99,999");
        assert_eq!(short(1_234_567), "1,234k");
    }
}
