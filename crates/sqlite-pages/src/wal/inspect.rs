//! What is behind the part of a write-ahead log that SQLite uses.
//!
//! SQLite recovers a log up to the last transaction before the first frame that is not valid, and takes the rest for the
//! remains of a crash. After a power cut that is right, because the log is synced only before a checkpoint. It is wrong
//! if a checkpoint has moved pages of the rest into the database file: the file would be a mixture of two states.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::format::{Chain, FRAME_HEADER, FrameHeader, WAL_HEADER, WalHeader};
use crate::checksum::CHECKSUM_BYTES;

/// What is behind the part of a log that SQLite uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalTail {
    /// Nothing, or the remains of a transaction that was not committed.
    Clean,
    /// Transactions that cannot be read, from this frame (counted from 1) on. The database file has nothing of them.
    Cut { frame: u64 },
    /// What is wrong with the log. The database file cannot be used with it, nor without it.
    Damaged(String),
}

/// Reads the log of this database. `first_pages` is the number of pages, from the first one on, of which every
/// transaction writes at least one with contents that it never had before. A checkpoint begins with them, so they show
/// whether there was one.
pub fn inspect_wal(database: &Path, first_pages: u32) -> io::Result<WalTail> {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(WalTail::Clean),
        opened => opened?,
    };
    let bytes = file.metadata()?.len();
    if bytes <= WAL_HEADER as u64 {
        return Ok(WalTail::Clean);
    }
    let mut header = [0; WAL_HEADER];
    file.read_exact_at(&mut header, 0)?;
    // The header is synced before the first frame is written.
    let Some(header) = WalHeader::parse(&header) else {
        return Ok(match is_zero(&file, bytes)? {
            true => WalTail::Clean,
            false => WalTail::Damaged("the header of the write-ahead log is damaged".to_owned()),
        });
    };
    let log = LogReader { file, header };
    for _ in 0..TRIES {
        let used = log.used(first_pages)?;
        let pages = FirstPages::read(database, first_pages, header.page_bytes)?;
        let tail = log.tail(&pages, &used)?;
        // What a running server has committed and moved meanwhile looks the same.
        if tail == WalTail::Clean || log.used(first_pages)?.committed == used.committed {
            return Ok(tail);
        }
    }
    Ok(WalTail::Clean)
}

/// How often a log that a server is writing at the moment is read.
const TRIES: u32 = 5;

struct LogReader {
    file: File,
    header: WalHeader,
}

/// The part that SQLite uses.
struct Used {
    /// The number of frames up to the last transaction.
    committed: u64,
    /// The checksum at its end.
    chain: Chain,
    /// The first frame that is not valid, counted from 0; the number of frames if all are.
    end: u64,
    frames: u64,
    /// Of the transactions before: what the first pages contained.
    pages: Vec<(u32, Vec<u8>)>,
}

impl LogReader {
    fn frame(&self, index: u64, page: &mut [u8]) -> io::Result<FrameHeader> {
        let mut head = [0; FRAME_HEADER];
        let offset = self.header.offset(index);
        self.file.read_exact_at(&mut head, offset)?;
        self.file.read_exact_at(page, offset + FRAME_HEADER as u64)?;
        Ok(FrameHeader::new(head))
    }

    fn used(&self, first_pages: u32) -> io::Result<Used> {
        let bytes = self.file.metadata()?.len().saturating_sub(WAL_HEADER as u64);
        let frames = bytes / self.header.frame_bytes() as u64;
        let mut chain = self.header.chain();
        let mut used = Used { committed: 0, chain, end: frames, frames, pages: Vec::new() };
        let mut uncommitted = Vec::new();
        let mut page = vec![0; self.header.page_bytes];
        for index in 0..frames {
            let frame = self.frame(index, &mut page)?;
            if !self.header.is_intact(chain, &frame, &page) {
                used.end = index;
                break;
            }
            chain = frame.chain();
            if frame.page() <= first_pages {
                uncommitted.push((frame.page(), without_checksum(&page)));
            }
            if frame.is_commit() {
                (used.committed, used.chain) = (index + 1, chain);
                used.pages.append(&mut uncommitted);
                // Only the last contents of a page are in the database file.
                used.pages.reverse();
                let mut seen = HashSet::new();
                used.pages.retain(|(number, _)| seen.insert(*number));
            }
        }
        Ok(used)
    }

    fn tail(&self, database: &FirstPages, used: &Used) -> io::Result<WalTail> {
        let mut before = Some(used.chain);
        let mut page = vec![0; self.header.page_bytes];
        let mut has_commit = false;
        for index in used.committed..used.frames {
            let frame = self.frame(index, &mut page)?;
            let is_intact =
                before.is_some_and(|before| self.header.is_intact(before, &frame, &page));
            has_commit |= is_intact && frame.is_commit();
            if let Some(number) = self.moved(before, &frame, &page, database, used) {
                let cause = format!(
                    "frame {} of the write-ahead log is damaged, and a checkpoint has moved later pages, such as page \
                     {number}, into the database file",
                    used.end + 1
                );
                return Ok(WalTail::Damaged(cause));
            }
            before = (frame.salts() == self.header.salts).then(|| frame.chain());
        }
        Ok(if has_commit { WalTail::Cut { frame: used.end + 1 } } else { WalTail::Clean })
    }

    /// The number of a page that the database file has as in this frame and not from an earlier one. The page in the frame
    /// may be damaged, or its header: then the page in the file is what the frame's checksum asks for, or what is in the
    /// frame. `before` is the checksum before the frame, if that is of this use of the log.
    fn moved(
        &self,
        before: Option<Chain>,
        frame: &FrameHeader,
        page: &[u8],
        database: &FirstPages,
        used: &Used,
    ) -> Option<u32> {
        let is_current = frame.salts() == self.header.salts;
        let page = without_checksum(page);
        let is_same = |content: &[u8]| {
            is_current && page == content
                || before.is_some_and(|before| self.header.follows(before, frame, content))
        };
        (1..).zip(&database.pages).find_map(|(number, content)| {
            let is_explained =
                || used.pages.iter().any(|(of, used)| *of == number && used == content);
            (is_same(content) && !is_explained()).then_some(number)
        })
    }
}

/// The first pages of the database file, without their checksums.
struct FirstPages {
    pages: Vec<Vec<u8>>,
}

impl FirstPages {
    fn read(database: &Path, count: u32, page_bytes: usize) -> io::Result<Self> {
        let file = File::open(database)?;
        let mut pages = Vec::new();
        for index in 0..u64::from(count) {
            let mut page = vec![0; page_bytes];
            match file.read_exact_at(&mut page, index * page_bytes as u64) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                read => read?,
            }
            pages.push(without_checksum(&page));
        }
        Ok(Self { pages })
    }
}

/// The bytes of the checksum are zero in the log, as SQLite sees them.
fn without_checksum(page: &[u8]) -> Vec<u8> {
    let mut page = page.to_vec();
    let end = page.len() - CHECKSUM_BYTES;
    page[end..].fill(0);
    page
}

fn is_zero(file: &File, bytes: u64) -> io::Result<bool> {
    let mut buffer = vec![0; 64 << 10];
    let mut offset = 0;
    while offset < bytes {
        let wanted = buffer.len().min(usize::try_from(bytes - offset).unwrap_or(usize::MAX));
        file.read_exact_at(&mut buffer[..wanted], offset)?;
        if buffer[..wanted].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += wanted as u64;
    }
    Ok(true)
}
