//! Checks a data directory: who uses it, free space, and its contents.

use std::path::Path;

use indicatif::BinaryBytes;
use rota_settings::Settings;
use rota_store_sqlite::check::Depth;
use rota_store_sqlite::{DirectoryStatus, FORMAT, OpenError, Server, Snapshot, directory_status};

use super::finding::Finding;
use super::{contents, log, safety};

/// A server alone does not produce a write-ahead log of this size.
const LONG_WAL: u64 = 256 << 20;
/// Low disk space if no reserve is configured.
const LITTLE: u64 = 64 << 20;

pub(super) fn look(settings: &Settings, depth: Depth) -> Vec<Finding> {
    let dir = &settings.data;
    let seen = match directory_status(dir) {
        Ok(seen) => seen,
        Err(error) => return vec![unusable(dir, &error)],
    };
    let mut findings = vec![server(&seen), disk(&seen, settings.storage.reserve as u64)];
    findings.extend(wal(&seen));
    findings.extend(remains(&seen));
    match Snapshot::of_directory(dir) {
        Ok(snapshot) => {
            findings.push(format(&snapshot));
            findings.extend(log::look(&snapshot, dir, seen.server != Server::Stopped));
            findings.extend(contents::look(&snapshot, dir, depth));
            findings.extend(safety::look(dir, settings.archive.as_deref(), depth));
        }
        Err(error) => findings.push(unopened(dir, &error)),
    }
    findings
}

pub(super) fn is_in_use(dir: &Path) -> bool {
    directory_status(dir).is_ok_and(|seen| seen.server != Server::Stopped)
}

fn unusable(dir: &Path, error: &OpenError) -> Finding {
    if !dir.exists() {
        let what = format!("There is no directory {}.", dir.display());
        return Finding::problem(
            "directory",
            what,
            "Correct --data; `rota serve` would create it.",
        );
    }
    unreadable("directory", error)
}

fn server(seen: &DirectoryStatus) -> Finding {
    let what = match seen.server {
        Server::Running { pid: Some(pid) } => format!("A server is running here: process {pid}."),
        Server::Running { pid: None } => "A server is running here.".to_owned(),
        Server::Stopped => "No server is running here.".to_owned(),
    };
    Finding::ok("server", what)
}

fn disk(seen: &DirectoryStatus, reserve: u64) -> Finding {
    let Some(free) = seen.free_bytes else {
        return Finding::ok("disk", "The free disk space cannot be determined here.");
    };
    let room = format!("{} free", BinaryBytes(free));
    let is_running = seen.server != Server::Stopped;
    if seen.reserve_bytes < reserve && free < reserve + reserve / 4 {
        let what = format!(
            "{room}, and the reserve of {} for a full disk is not there.",
            BinaryBytes(reserve)
        );
        let advice = "Free some space on this disk: without room, new jobs are rejected.";
        return Finding::problem("disk", what, advice);
    }
    if is_running && seen.reserve_bytes < reserve {
        let what = format!("{room}; the reserve for a full disk is smaller than the settings say.");
        let advice = "It is made anew within seconds if the disk was full; otherwise the server has \
                      other settings than this command: give it the same --config.";
        return Finding::warning("disk", what, advice);
    }
    if free < LITTLE.max(2 * reserve) {
        let what = format!("Only {room}.");
        return Finding::warning("disk", what, "Free some space on this disk before it is full.");
    }
    match seen.reserve_bytes {
        0 => Finding::ok("disk", format!("{room}.")),
        bytes => Finding::ok("disk", format!("{room}, {} in reserve.", BinaryBytes(bytes))),
    }
}

fn wal(seen: &DirectoryStatus) -> Option<Finding> {
    (seen.wal_bytes > LONG_WAL).then(|| {
        let what = format!(
            "The write-ahead log rota.db-wal has grown to {}.",
            BinaryBytes(seen.wal_bytes)
        );
        let advice = "Something reads the database for a long time: look for a backup, or another \
                      program that has it open. It shrinks by itself when that ends.";
        Finding::warning("wal", what, advice)
    })
}

fn remains(seen: &DirectoryStatus) -> Option<Finding> {
    (!seen.partial_files.is_empty()).then(|| {
        let what =
            format!("Remains of a copy that was cut short: {}.", seen.partial_files.join(", "));
        let advice = "Delete them, unless a backup or a restore is under way just now.";
        Finding::warning("remains", what, advice)
    })
}

fn format(snapshot: &Snapshot) -> Finding {
    let found = snapshot.format();
    let what = match found {
        FORMAT => format!("Format {found}, as this version writes it."),
        _ => format!("Format {found}; the next start of the server brings it to {FORMAT}."),
    };
    Finding::ok("format", what)
}

fn unopened(dir: &Path, error: &OpenError) -> Finding {
    match error {
        OpenError::Nothing { .. } => Finding::warning(
            "database",
            "There is no database yet.",
            format!(
                "`rota serve --data {0}` creates one; `rota restore FILE --data {0}` brings one back.",
                dir.display()
            ),
        ),
        OpenError::NewerFormat { found, known, .. } => Finding::problem(
            "format",
            format!("Format {found}, and this version of Rota knows formats up to {known}."),
            "Use the version of Rota that wrote it, or a newer one, or restore a backup of this one.",
        ),
        OpenError::Corrupt { path, cause } => Finding::problem(
            "database",
            format!("{} cannot be read as a Rota database: {cause}.", path.display()),
            contents::restore(dir),
        ),
        OpenError::Locked { .. } | OpenError::Unusable { .. } => unreadable("database", error),
    }
}

fn unreadable(check: &'static str, error: &OpenError) -> Finding {
    let what = match error {
        OpenError::Unusable { path, cause, .. } => {
            format!("{} cannot be read: {cause}.", path.display())
        }
        _ => format!("{error}."),
    };
    Finding::problem(check, what, "Run this as the user that runs the server, or as root.")
}
