//! The live view of the demo: both servers side by side. 80 columns and 24 lines show all of
//! it.

use std::time::Duration;

use super::figures::{Figures, Wait};
use super::tally::{NAMES, Tally};
use crate::output::{Room, cut, grouped};

/// The period covered by the waiting times.
const LATELY: Duration = Duration::from_secs(5);

const TITLES: [&str; 5] = ["IN", "DONE", "WAITING", "P50", "P99"];
const WIDTHS: [usize; 5] = [7, 7, 8, 6, 6];
/// Columns to drop first on a narrow terminal.
const EXPENDABLE: [usize; 4] = [0, 1, 3, 2];
const NAME: usize = 7;
const LEGEND: [&str; 4] = [
    "",
    "P50, P99: from enqueueing to the start, of jobs that began in the last 5s or",
    "have not begun yet, which count with their time so far. Ctrl-C ends the demo.",
    "",
];
/// Lines above and below the table.
const LINES_AROUND: usize = 2 + LEGEND.len();
/// Troublesome tenants are listed last and always shown.
const TROUBLE: usize = 2;

/// Draws as much as fits.
pub(super) fn picture(
    passed: Duration,
    of: Duration,
    fair: &Tally,
    unfair: &Tally,
    room: Room,
) -> String {
    let columns = columns(room.columns);
    let side = columns.iter().map(|column| WIDTHS[*column]).sum();
    let (with, without) = ("with fairness", "without");
    let title = format!(
        "Nine quiet tenants, a flood, and one that marks everything urgent: {} of {}s",
        passed.as_secs(),
        of.as_secs_f64()
    );
    let sides = format!("{:NAME$}{with:^side$}  |{without:^side$}", "");
    let mut table = vec![sides, row("TENANT", &TITLES, &TITLES, &columns)];
    let (above, below) = match room.lines.saturating_sub(table.len() + NAMES.len()) {
        0 | 1 => (vec![], vec![]),
        2..LINES_AROUND => (vec![title, String::new()], vec![]),
        _ => (vec![title, String::new()], LEGEND.map(str::to_owned).to_vec()),
    };
    let lines = room.lines.saturating_sub(above.len() + table.len());
    let quiet = NAMES.len() - TROUBLE;
    let shown = match NAMES.len() <= lines {
        true => quiet,
        // One line says how many more there are.
        false => lines.saturating_sub(TROUBLE + 1),
    };
    for (tenant, name) in NAMES.iter().enumerate() {
        if (shown..quiet).contains(&tenant) {
            if tenant == shown {
                table.push(format!("… and {} more", quiet - shown));
            }
            continue;
        }
        let cells = |tally: &Tally| cells(&tally.figures_of_late(tenant..tenant + 1, LATELY));
        table.push(row(name, &cells(fair), &cells(unfair), &columns));
    }
    let lines = above.into_iter().chain(table).chain(below);
    lines.map(|line| cut(line.trim_end(), room.columns) + "\n").collect()
}

/// The columns of each side that fit.
fn columns(width: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..TITLES.len()).collect();
    for column in EXPENDABLE {
        let side: usize = columns.iter().map(|column| WIDTHS[*column]).sum();
        if NAME + 2 * side + "  |".len() <= width {
            break;
        }
        columns.retain(|other| *other != column);
    }
    columns
}

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

fn row<T: AsRef<str>, U: AsRef<str>>(
    name: &str,
    left: &[T; 5],
    right: &[U; 5],
    columns: &[usize],
) -> String {
    format!("{name:<NAME$}{}  |{}", side(left, columns), side(right, columns))
}

fn side<T: AsRef<str>>(cells: &[T; 5], columns: &[usize]) -> String {
    let shown = columns.iter().map(|column| (cells[*column].as_ref(), WIDTHS[*column]));
    shown.map(|(cell, width)| format!("{cell:>width$}")).collect()
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

    fn drawn(columns: usize, lines: usize) -> String {
        let mut tally = Tally::default();
        for tenant in 0..NAMES.len() {
            tally.enqueue(tenant, 20_000);
            tally.begin(tenant, 0);
            tally.finish(tenant);
        }
        let minutes = Duration::from_secs(600);
        picture(minutes, minutes, &tally, &tally, Room { columns, lines })
    }

    #[test]
    fn it_fits_into_the_usual_terminal() {
        let text = drawn(80, 23);
        assert_eq!(text.lines().count(), drawn(usize::MAX, usize::MAX).lines().count());
        assert!(text.lines().count() <= 23, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("\nquiet-1 20,000      1  19,999 "), "{text}");
        assert!(text.contains("\nhave not begun yet"), "{text}");
    }

    #[test]
    fn a_smaller_one_shows_less() {
        for (columns, lines) in [(79, 22), (60, 18), (40, 13), (40, 9), (20, 5)] {
            let text = drawn(columns, lines);
            assert!(text.lines().count() <= lines, "{columns} {lines}\n{text}");
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            assert!(text.contains("\nurgent ") && text.contains("P99"), "{text}");
        }
        let small = drawn(40, 9);
        assert!(small.contains("\nTENANT  WAITING   P99  | WAITING   P99\n"), "{small}");
        assert!(
            small.contains("\nquiet-4 ") && small.contains("\n… and 5 more\nflood "),
            "{small}"
        );
    }

    #[test]
    fn large_counts_stay_short() {
        assert_eq!(short(99_999), "99,999");
        assert_eq!(short(1_234_567), "1,234k");
    }
}
