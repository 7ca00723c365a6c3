//! Checking that the zones name the class of every job, so that lists find it.

use rota_model::{ClassId, Seq};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::internal_error::InternalError;
use crate::row;
use crate::zones::{ClassSet, LEVELS, zone_of};

pub(super) struct ZoneLookup<'c> {
    select_zone: CachedStatement<'c>,
    next_seq: Seq,
    /// The last zone read of each level, because most jobs are in the same zone as the previous one.
    zones: [Option<(i64, Option<ClassSet>)>; LEVELS],
}

impl<'c> ZoneLookup<'c> {
    pub(super) fn read(conn: &'c Connection, next_seq: Seq) -> Result<Self, InternalError> {
        let sql = "SELECT classes FROM zones WHERE level = ?1 AND zone = ?2";
        Ok(Self { select_zone: conn.prepare_cached(sql)?, next_seq, zones: Default::default() })
    }

    pub(super) fn has(&mut self, seq: Seq, class: ClassId) -> Result<bool, InternalError> {
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

    fn zone(&mut self, level: usize, zone: i64) -> Result<Option<&ClassSet>, InternalError> {
        let last = &mut self.zones[level];
        if last.as_ref().is_none_or(|(number, _)| *number != zone) {
            let classes = self.select_zone.query_row((level as i64, zone), |row| {
                Ok(ClassSet::read(row.get_ref(0)?.as_blob_or_null()?))
            });
            *last = Some((zone, classes.optional()?));
        }
        Ok(last.as_ref().and_then(|(_, classes)| classes.as_ref()))
    }
}
