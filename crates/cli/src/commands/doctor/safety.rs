//! Checks whether the database could be made anew: from a backup, the log and its archive.

use std::path::Path;

use rota_log::{History, HistoryError, SegmentName};
use rota_storage::{BackupRecord, log_directory};
use rota_store_sqlite::check::Depth;

use super::finding::Finding;
use crate::output::grouped;

pub(super) fn look(dir: &Path, archive: Option<&Path>, depth: Depth) -> Vec<Finding> {
    let archive = archive.filter(|archive| archive.is_dir());
    let mut findings = Vec::new();
    findings.extend(beginning(dir, archive));
    if let Some(archive) = archive.filter(|_| depth == Depth::Full) {
        findings.push(of_archive(archive));
    }
    findings
}

/// Warns if a damaged database would be lost.
fn beginning(dir: &Path, archive: Option<&Path>) -> Option<Finding> {
    let log = log_directory(dir);
    if !has_segments(&log) {
        return None;
    }
    let directories: Vec<&Path> = archive.into_iter().chain([&*log]).collect();
    // What cannot be read is reported by the check of the log.
    let first = History::newest(&directories).ok()?.first();
    let what = match BackupRecord::read(dir).ok()? {
        Some(backup) if first > backup.index + 1 => format!(
            "The newest backup ends with record {}, but the log begins at record {}. What is between them is only \
             in the database: if it is damaged, that is lost.",
            grouped(backup.index),
            grouped(first)
        ),
        None if first > 1 => format!(
            "There is no backup, and the log begins at record {}: if the database is damaged, what is damaged is lost.",
            grouped(first)
        ),
        _ => return None,
    };
    let advice = format!("Make a backup: `rota backup FILE --data {}`.", dir.display());
    Some(Finding::warning("backup", what, advice))
}

fn has_segments(log: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(log) else { return false };
    entries.any(|entry| {
        let name = entry.map(|entry| entry.file_name().to_string_lossy().into_owned());
        name.is_ok_and(|name| SegmentName::parse(&name).is_some())
    })
}

/// Reads the whole archive.
fn of_archive(archive: &Path) -> Finding {
    match read(archive) {
        Ok(None) => Finding::ok("archive", format!("{} is empty.", archive.display())),
        Ok(Some((first, last))) => {
            let (first, last) = (grouped(first), grouped(last));
            Finding::ok("archive", format!("It has every record from {first} to {last}."))
        }
        Err(error) => {
            let what =
                format!("The archive {} cannot be read to its end: {error}.", archive.display());
            let advice = "Make a backup, so that this part of the archive is not needed.";
            Finding::problem("archive", what, advice)
        }
    }
}

/// The first and the last record.
fn read(archive: &Path) -> Result<Option<(u64, u64)>, HistoryError> {
    let history = History::newest(&[archive])?;
    let Some(base) = history.first().checked_sub(1) else { return Ok(None) };
    let base = history.base_at(base)?.ok_or(HistoryError::Gap { from: base + 1, to: base + 1 })?;
    let mut reader = history.read_after(base)?;
    while reader.next_records()?.is_some() {}
    Ok(Some((history.first(), reader.position().index)))
}
