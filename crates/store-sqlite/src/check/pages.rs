//! The checksums of all pages, also of those that SQLite does not use at the moment, and the write-ahead log.

use std::collections::BTreeMap;

use rota_sqlite_pages::{Owner, Tree, WalTail, damaged_pages, inspect_wal, owners};
use rusqlite::Row;

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
    let owners = match pages.is_empty() {
        true => BTreeMap::new(),
        false => owners(snapshot.path(), &trees(snapshot).unwrap_or_default(), &pages)
            .map_err(unreadable)?,
    };
    for number in pages {
        damages.found(Rule::Page, describe(number, owners.get(&number)));
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

/// The tables and indexes.
fn trees(snapshot: &Snapshot) -> Result<Vec<Tree>, InternalError> {
    let sql = "SELECT type, name, rootpage FROM sqlite_schema WHERE rootpage > 0";
    let mut statement = snapshot.conn().prepare(sql)?;
    let tree = |row: &Row<'_>| {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(Tree { name: format!("{kind} {name}"), root: row.get(2)? })
    };
    let trees = statement.query_map([], tree)?;
    Ok(trees.collect::<rusqlite::Result<_>>()?)
}

fn describe(number: u32, owner: Option<&Owner>) -> String {
    match owner {
        Some(Owner { tree, row: Some(row) }) => format!("page {number} ({tree}, row {row})"),
        Some(Owner { tree, row: None }) => format!("page {number} ({tree})"),
        None => format!("page {number} (unused, or unknown)"),
    }
}

fn unreadable(error: std::io::Error) -> InternalError {
    InternalError::Corrupt(format!("the file cannot be read: {error}"))
}
