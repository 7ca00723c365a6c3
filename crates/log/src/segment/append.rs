//! Appending records and marks.

use std::io;
use std::path::Path;

use super::block::{BLOCK, BlockHead, Kind, seal};
use super::directory::path_of;
use super::header::SegmentHead;
use super::name::SegmentName;
use super::options::Durability;
use super::record::{MAX_PAYLOAD, Slot, VERSION, blocks, encode};
use super::segment_log::{Current, Segment, SegmentLog};
use super::spares::Spare;
use crate::files::{FileHandle, Files, is_full, write_all};
use crate::{AppendError, Entry, Tip};

/// The size of a segment on a disk that is nearly full, in bytes.
const SHORT_SEGMENT: u64 = 256 << 10;

impl<F: Files> SegmentLog<F> {
    pub(super) fn append_entry(&mut self, entry: &Entry) -> Result<(), AppendError> {
        self.check_usable()?;
        self.check_follows(entry)?;
        // One block is kept free for the mark.
        let needed = blocks(entry.payload.len()) + 1;
        let fits = self.current.as_ref().is_some_and(|current| {
            current.term == entry.term
                && u64::from(current.end) + needed <= u64::from(current.blocks)
        });
        let checksum =
            if fits { self.append_to_current(entry)? } else { self.begin_segment(entry, needed)? };
        self.tip = Tip { index: entry.index, term: entry.term, checksum };
        Ok(())
    }

    pub(super) fn append_mark(&mut self) -> Result<(), AppendError> {
        self.check_usable()?;
        let Some(current) = self.current.as_mut().filter(|current| !current.settled) else {
            return Ok(());
        };
        let head = BlockHead {
            salt: current.salt,
            index: self.tip.index,
            position: current.end,
            number: 0,
            attempt: 0,
            kind: Kind::Mark,
        };
        self.buffer.clear();
        self.buffer.resize(BLOCK, 0);
        seal(&mut self.buffer, &head);
        let written = write_and_sync(current, &self.buffer, self.options.durability);
        if written.is_ok() {
            current.end += 1;
            current.settled = true;
        }
        self.outcome(written)
    }

    fn append_to_current(&mut self, entry: &Entry) -> Result<u64, AppendError> {
        let current = self.current.as_mut().expect("the entry fits into the current segment");
        let slot = Slot { salt: current.salt, position: current.end, attempt: self.rng.u32(1..) };
        self.buffer.clear();
        let checksum = encode(entry, self.tip.checksum, slot, &mut self.buffer);
        let written = write_and_sync(current, &self.buffer, self.options.durability);
        if written.is_ok() {
            current.end += (self.buffer.len() / BLOCK) as u32;
            current.settled = false;
        }
        self.outcome(written)?;
        Ok(checksum)
    }

    /// Writes header and record into a spare file, and then gives it its name.
    fn begin_segment(&mut self, entry: &Entry, needed: u64) -> Result<u64, AppendError> {
        let needed = (needed + 1) * BLOCK as u64;
        let spare = match self.take_spare(needed) {
            Ok(spare) => spare,
            Err(error) => return self.outcome(Err(Failure::Write(error))).map(|()| 0),
        };
        let name = SegmentName { first: entry.index, term: entry.term };
        let salt = self.rng.u64(1..);
        self.buffer.clear();
        let header = SegmentHead {
            version: VERSION,
            salt,
            first: entry.index,
            term: entry.term,
            previous_term: self.tip.term,
            previous: self.tip.checksum,
        };
        header.encode(&mut self.buffer);
        let slot = Slot { salt, position: 1, attempt: self.rng.u32(1..) };
        let checksum = encode(entry, self.tip.checksum, slot, &mut self.buffer);
        let written = self.write_and_name(&spare, name);
        if written.is_err() {
            self.spares.add(spare);
            return self.outcome(written).map(|()| 0);
        }
        self.segments.push(Segment { name, bytes: spare.bytes });
        self.current = Some(Current {
            file: spare.file,
            term: entry.term,
            salt,
            end: (self.buffer.len() / BLOCK) as u32,
            blocks: u32::try_from(spare.bytes / BLOCK as u64).unwrap_or(u32::MAX),
            settled: false,
        });
        self.order_spare();
        // A buffer that a large record has grown is not kept.
        self.buffer.shrink_to(1 << 20);
        Ok(checksum)
    }

