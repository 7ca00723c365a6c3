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
        // Several lines, for the trees below a heading.
        let text: String = row.get(0)?;
        for line in text.lines().filter(|line| *line != "ok" && !line.starts_with("***")) {
            damages.found(Rule::Structure, line);
        }
    }
    Ok(())
}
