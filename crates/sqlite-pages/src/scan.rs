//! Reading the pages of a database file directly, without SQLite.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::checksum::{CHECKSUM_BYTES, is_intact};

/// The size of a page, as the header of a file says.
pub type PageBytes = usize;

const HEADER: usize = 100;
const PAGE_SIZE_OFFSET: usize = 16;
const RESERVED_OFFSET: usize = 20;
/// SQLite never writes the page with this byte, which its locks use.
const LOCK_BYTE: u64 = 0x4000_0000;
/// So many pages tell whether a file has checksums, even if one of them is damaged.
const SAMPLE: u32 = 8;

/// Whether the pages of this file carry checksums. One damaged page, such as the first, does not hide that.
pub fn has_checksums(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    let mut header = [0; HEADER];
    match file.read_exact_at(&mut header, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    if usize::from(header[RESERVED_OFFSET]) == CHECKSUM_BYTES {
        return Ok(true);
    }
    let sizes = (9..=16).map(|exponent| 1 << exponent);
    for bytes in sizes {
        let mut page = vec![0; bytes];
        for number in 2..=SAMPLE {
            match file.read_exact_at(&mut page, u64::from(number - 1) * bytes as u64) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                read => read?,
            }
            if is_intact(&page, number) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The size of a page; `None` if the header is not one.
pub fn page_bytes(file: &File) -> io::Result<Option<PageBytes>> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0)?;
    let bytes = match [header[PAGE_SIZE_OFFSET], header[PAGE_SIZE_OFFSET + 1]] {
        [0, 1] => 65536,
        bytes => usize::from(u16::from_be_bytes(bytes)),
    };
    Ok((bytes.is_power_of_two() && bytes >= 512).then_some(bytes))
}

/// How often a page that a server may be writing is read again. On a busy disk, the system may hold up a write in the
/// middle of a page for a fifth of a second.
const TRIES: u32 = 50;
/// The same when this many pages are damaged already, so that a file that is all damaged does not take hours.
const MANY: usize = 10;
const FEW_TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The numbers of the pages that do not match their checksums, up to `limit`. A page that is newer in the write-ahead
/// log is checked all the same.
pub fn damaged_pages(path: &Path, limit: usize) -> io::Result<Vec<u32>> {
    let file = File::open(path)?;
    let Some(bytes) = page_bytes(&file)? else { return Ok(vec![1]) };
    let pages = file.metadata()?.len() / bytes as u64;
    let mut page = vec![0; bytes];
    let mut damaged = Vec::new();
    for index in 0..pages {
        let number = u32::try_from(index + 1).map_err(io::Error::other)?;
        if index == LOCK_BYTE / bytes as u64 {
            continue;
        }
        let tries = if damaged.len() < MANY { TRIES } else { FEW_TRIES };
        if !is_intact_at(&file, &mut page, number, tries)? {
            damaged.push(number);
            if damaged.len() == limit {
                break;
            }
        }
    }
    Ok(damaged)
}

fn is_intact_at(file: &File, page: &mut [u8], number: u32, tries: u32) -> io::Result<bool> {
    for attempt in 0..tries {
        if attempt > 0 {
            thread::sleep(BETWEEN_TRIES);
        }
        file.read_exact_at(page, u64::from(number - 1) * page.len() as u64)?;
        if is_intact(page, number) {
            return Ok(true);
        }
    }
    Ok(false)
}
