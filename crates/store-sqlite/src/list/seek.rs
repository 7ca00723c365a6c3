//! Where the next jobs of some classes may be.

use rota_model::ClassId;
use rota_store::Order;
use rusqlite::Connection;

use super::bounds::Bounds;
use super::effort::Effort;
use crate::fault::Fault;
use crate::zones::{self, Piece};
use crate::{load, row};

pub(super) struct Seeker<'a> {
    conn: &'a Connection,
    classes: &'a [ClassId],
    order: Order,
    /// The zone that has no row yet.
    open: i64,
}

pub(super) enum Sought {
    /// Here; nothing lies between the place that was asked for and this.
    In(Bounds),
    /// Not up to this number, which took as long as it may.
    NotUpTo(i64),
}

impl<'a> Seeker<'a> {
    pub(super) fn new(
        conn: &'a Connection,
        classes: &'a [ClassId],
        order: Order,
    ) -> Result<Self, Fault> {
        let open = zones::zone_of(0, row::key(load::meta(conn)?.next_seq));
        Ok(Self { conn, classes, order, open })
    }

    /// The first zone from this number on that may have jobs of the classes; `None` when there is
    /// none within the bounds.
    pub(super) fn seek(
        &self,
        from: i64,
        bounds: Bounds,
        effort: &mut Effort,
    ) -> Result<Option<Sought>, Fault> {
        let newest = Bounds { low: zones::first_in(0, self.open), high: i64::MAX };
        let newest_wanted = bounds.high >= newest.low;
        let (low, high) = match self.order {
            Order::OldestFirst => (from, bounds.high),
            Order::NewestFirst if from >= newest.low => return Ok(Some(Sought::In(newest))),
            Order::NewestFirst => (bounds.low, from),
        };
        let last = zones::zone_of(0, high).min(self.open - 1);
        let mut pieces = zones::cover(zones::zone_of(0, low), last);
        if self.order == Order::NewestFirst {
            pieces.reverse();
        }
        for piece in pieces {
            if let Some(sought) = self.search(piece, effort)? {
                return Ok(Some(sought));
            }
        }
        let rest = self.order == Order::OldestFirst && newest_wanted;
        Ok(rest.then_some(Sought::In(newest)))
    }

    fn search(&self, piece: Piece, effort: &mut Effort) -> Result<Option<Sought>, Fault> {
        let direction = match self.order {
            Order::OldestFirst => "ASC",
            Order::NewestFirst => "DESC",
        };
        let Piece { level, first, last } = piece;
        // A statement for each level: they are used one inside the other, and kept for the next time.
        let mut statement = self.conn.prepare_cached(&format!(
            "SELECT zone, classes FROM zones WHERE level = {level} AND zone BETWEEN ?1 AND ?2 \
             ORDER BY zone {direction}"
        ))?;
        let mut rows = statement.query((first, last))?;
        while let Some(row) = rows.next()? {
            let zone = row.get(0)?;
            let bounds =
                Bounds { low: zones::first_in(level, zone), high: zones::last_in(level, zone) };
            if effort.is_over() {
                return Ok(Some(Sought::NotUpTo(bounds.just_before(self.order))));
            }
            let written = row.get_ref(1)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
            if zones::meets(written, self.classes) {
                if level == 0 {
                    return Ok(Some(Sought::In(bounds)));
                }
                let (first, last) = zones::below(zone);
                let found = self.search(Piece { level: level - 1, first, last }, effort)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            effort.pass_zone(written.map_or(0, <[u8]>::len));
        }
        Ok(None)
    }
}
