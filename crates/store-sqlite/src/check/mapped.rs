//! Whether lists find a job: what the zones tell, for jobs in the order of their numbers.

use rota_model::{ClassId, Seq};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::fault::Fault;
use crate::row;
use crate::zones::{ClassSet, LEVELS, zone_of};

pub(super) struct Mapped<'c> {
    told: CachedStatement<'c>,
    next_seq: Seq,
    /// What was read last, for each level: most jobs are in the zone of the one before.
    zones: [Option<(i64, Option<ClassSet>)>; LEVELS],
}

impl<'c> Mapped<'c> {
    pub(super) fn read(conn: &'c Connection, next_seq: Seq) -> Result<Self, Fault> {
        let sql = "SELECT classes FROM zones WHERE level = ?1 AND zone = ?2";
        Ok(Self { told: conn.prepare_cached(sql)?, next_seq, zones: Default::default() })
    }

    pub(super) fn has(&mut self, seq: Seq, class: ClassId) -> Result<bool, Fault> {
        for level in 0..LEVELS {
            let zone = zone_of(level, row::key(seq));
            if zone >= zone_of(level, row::key(self.next_seq)) {
                return Ok(true);
            }
            if !self.zone(level, zone)?.is_some_and(|classes| classes.has(class)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn zone(&mut self, level: usize, zone: i64) -> Result<Option<&ClassSet>, Fault> {
        let last = &mut self.zones[level];
        if last.as_ref().is_none_or(|(number, _)| *number != zone) {
            let told = self.told.query_row((level as i64, zone), |row| {
                Ok(ClassSet::read(row.get_ref(0)?.as_blob_or_null()?))
            });
            *last = Some((zone, told.optional()?));
        }
        Ok(last.as_ref().and_then(|(_, classes)| classes.as_ref()))
    }
}
