//! A database file: pages are sealed when they are written and verified when they are read.

use std::ffi::c_int;
use std::path::PathBuf;

use rusqlite::ffi::{SQLITE_IOERR_SHORT_READ, SQLITE_OK};

use super::original::Original;
use super::{damaged, is_page_size};
use crate::checksum::{CHECKSUM_BYTES, is_intact, seal};
use crate::{Checks, Damage, Place};

pub(super) struct DatabaseFile {
    path: PathBuf,
    checks: Checks,
    /// The page that is being sealed: SQLite's own copy must not change.
    sealed: Vec<u8>,
}

impl DatabaseFile {
    pub fn new(path: PathBuf, checks: Checks) -> Self {
        Self { path, checks, sealed: Vec::new() }
    }

    /// Only whole pages are verified. SQLite reads a part of the header before it knows the size of a page; it reads the
    /// first page whole before it uses anything else.
    pub fn read(&self, original: &Original, buffer: &mut [u8], offset: u64) -> c_int {
        let code = original.read(buffer, offset);
        let Some(number) = page_number(buffer.len(), offset) else { return code };
        if !self.checks.pages {
            return code;
        }
        match code {
            SQLITE_OK if is_intact(buffer, self.checks.number(number)) => {
                // So that pages in the log do not depend on what was there.
                let end = buffer.len() - CHECKSUM_BYTES;
                buffer[end..].fill(0);
                SQLITE_OK
            }
            SQLITE_OK => self.damaged(Place::Page(number)),
            SQLITE_IOERR_SHORT_READ => self.damaged(Place::MissingPage(number)),
            code => code,
        }
    }

    pub fn write(&mut self, original: &Original, bytes: &[u8], offset: u64) -> c_int {
        let Some(number) = page_number(bytes.len(), offset) else {
            return original.write(bytes, offset);
        };
        let code = self.fill_gap(original, bytes.len(), offset);
        if code != SQLITE_OK {
            return code;
        }
        self.sealed.clear();
        self.sealed.extend_from_slice(bytes);
        self.write_sealed(original, number)
    }

    pub fn truncate(&mut self, original: &Original, size: u64) -> c_int {
        // The size of a page is known, because a file grows only after pages were written.
        if is_page_size(self.sealed.len()) {
            let code = self.fill_gap(original, self.sealed.len(), size);
            if code != SQLITE_OK {
                return code;
            }
        }
        original.truncate(size)
    }

    /// SQLite leaves holes where free pages are that it has never written. They get empty pages, so that a page of zeros
    /// is always damage.
    fn fill_gap(&mut self, original: &Original, page_bytes: usize, until: u64) -> c_int {
        let size = match original.size() {
            Ok(size) => size,
            Err(code) => return code,
        };
        let first = size.div_ceil(page_bytes as u64);
        for index in first..until / page_bytes as u64 {
            self.sealed.clear();
            self.sealed.resize(page_bytes, 0);
            let Some(number) = page_number(page_bytes, index * page_bytes as u64) else { break };
            let code = self.write_sealed(original, number);
            if code != SQLITE_OK {
                return code;
            }
        }
        SQLITE_OK
    }

    fn write_sealed(&mut self, original: &Original, number: u32) -> c_int {
        seal(&mut self.sealed, self.checks.number(number));
        original.write(&self.sealed, u64::from(number - 1) * self.sealed.len() as u64)
    }

    fn damaged(&self, place: Place) -> c_int {
        damaged(Damage { file: self.path.clone(), place })
    }
}

/// The number of the page, from 1, if so many bytes there are one.
fn page_number(bytes: usize, offset: u64) -> Option<u32> {
    if !is_page_size(bytes) || !offset.is_multiple_of(bytes as u64) {
        return None;
    }
    u32::try_from(offset / bytes as u64 + 1).ok()
}
