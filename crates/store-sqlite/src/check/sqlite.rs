//! SQLite's own integrity check.

use rusqlite::Connection;

use super::Depth;
use super::damage::{Damages, Rule};
use crate::internal_error::InternalError;

/// Maximum number of messages; one damaged page can cause very many.
const MAX_MESSAGES: u32 = 100;

pub(super) fn check(
    conn: &Connection,
    depth: Depth,
    damages: &mut Damages,
) -> Result<(), InternalError> {
    let pragma = match depth {
        Depth::Quick => "quick_check",
        Depth::Full => "integrity_check",
    };
    let mut statement = conn.prepare(&format!("PRAGMA {pragma}({MAX_MESSAGES})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // A message may have several lines: a heading and one line per B-tree.
        let text: String = row.get(0)?;
        for line in text.lines().filter(|line| *line != "ok" && !line.starts_with("***")) {
            damages.found(Rule::Structure, line);
        }
    }
    Ok(())
}
