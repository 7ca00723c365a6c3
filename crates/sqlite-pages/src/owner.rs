//! What damaged pages held, as far as the pages that refer to them are sound.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::checksum::{CHECKSUM_BYTES, is_intact};
use crate::scan::page_bytes;

/// A table or an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// As in an error message, such as "table jobs".
    pub name: String,
    pub root: u32,
}

/// What a page belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub tree: String,
    /// If the page holds a part of one long row of a table: its key.
    pub row: Option<i64>,
}

/// Finds out what these pages belong to. Free pages, and pages that only damaged pages refer to, are left out. Pages that
/// are newer in the write-ahead log are not taken into account.
pub fn owners(path: &Path, trees: &[Tree], wanted: &[u32]) -> io::Result<BTreeMap<u32, Owner>> {
    let file = File::open(path)?;
    let Some(bytes) = page_bytes(&file)? else { return Ok(BTreeMap::new()) };
    let wanted = wanted.iter().copied().collect();
    let mut search = Search { file, bytes, wanted, found: BTreeMap::new(), seen: BTreeSet::new() };
    for tree in trees {
        search.walk(tree)?;
        if search.found.len() == search.wanted.len() {
            break;
        }
    }
    Ok(search.found)
}

struct Search {
    file: File,
    bytes: usize,
    wanted: BTreeSet<u32>,
    found: BTreeMap<u32, Owner>,
    /// Pages that were read: damage may make cycles.
    seen: BTreeSet<u32>,
}

/// See <https://www.sqlite.org/fileformat2.html#b_tree_pages>.
const INDEX_INTERIOR: u8 = 2;
const TABLE_INTERIOR: u8 = 5;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;

impl Search {
    fn walk(&mut self, tree: &Tree) -> io::Result<()> {
        let mut pages = vec![tree.root];
        while let Some(number) = pages.pop() {
            self.note(number, tree, None);
            let Some(page) = self.read(number)? else { continue };
            let start = if number == 1 { 100 } else { 0 };
            let Some(kind) = page.get(start).copied() else { continue };
            let is_interior = matches!(kind, INDEX_INTERIOR | TABLE_INTERIOR);
            if is_interior {
                pages.extend(number_at(&page, start + 8));
            }
            let cells = page
                .get(start + 3..start + 5)
                .map_or(0, |n| usize::from(n[0]) << 8 | usize::from(n[1]));
            let pointers = start + if is_interior { 12 } else { 8 };
            for cell in 0..cells {
                let at = pointers + 2 * cell;
                let Some(&[high, low]) = page.get(at..at + 2) else { break };
                let cell = usize::from(high) << 8 | usize::from(low);
                if is_interior {
                    pages.extend(number_at(&page, cell));
                }
                if let Some((first, row)) = self.overflow(kind, &page, cell) {
                    self.follow(first, tree, row)?;
                }
            }
        }
        Ok(())
    }

    /// The first overflow page of a cell, and the key of its row.
    fn overflow(&self, kind: u8, page: &[u8], cell: usize) -> Option<(u32, Option<i64>)> {
        let usable = self.bytes - CHECKSUM_BYTES;
        let begin = if kind == INDEX_INTERIOR { cell + 4 } else { cell };
        let (payload, after) = match kind {
            TABLE_LEAF | INDEX_LEAF | INDEX_INTERIOR => varint(page, begin)?,
            _ => return None,
        };
        let (row, content) = match kind {
            TABLE_LEAF => varint(page, after).map(|(key, after)| (Some(key as i64), after))?,
            _ => (None, after),
        };
        let payload = usize::try_from(payload).ok()?;
        let most = if kind == TABLE_LEAF { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if payload <= most {
            return None;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let part = least + (payload - least) % (usable - 4);
        let local = if part <= most { part } else { least };
        number_at(page, content + local).map(|first| (first, row))
    }

    fn follow(&mut self, first: u32, tree: &Tree, row: Option<i64>) -> io::Result<()> {
        let mut number = first;
        while number != 0 {
            self.note(number, tree, row);
            let Some(page) = self.read(number)? else { break };
            number = number_at(&page, 0).unwrap_or(0);
        }
        Ok(())
    }

    fn note(&mut self, number: u32, tree: &Tree, row: Option<i64>) {
        if self.wanted.contains(&number) {
            self.found.insert(number, Owner { tree: tree.name.clone(), row });
        }
    }

    /// The page; `None` if it is damaged or was read already.
    fn read(&mut self, number: u32) -> io::Result<Option<Vec<u8>>> {
        if number == 0 || !self.seen.insert(number) {
            return Ok(None);
        }
        let mut page = vec![0; self.bytes];
        match self.file.read_exact_at(&mut page, u64::from(number - 1) * self.bytes as u64) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(is_intact(&page, number).then_some(page)),
        }
    }
}

fn number_at(page: &[u8], at: usize) -> Option<u32> {
    let bytes = page.get(at..at + 4)?;
    Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// SQLite's variable-length number, and where it ends.
fn varint(page: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for index in 0..9 {
        let byte = *page.get(at + index)?;
        if index == 8 {
            return Some((value << 8 | u64::from(byte), at + 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at + index + 1));
        }
    }
    None
}
