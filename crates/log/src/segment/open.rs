//! Opening a log: everything the caller may need is checked before anything is changed.

use std::path::Path;

use super::block::BLOCK;
use super::directory::{Listing, failed, path_of, size};
use super::name::spare;
use super::options::{Durability, SegmentOptions};
use super::record::VERSION;
use super::repair::cut_after;
use super::scan::Scan;
use super::segment_log::{Current, Segment, SegmentLog};
use super::spares::{Spare, Spares};
use super::survey::survey;
use crate::files::{Disk, FileHandle, Files};
use crate::{Base, Damage, DamageKind, LogError, Tip};

impl SegmentLog {
    /// Opens the log in a directory, or creates it.
    pub fn open(directory: &Path, options: SegmentOptions) -> Result<Self, LogError> {
        Self::open_with(Disk, directory, options)
    }
}

impl<F: Files> SegmentLog<F> {
    /// Like [`SegmentLog::open`], on another file system.
    pub fn open_with(
        files: F,
        directory: &Path,
        options: SegmentOptions,
    ) -> Result<Self, LogError> {
        let mut dropped = None;
        let (listing, found) = loop {
            let listing = Listing::read(&files, directory)?;
            match examine(&files, directory, &listing, options.base) {
                Err(LogError::Damaged(damage))
                    if dropped.is_none() && was_never_promised(&damage, &options) =>
                {
                    dropped = cut_after(&files, directory, options.base.index)?;
                }
                found => break (listing, found?),
            }
        };
        if found.is_none() && !options.create {
            return Err(LogError::Missing(format!("there is no log in {}", directory.display())));
        }
        if found.is_none() {
            files.create_dir(directory).map_err(|error| failed("create", directory, &error))?;
        }
        let mut segments = Vec::with_capacity(listing.segments.len());
        for &name in &listing.segments {
            segments.push(Segment { name, bytes: size(&files, &path_of(directory, name))? });
        }
        let current = match &found {
            Some(found) => Some(continue_segment(&files, directory, &segments, found)?),
            None => None,
        };
        if let (Some(current), Durability::Fsync) = (&current, options.durability) {
            keep_found(&files, directory, &current.file)?;
        }
        let mut log = Self {
            tip: found.map_or_else(|| empty_tip(options.base), |found| found.tip),
            segments,
            current,
            spares: adopt_spares(&files, directory, &listing, &options)?,
            cursor: None,
            buffer: Vec::new(),
            rng: options.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            broken: None,
            dropped,
            directory: directory.to_owned(),
            files,
            options,
        };
        log.order_spare();
        Ok(log)
    }
}

/// Without syncs, a power cut may lose any record. Damage to what was written is still damage.
fn was_never_promised(damage: &Damage, options: &SegmentOptions) -> bool {
    options.durability == Durability::Os && damage.kind == DamageKind::Missing
}

/// What the last segment turned out to be.
struct Found {
    tip: Tip,
    scan: Scan,
}

/// Checks all segments that have records the caller has not seen. `None` if there are no segments.
fn examine<F: Files>(
    files: &F,
    directory: &Path,
    listing: &Listing,
    base: Base,
) -> Result<Option<Found>, LogError> {
    let Some(oldest) = listing.segments.first() else { return Ok(None) };
    if oldest.first > base.index + 1 {
        return Err(LogError::Range(format!(
            "the log begins at record {}, but records from {} on are needed",
            oldest.first,
            base.index + 1
        )));
    }
    let mut survey = survey(files, directory, listing.after(base.index))?;
    if let Some((segment, version)) = survey.newer {
        return Err(LogError::Newer { segment, found: version, known: VERSION });
    }
    if !survey.damage.is_empty() {
        return Err(LogError::Damaged(Box::new(survey.damage.swap_remove(0))));
    }
    let found = survey.record_at(base.index);
    let scan = survey.segments.pop().expect("there is a segment").scan;
    let newest = scan.records.last().expect("an intact segment has a record").head;
    let tip = Tip { index: newest.index, term: newest.term, checksum: newest.checksum };
    check_base(base, tip, found)?;
    Ok(Some(Found { tip, scan }))
}

/// `found` has the term and the checksum of the record at the base, if the log knows them.
fn check_base(base: Base, tip: Tip, found: Option<(u64, u64)>) -> Result<(), LogError> {
    if base.index > tip.index {
        return Err(LogError::Range(format!(
            "the log ends at record {}, but record {} has already been applied",
            tip.index, base.index
        )));
    }
    match found {
        Some((term, _)) if term != base.term => Err(LogError::Range(format!(
            "record {} has term {term} in the log, but was applied with term {}",
            base.index, base.term
        ))),
        Some((_, checksum)) if base.checksum != 0 && checksum != base.checksum => {
            Err(LogError::Range(format!(
                "record {} of the log is not the one that was applied",
                base.index
            )))
        }
        _ => Ok(()),
    }
}

fn empty_tip(base: Base) -> Tip {
    Tip { index: base.index, term: base.term, checksum: base.checksum }
}

fn continue_segment<F: Files>(
    files: &F,
    directory: &Path,
    segments: &[Segment],
    found: &Found,
) -> Result<Current<F::File>, LogError> {
    let last = segments.last().expect("there is a segment");
    let path = path_of(directory, last.name);
    let header = found.scan.header.expect("an intact segment has a header");
    Ok(Current {
        file: files.open(&path).map_err(|error| failed("open", &path, &error))?,
        term: header.term,
        salt: header.salt,
        end: found.scan.end,
        blocks: u32::try_from(last.bytes / BLOCK as u64).unwrap_or(u32::MAX),
        settled: found.scan.settled,
    })
}

/// A process that was killed may have written the last record without syncing it. From now on the record counts, so a
/// power cut must not take it: the view would be ahead of the log.
fn keep_found<F: Files>(files: &F, directory: &Path, last: &F::File) -> Result<(), LogError> {
    let unsynced = |error| failed("sync", directory, &error);
    last.sync_data().map_err(unsynced)?;
    files.sync_dir(directory).map_err(unsynced)?;
    let Some(parent) = directory.parent() else { return Ok(()) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    files.sync_dir(parent).map_err(unsynced)
}

/// Keeps one spare of the right size, and removes the others.
fn adopt_spares<F: Files>(
    files: &F,
    directory: &Path,
    listing: &Listing,
    options: &SegmentOptions,
) -> Result<Spares<F>, LogError> {
    let next_number = listing.spares.last().map_or(1, |last| last + 1);
    let mut spares =
        Spares::new(files.clone(), directory, next_number, options.durability, options.prepare)
            .map_err(|error| failed("prepare segments in", directory, &error))?;
    for &number in &listing.spares {
        let path = directory.join(spare(number));
        let bytes = size(files, &path)?;
        if spares.len() == 0 && bytes == options.segment_bytes {
            let file = files.open(&path).map_err(|error| failed("open", &path, &error))?;
            spares.add(Spare { path, file, bytes });
        } else {
            files.remove(&path).map_err(|error| failed("remove", &path, &error))?;
        }
    }
    Ok(spares)
}
