//! Finding out what damaged pages held.

use std::fs;

use rota_sqlite_pages::{Tree, damaged_pages, owners, register};
use rusqlite::Connection;

use crate::database::open;
use crate::image::{Image, PAGE};

fn trees(conn: &Connection) -> Vec<Tree> {
    let sql = "SELECT type || ' ' || name, rootpage FROM sqlite_schema WHERE rootpage > 0";
    let mut rows = conn.prepare(sql).unwrap();
    let rows = rows.query_map([], |row| Ok(Tree { name: row.get(0)?, root: row.get(1)? })).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Each page is damaged in turn, and its owner is found, unless it is free.
#[test]
fn every_page_that_is_not_free_has_an_owner() {
    let vfs = register().unwrap();
    let image = Image::closed(vfs);
    let directory = tempfile::tempdir().unwrap();
    let path = image.write(&directory);
    let conn = open(&path, vfs).unwrap();
    let trees = trees(&conn);
    let count =
        |pragma| -> i64 { conn.pragma_query_value(None, pragma, |row| row.get(0)).unwrap() };
    let (pages, free) = (count("page_count"), count("freelist_count"));
    drop(conn);
    let (mut owned, mut rows) = (0, 0);
    for page in 1..pages as usize {
        let mut bytes = image.database.clone();
        bytes[page * PAGE + 77] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let damaged = damaged_pages(&path, 10).unwrap();
        assert_eq!(damaged, [page as u32 + 1]);
        let found = owners(&path, &trees, &damaged).unwrap();
        owned += found.len();
        rows += found.values().filter(|owner| owner.row.is_some_and(|row| row % 15 == 0)).count();
    }
    assert_eq!(owned as i64, pages - 1 - free, "all but the first page, which was not damaged");
    assert!(rows > 10, "{rows} pages of long rows");
}
