//! The newest zone of each level, which has no row yet and is kept in memory.

use rota_model::{ClassId, Seq};
use rusqlite::Connection;

use super::{ClassSet, LEVELS, below, first_in, last_in, zone_of};
use crate::internal_error::InternalError;
use crate::row::key;

pub(crate) struct OpenZones {
    levels: [OpenZone; LEVELS],
}

struct OpenZone {
    number: i64,
    classes: ClassSet,
}

impl OpenZones {
    /// The zones of an empty database.
    pub(super) fn first() -> Self {
        let open = |_| OpenZone { number: 0, classes: ClassSet::empty() };
        Self { levels: std::array::from_fn(open) }
    }

    /// Reads the zones of a database whose next sequence number is `next_seq`.
    pub(crate) fn read(conn: &Connection, next_seq: Seq) -> Result<Self, InternalError> {
        let mut zones = Self::first();
        for (level, open) in zones.levels.iter_mut().enumerate() {
            open.number = zone_of(level, key(next_seq));
            if level == 0 {
                read_jobs(conn, open)?;
            } else {
                read_below(conn, level, open)?;
            }
        }
        Ok(zones)
    }

    /// Records a new job.
    pub(crate) fn add_job(
        &mut self,
        conn: &Connection,
        key: i64,
        class: ClassId,
    ) -> Result<(), InternalError> {
        let zone = zone_of(0, key);
        if zone > self.levels[0].number {
            self.advance(conn, key)?;
        }
        if zone == self.levels[0].number {
            self.levels[0].classes.add(class);
            return Ok(());
        }
        self.add_late_job(conn, key, class)
    }

    /// Records that an existing job has another class now.
    pub(crate) fn change_class(
        &mut self,
        conn: &Connection,
        key: i64,
        class: ClassId,
    ) -> Result<(), InternalError> {
        let sql = "SELECT classes FROM zones WHERE level = ?1 AND zone = ?2";
        for (level, open) in self.levels.iter_mut().enumerate() {
            let zone = zone_of(level, key);
            if zone >= open.number {
                open.classes.add(class);
                continue;
            }
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query((level as i64, zone))?;
            let mut classes = match rows.next()? {
                None => ClassSet::empty(),
                Some(row) => {
                    let encoded = row.get_ref(0)?.as_blob_or_null();
                    ClassSet::read(encoded.map_err(rusqlite::Error::from)?)
                }
            };
            drop(rows);
            if !classes.has(class) {
                classes.add(class);
                put(conn, level, zone, &classes)?;
            }
        }
        Ok(())
    }

    /// Writes all zones before the one of `key`, the next sequence number to be assigned.
    pub(crate) fn advance(&mut self, conn: &Connection, key: i64) -> Result<(), InternalError> {
        for level in 0..LEVELS {
            let number = zone_of(level, key);
            if number <= self.levels[level].number {
                break;
            }
            let next = OpenZone { number, classes: ClassSet::empty() };
            let closed = std::mem::replace(&mut self.levels[level], next);
            if let Some(above) = self.levels.get_mut(level + 1) {
                above.classes.add_all(&closed.classes);
            }
            if !closed.classes.is_empty() && keep_or_prune(conn, level, closed.number)? {
                put(conn, level, closed.number, &closed.classes)?;
            }
        }
        Ok(())
    }

    /// Removes the rows of zones that have no jobs left. `deleted` is sorted. Rows are removed only
    /// when a zone of the second level is empty, because removing single rows would cost every commit
    /// another page.
    pub(crate) fn remove_jobs(
        &self,
        conn: &Connection,
        deleted: &[Seq],
    ) -> Result<(), InternalError> {
        let same_zone = |a: &Seq, b: &Seq| zone_of(1, key(*a)) == zone_of(1, key(*b));
        for seqs in deleted.chunk_by(same_zone) {
            for level in 1..LEVELS {
                let zone = zone_of(level, key(seqs[0]));
                if zone >= self.levels[level].number || keep_or_prune(conn, level, zone)? {
                    break;
                }
                let sql = "DELETE FROM zones WHERE level = ?1 AND zone = ?2";
                conn.prepare_cached(sql)?.execute((level as i64, zone))?;
            }
        }
        Ok(())
    }

    /// Records a job in a zone that was encoded already, which then may have any class. Sequence
    /// numbers are assigned in order, so this is rare.
    fn add_late_job(
        &mut self,
        conn: &Connection,
        key: i64,
        class: ClassId,
    ) -> Result<(), InternalError> {
        for (level, open) in self.levels.iter_mut().enumerate() {
            let zone = zone_of(level, key);
            if zone < open.number {
                put(conn, level, zone, &ClassSet::ANY)?;
            } else {
                open.classes.add(class);
            }
        }
        Ok(())
    }
}

fn read_jobs(conn: &Connection, open: &mut OpenZone) -> Result<(), InternalError> {
    let mut statement = conn.prepare(
        "SELECT class FROM live WHERE seq >= ?1 UNION SELECT class FROM done WHERE seq >= ?1",
    )?;
    let mut rows = statement.query([first_in(0, open.number)])?;
    while let Some(row) = rows.next()? {
        open.classes.add(ClassId(row.get(0)?));
    }
    Ok(())
}

fn read_below(conn: &Connection, level: usize, open: &mut OpenZone) -> Result<(), InternalError> {
    let mut statement =
        conn.prepare("SELECT classes FROM zones WHERE level = ?1 AND zone BETWEEN ?2 AND ?3")?;
    let (first, last) = below(open.number);
    let mut rows = statement.query((level as i64 - 1, first, last))?;
    while let Some(row) = rows.next()? {
        let encoded = row.get_ref(0)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        open.classes.add_all(&ClassSet::read(encoded));
    }
    Ok(())
}

/// Whether a complete zone needs its row. If a zone of the second level has no jobs left, removes the
/// rows below it.
fn keep_or_prune(conn: &Connection, level: usize, zone: i64) -> Result<bool, InternalError> {
    let (first, last) = below(zone);
    match level {
        0 => Ok(true),
        1 => {
            let sql = "SELECT 1 FROM jobs WHERE seq BETWEEN ?1 AND ?2 LIMIT 1";
            if conn.prepare_cached(sql)?.exists((first_in(1, zone), last_in(1, zone)))? {
                return Ok(true);
            }
            let sql = "DELETE FROM zones WHERE level = 0 AND zone BETWEEN ?1 AND ?2";
            conn.prepare_cached(sql)?.execute((first, last))?;
            Ok(false)
        }
        _ => {
            let sql = "SELECT 1 FROM zones WHERE level = ?1 AND zone BETWEEN ?2 AND ?3 LIMIT 1";
            Ok(conn.prepare_cached(sql)?.exists((level as i64 - 1, first, last))?)
        }
    }
}

fn put(
    conn: &Connection,
    level: usize,
    zone: i64,
    classes: &ClassSet,
) -> Result<(), InternalError> {
    let sql = "INSERT OR REPLACE INTO zones (level, zone, classes) VALUES (?1, ?2, ?3)";
    conn.prepare_cached(sql)?.execute((level as i64, zone, classes.write()))?;
    Ok(())
}
