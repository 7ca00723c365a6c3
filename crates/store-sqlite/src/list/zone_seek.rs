//! Finding the next zone that may have jobs of the listed classes.

use rota_model::ClassId;
use rota_store::Order;
use rusqlite::Connection;

use super::bounds::Bounds;
use super::scan_budget::ScanBudget;
use crate::internal_error::InternalError;
use crate::zones::{self, ZoneRange};
use crate::{load, row};

pub(super) struct Seeker<'a> {
    conn: &'a Connection,
    classes: &'a [ClassId],
    order: Order,
    /// The newest zone, which has no row yet.
    open_zone: i64,
}

pub(super) enum SeekResult {
    /// The sequence numbers of the next zone that may have matching jobs.
    Zone(Bounds),
    /// The budget is exhausted. No job up to this number matches.
    OutOfBudget(i64),
}

impl<'a> Seeker<'a> {
    pub(super) fn new(
        conn: &'a Connection,
        classes: &'a [ClassId],
        order: Order,
    ) -> Result<Self, InternalError> {
        let open_zone = zones::zone_of(0, row::key(load::meta(conn)?.next_seq));
        Ok(Self { conn, classes, order, open_zone })
    }

    /// Finds the first zone, from the number `from` on, that may have jobs of the classes. Returns
    /// `None` if there is none within the bounds.
    pub(super) fn seek(
        &self,
        from: i64,
        bounds: Bounds,
        budget: &mut ScanBudget,
    ) -> Result<Option<SeekResult>, InternalError> {
        let newest = Bounds { low: zones::first_in(0, self.open_zone), high: i64::MAX };
        let includes_newest = bounds.high >= newest.low;
        let (low, high) = match self.order {
            Order::OldestFirst => (from, bounds.high),
            Order::NewestFirst if from >= newest.low => return Ok(Some(SeekResult::Zone(newest))),
            Order::NewestFirst => (bounds.low, from),
        };
        let last = zones::zone_of(0, high).min(self.open_zone - 1);
        let mut ranges = zones::cover(zones::zone_of(0, low), last);
        if self.order == Order::NewestFirst {
            ranges.reverse();
        }
        for range in ranges {
            if let Some(result) = self.search(range, budget)? {
                return Ok(Some(result));
            }
        }
        let ends_with_newest = self.order == Order::OldestFirst && includes_newest;
        Ok(ends_with_newest.then_some(SeekResult::Zone(newest)))
    }

    fn search(
        &self,
        range: ZoneRange,
        budget: &mut ScanBudget,
    ) -> Result<Option<SeekResult>, InternalError> {
        let direction = match self.order {
            Order::OldestFirst => "ASC",
            Order::NewestFirst => "DESC",
        };
        let ZoneRange { level, first, last } = range;
        // The level is part of the SQL, so that each level has its own cached statement: `search`
        // calls itself for the level below while this statement is in use.
        let mut statement = self.conn.prepare_cached(&format!(
            "SELECT zone, classes FROM zones WHERE level = {level} AND zone BETWEEN ?1 AND ?2 \
             ORDER BY zone {direction}"
        ))?;
        let mut rows = statement.query((first, last))?;
        while let Some(row) = rows.next()? {
            let zone = row.get(0)?;
            let bounds =
                Bounds { low: zones::first_in(level, zone), high: zones::last_in(level, zone) };
            if budget.is_exhausted() {
                return Ok(Some(SeekResult::OutOfBudget(bounds.just_before(self.order))));
            }
            let encoded = row.get_ref(1)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
            if zones::intersects(encoded, self.classes) {
                if level == 0 {
                    return Ok(Some(SeekResult::Zone(bounds)));
                }
                let (first, last) = zones::below(zone);
                let found = self.search(ZoneRange { level: level - 1, first, last }, budget)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            budget.charge_zone(encoded.map_or(0, <[u8]>::len));
        }
        Ok(None)
    }
}
