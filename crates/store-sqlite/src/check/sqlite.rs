//! SQLite's opinion.

use rusqlite::Connection;

use super::Depth;
use super::damage::{Damages, Rule};
use crate::fault::Fault;

/// One damaged page can give rise to very many lines.
const MOST_LINES: u32 = 100;

pub(super) fn check(conn: &Connection, depth: Depth, damages: &mut Damages) -> Result<(), Fault> {
    let pragma = match depth {
        Depth::Quick => "quick_check",
        Depth::Full => "integrity_check",
    };
    let mut statement = conn.prepare(&format!("PRAGMA {pragma}({MOST_LINES})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            damages.found(Rule::Structure, line.trim_start_matches("*** in database main ***\n"));
        }
    }
    Ok(())
}
