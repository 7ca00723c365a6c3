//! A write-ahead log: what is read of it is compared with what was written, or with SQLite's own checksum.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi::SQLITE_OK;

use super::damaged;
use super::original::Original;
use crate::wal::{FRAME_HEADER, FrameHeader, Frames, WAL_HEADER, WalHeader, shared};
use crate::{Checks, Damage, Place};

pub(super) struct LogFile {
    path: PathBuf,
    checks: Checks,
    frames: Arc<Mutex<Frames>>,
}

/// A place in the log, relative to the frame that it is in.
struct InFrame {
    frame: u64,
    /// Bytes from the beginning of the frame.
    at: usize,
}

impl LogFile {
    pub fn new(path: PathBuf, checks: Checks) -> Self {
        Self { frames: shared(&path), path, checks }
    }

    pub fn read(&self, original: &Original, buffer: &mut [u8], offset: u64) -> c_int {
        let code = original.read(buffer, offset);
        if code != SQLITE_OK || !self.checks.wal || offset < WAL_HEADER as u64 {
            return code;
        }
        let Some(header) = self.header(original) else {
            return self.damaged(original, 0);
        };
        let place = in_frame(header, offset);
        match (place.at, buffer.len()) {
            (FRAME_HEADER, bytes) if bytes == header.page_bytes => {
                self.verify(original, place.frame, buffer)
            }
            // A part of a page: only before SQLite knows the size of a page.
            (FRAME_HEADER, bytes) if bytes < header.page_bytes => {
                let mut page = vec![0; header.page_bytes];
                match original.read(&mut page, offset) {
                    SQLITE_OK => self.verify(original, place.frame, &page),
                    code => code,
                }
            }
            (0, bytes) if bytes == header.frame_bytes() => {
                self.verify_known(original, header, place.frame, buffer)
            }
            _ => code,
        }
    }

    pub fn write(&self, original: &Original, bytes: &[u8], offset: u64) -> c_int {
        if offset == 0 {
            let header = <&[u8; WAL_HEADER]>::try_from(bytes).ok().and_then(WalHeader::parse);
            self.lock().restart(header);
            return original.write(bytes, offset);
        }
        let Some(header) = self.header(original) else { return original.write(bytes, offset) };
        let place = in_frame(header, offset);
        // Until it is written, nothing is known of it.
        self.lock().forget(place.frame);
        let code = original.write(bytes, offset);
        if code == SQLITE_OK && place.at == FRAME_HEADER && bytes.len() == header.page_bytes {
            self.lock().set(place.frame, bytes);
        }
        code
    }

    /// Compares a page with what was written, or else verifies its frame in the file.
    fn verify(&self, original: &Original, frame: u64, page: &[u8]) -> c_int {
        if self.lock().matches(frame, page) == Some(true) {
            return SQLITE_OK;
        }
        // Another process may have written the log, so the file's own header counts.
        let Some(header) = read_header(original) else { return self.damaged(original, frame) };
        if !is_valid_frame(original, header, frame, page) {
            return self.damaged(original, frame);
        }
        let mut frames = self.lock();
        frames.restart(Some(header));
        frames.set(frame, page);
        SQLITE_OK
    }

    /// SQLite reads whole frames when it recovers a log, which it verifies then, and when it computes the checksums of a
    /// transaction again. That would make a damaged page valid.
    fn verify_known(
        &self,
        original: &Original,
        header: WalHeader,
        frame: u64,
        bytes: &[u8],
    ) -> c_int {
        let (head, page) = bytes.split_at(FRAME_HEADER);
        let is_current = head[8..16] == header.salts;
        match self.lock().matches(frame, page) {
            Some(false) if is_current => self.damaged(original, frame),
            _ => SQLITE_OK,
        }
    }

    /// The header under which frames are known, which is read when it is needed first.
    fn header(&self, original: &Original) -> Option<WalHeader> {
        let mut frames = self.lock();
        if frames.header().is_none() {
            frames.restart(read_header(original));
        }
        frames.header()
    }

    fn damaged(&self, original: &Original, frame: u64) -> c_int {
        let page = match read_header(original) {
            Some(header) => read_frame_header(original, header, frame).map_or(0, |f| f.page()),
            None => 0,
        };
        let place = Place::Frame { frame: frame + 1, page };
        damaged(Damage { file: self.path.clone(), place })
    }

    fn lock(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_frame(header: WalHeader, offset: u64) -> InFrame {
    let relative = offset - WAL_HEADER as u64;
    let frame_bytes = header.frame_bytes() as u64;
    InFrame { frame: relative / frame_bytes, at: (relative % frame_bytes) as usize }
}

/// Whether the frame in the file fits the one before and this page.
fn is_valid_frame(original: &Original, header: WalHeader, frame: u64, page: &[u8]) -> bool {
    let before = match frame {
        0 => Some(header.chain()),
        frame => read_frame_header(original, header, frame - 1).map(|before| before.chain()),
    };
    let found = read_frame_header(original, header, frame);
    match (before, found) {
        (Some(before), Some(found)) => header.is_intact(before, &found, page),
        _ => false,
    }
}

fn read_header(original: &Original) -> Option<WalHeader> {
    let mut bytes = [0; WAL_HEADER];
    (original.read(&mut bytes, 0) == SQLITE_OK).then(|| WalHeader::parse(&bytes))?
}

fn read_frame_header(original: &Original, header: WalHeader, frame: u64) -> Option<FrameHeader> {
    let mut bytes = [0; FRAME_HEADER];
    let code = original.read(&mut bytes, header.offset(frame));
    (code == SQLITE_OK).then(|| FrameHeader::new(bytes))
}
