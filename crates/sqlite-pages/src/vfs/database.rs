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
        self.sealed.clear();
        self.sealed.extend_from_slice(bytes);
        seal(&mut self.sealed, self.checks.number(number));
        original.write(&self.sealed, offset)
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
