//! Checks the contents of the database.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rota_store_sqlite::Snapshot;
use rota_store_sqlite::check::{Damage, Depth, Rule, check};

use super::finding::Finding;
use crate::output::{milliseconds, plural};

/// Well-kept clocks differ by less than this.
const LEAD_ALLOWED_MS: i64 = 60_000;

pub(super) fn look(snapshot: &Snapshot, dir: &Path, depth: Depth) -> Vec<Finding> {
    let report = check(snapshot, depth);
    let mut findings = Vec::new();
    if report.broken().is_none() {
        let what = match depth {
            Depth::Quick => "SQLite finds every page sound.",
            Depth::Full => "SQLite finds every page and every index sound.",
        };
        findings.push(Finding::ok("file", what));
    }
    if report.damages.is_empty() {
        let jobs = plural(report.census.total(), "job", "jobs");
        let what =
            format!("{jobs} as of commit {}; the data is consistent.", snapshot.loaded().number);
        findings.push(Finding::ok("contents", what));
    }
    findings.extend(report.damages.iter().map(|damage| explain(damage, dir)));
    findings.extend(clock(snapshot.loaded().now.0));
    findings
}

/// Advice if the file cannot be used.
pub(super) fn restore(dir: &Path) -> String {
    format!(
        "Stop the server, then rebuild it: `rota doctor --repair --data {0}`; it shows what would be lost and asks \
         first. Or bring the last backup back: `rota restore FILE --data {0} --replace`. The damaged database is kept \
         beside it.",
        dir.display()
    )
}

fn explain(damage: &Damage, dir: &Path) -> Finding {
    let restore = restore(dir);
    let (check, effect) = match damage.rule {
        Rule::Page | Rule::Structure | Rule::Unreadable => {
            return Finding::problem(
                "file",
                sentence(damage),
                format!("Check the disk. {restore}"),
            );
        }
        Rule::WriteAheadLog => {
            let advice = "After a power failure this is as it should be; otherwise check the disk. The log has what was \
                          in them, and the next start applies it again. No job is affected.";
            return Finding::warning("wal", sentence(damage), advice);
        }
        Rule::Counts => {
            ("figures", "Figures are wrong, and removing these jobs may end the server.")
        }
        Rule::SeqNotAssigned => {
            ("contents", "New jobs will collide with these and end the server.")
        }
        Rule::MissingInZones => {
            ("contents", "Lists do not show these jobs; they are run all the same.")
        }
        Rule::AuditLog => {
            let advice = "Somebody wrote to the database besides Rota. `rota audit verify`, with the same \
                          --data, checks it again; compare it with a backup. No job is affected.";
            return Finding::problem("audit", sentence(damage), advice);
        }
        Rule::StoredBytes => {
            let advice = format!(
                "The `max_bytes` of these tenants applies too early or too late; no job is affected. A restored \
                 backup is counted again: `rota backup FILE --data {0}`, stop the server, then \
                 `rota restore FILE --data {0} --replace`.",
                dir.display()
            );
            return Finding::problem("figures", sentence(damage), advice);
        }
        Rule::ErrorsWithoutJob | Rule::MalformedHistory => ("contents", "No job is affected."),
        _ => ("contents", "The server ends when it meets them."),
    };
    Finding::problem(check, sentence(damage), format!("{effect} {restore}"))
}

fn sentence(damage: &Damage) -> String {
    let text = damage.to_string();
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

/// Time never goes back inside the server; it stands still until the clock has caught up.
fn clock(last_ms: i64) -> Option<Finding> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ahead = last_ms - i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    (ahead > LEAD_ALLOWED_MS).then(|| {
        let what = format!(
            "The last commit was made {} in the future by the clock of this machine.",
            milliseconds(ahead as f64)
        );
        let advice = "Set the clock. Until it has caught up, time stands still for the server: \
                      nothing that is scheduled becomes due.";
        Finding::warning("clock", what, advice)
    })
}
