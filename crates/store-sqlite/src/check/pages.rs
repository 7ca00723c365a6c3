//! The checksums of all pages, also of those that SQLite does not use at the moment, and the write-ahead log.

use rota_sqlite_pages::{WalTail, damaged_pages, inspect_wal};

use super::damage::{Damages, Rule};
use crate::Snapshot;
use crate::internal_error::InternalError;
use crate::open::FIRST_PAGES;
use crate::page_kind::PageKind;

/// A damaged disk may have damaged very many pages.
const MAX_PAGES: usize = 1000;

pub(super) fn check(snapshot: &Snapshot, damages: &mut Damages) -> Result<(), InternalError> {
    if snapshot.pages() == PageKind::Plain {
        return Ok(());
    }
    let pages = damaged_pages(snapshot.path(), MAX_PAGES).map_err(unreadable)?;
    for number in pages {
        damages.found(Rule::Page, format!("page {number}"));
    }
    match inspect_wal(snapshot.path(), FIRST_PAGES).map_err(unreadable)? {
        WalTail::Clean => {}
        WalTail::Cut { frame } => {
            damages.found(Rule::WriteAheadLog, format!("from frame {frame} on"));
        }
        WalTail::Damaged(cause) => damages.found(Rule::Structure, cause),
    }
    Ok(())
}

fn unreadable(error: std::io::Error) -> InternalError {
    InternalError::Corrupt(format!("the file cannot be read: {error}"))
}