    /// A spare for at least `needed` bytes. On a disk that has no room for a whole segment it is a short one, and
    /// in the end one for this record alone.
    fn take_spare(&mut self, needed: u64) -> io::Result<Spare<F::File>> {
        let usual = self.next_segment_bytes();
        let mut taken = self.spares.take(needed.max(usual));
        for bytes in [usual.min(SHORT_SEGMENT), 0] {
            match taken {
                Err(error) if is_full(&error) => taken = self.spares.take(needed.max(bytes)),
                other => return other,
            }
        }
        taken
    }

    fn write_and_name(&self, spare: &Spare<F::File>, name: SegmentName) -> Result<(), Failure> {
        write_all(&spare.file, &self.buffer, 0).map_err(Failure::Write)?;
        let sync = self.options.durability == Durability::Fsync;
        if sync {
            spare.file.sync_data().map_err(Failure::Sync)?;
        }
        let path = path_of(&self.directory, name);
        self.files.rename(&spare.path, &path).map_err(Failure::Write)?;
        if sync {
            self.files.sync_dir(&self.directory).map_err(Failure::Sync)?;
            // The directory itself may be new.
            if let Some(parent) = self.directory.parent().filter(|_| self.segments.is_empty()) {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                self.files.sync_dir(parent).map_err(Failure::Sync)?;
            }
        }
        Ok(())
    }

    /// Has the next segment prepared. The first one is needed at once, and is synced when it is used.
    pub(super) fn order_spare(&mut self) {
        let sync = self.options.durability == Durability::Fsync && !self.segments.is_empty();
        self.spares.order(self.next_segment_bytes(), sync);
    }

    fn next_segment_bytes(&self) -> u64 {
        let options = &self.options;
        if self.segments.is_empty() { options.first_segment_bytes } else { options.segment_bytes }
    }

    pub(super) fn check_usable(&self) -> Result<(), AppendError> {
        match &self.broken {
            Some(reason) => Err(AppendError::Fatal(reason.clone())),
            None => Ok(()),
        }
    }

    fn check_follows(&self, entry: &Entry) -> Result<(), AppendError> {
        let Tip { index, term, .. } = self.tip;
        if entry.index != index + 1 || entry.term < term {
            return Err(AppendError::Refused(format!(
                "record {} of term {} does not follow record {index} of term {term}",
                entry.index, entry.term
            )));
        }
        if entry.payload.len() > MAX_PAYLOAD {
            return Err(AppendError::Refused(format!(
                "a record of {} bytes is longer than {MAX_PAYLOAD}",
                entry.payload.len()
            )));
        }
        Ok(())
    }

    /// A full disk changes nothing. After any other failure the outcome is unknown.
    fn outcome(&mut self, written: Result<(), Failure>) -> Result<(), AppendError> {
        let error = match written {
            Ok(()) => return Ok(()),
            Err(Failure::Write(error)) if is_full(&error) => {
                return Err(AppendError::Full(format!("the log: {error}")));
            }
            Err(Failure::Write(error)) => format!("cannot write to the log: {error}"),
            Err(Failure::Sync(error)) => format!("cannot sync the log: {error}"),
        };
        self.broken = Some(error.clone());
        Err(AppendError::Fatal(error))
    }
}

/// What failed. After a failed sync nobody knows what is on the disk, so it is never repeated.
enum Failure {
    Write(io::Error),
    Sync(io::Error),
}

fn write_and_sync<H: FileHandle>(
    current: &Current<H>,
    buffer: &[u8],
    durability: Durability,
) -> Result<(), Failure> {
    let offset = u64::from(current.end) * BLOCK as u64;
    write_all(&current.file, buffer, offset).map_err(Failure::Write)?;
    match durability {
        Durability::Fsync => current.file.sync_data().map_err(Failure::Sync),
        Durability::Os => Ok(()),
    }
}
