//! Checks the log of a data directory, beside the database that follows it.

use std::path::Path;

use indicatif::BinaryBytes;
use rota_log::{LogError, Report, inspect};
use rota_storage::log_directory;
use rota_store_sqlite::{LogStart, Snapshot};

use super::contents;
use super::finding::Finding;
use crate::output::plural;

/// A running server may be writing the last record, or remove a segment, at the moment it is read.
const TRIES: usize = 5;

pub(super) fn look(snapshot: &Snapshot, dir: &Path, is_running: bool) -> Vec<Finding> {
    let start = match snapshot.log_start() {
        Ok(Some(start)) => start,
        // An older format, or damage that other checks report.
        Ok(None) | Err(_) => return Vec::new(),
    };
    let tries = if is_running { TRIES } else { 1 };
    let mut inspected = inspect(&log_directory(dir));
    for _ in 1..tries {
        if inspected.as_ref().is_ok_and(|report| report.damage.is_empty()) {
            break;
        }
        inspected = inspect(&log_directory(dir));
    }
    match inspected {
        Ok(report) => of_report(&report, start, dir),
        Err(error) => vec![unreadable(&error)],
    }
}

fn of_report(report: &Report, start: LogStart, dir: &Path) -> Vec<Finding> {
    if start.base.is_none() {
        let what = "The next start of the server begins a new log.";
        return vec![Finding::ok("log", what)];
    }
    if let Some((segment, format)) = &report.newer {
        let what = format!(
            "Segment {segment} of the log has format {format}, which this version does not know."
        );
        let advice = "Use the version of Rota that wrote it, or a newer one.";
        return vec![Finding::problem("log", what, advice)];
    }
    let last =
        report.segments.iter().filter_map(|segment| segment.last).max().unwrap_or(start.number);
    let mut findings: Vec<Finding> =
        report.damage.iter().map(|damage| damaged(damage, report, start, dir)).collect();
    if last < start.number {
        let what =
            format!("The log ends at record {last}, but the database has record {}.", start.number);
        findings.push(Finding::problem("log", what, contents::restore(dir)));
    }
    if findings.is_empty() {
        let records: u64 = report.segments.iter().map(|segment| segment.records).sum();
        let behind = match last - start.number {
            0 => "the database has applied all of them".to_owned(),
            n => format!("the next start applies the last {n} to the database"),
        };
        let what = format!(
            "{} in {}; {behind}.",
            plural(records, "record", "records"),
            BinaryBytes(report.bytes)
        );
        findings.push(Finding::ok("log", what));
    }
    findings
}

/// What is lost is what the database has not applied.
fn damaged(damage: &rota_log::Damage, report: &Report, start: LogStart, dir: &Path) -> Finding {
    let what = format!("The log is damaged: {damage}.");
    let lost = report.lost.as_ref().map_or(damage.index, |lost| *lost.end());
    if lost <= start.number {
        let advice = "The database has applied the damaged records, so nothing is lost, and the server starts. Check \
                      the disk.";
        return Finding::warning("log", what, advice);
    }
    let first = damage.index.max(start.number + 1);
    let advice = format!(
        "The server does not start, so that nothing is lost silently. The database has every record up to {}; records \
         {first} to {lost} are not in it. Copy the directory, check the disk, then {}",
        start.number,
        contents::restore(dir)
    );
    Finding::problem("log", what, advice)
}

fn unreadable(error: &LogError) -> Finding {
    let advice = "Run this as the user that runs the server, or as root.";
    Finding::problem("log", format!("The log cannot be read: {error}."), advice)
}
