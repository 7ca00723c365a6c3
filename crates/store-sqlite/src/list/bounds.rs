//! The range of sequence numbers that a query can match.
//!
//! Creation times grow with sequence numbers, so a range of times is a range of numbers, and a binary
//! search finds it without reading every row.

use rota_model::{Millis, Seq};
use rota_store::{ListQuery, Order};
use rusqlite::{CachedStatement, Connection};

use crate::internal_error::InternalError;
use crate::row;

/// A range of sequence numbers, with both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Bounds {
    /// The bounds of a query; `None` if it cannot match anything.
    pub(super) fn of(
        conn: &Connection,
        query: &ListQuery,
    ) -> Result<Option<Bounds>, InternalError> {
        let mut bounds = Bounds { low: 0, high: i64::MAX };
        if let Some(since) = query.since {
            match first_created_from(conn, since)? {
                None => return Ok(None),
                Some(first) => bounds.low = first,
            }
        }
        // A job is created before it is discarded.
        let discarded_until = query.dead.as_ref().and_then(|dead| dead.until);
        let until = match (query.until, discarded_until) {
            (Some(created), Some(discarded)) => Some(created.min(discarded)),
            (created, discarded) => created.or(discarded),
        };
        if let Some(until) = until
            && let Some(first) = first_created_from(conn, until)?
        {
            bounds.high = first.saturating_sub(1);
        }
        if let Some(after) = query.after {
            bounds.continue_after(after, query.order);
        }
        Ok(Some(bounds).filter(|bounds| bounds.low <= bounds.high))
    }

    pub(super) fn contains(self, key: i64) -> bool {
        (self.low..=self.high).contains(&key)
    }

    /// The rest of this range from the start of `part` on.
    pub(super) fn rest_from(self, part: Bounds, order: Order) -> Bounds {
        match order {
            Order::OldestFirst => Bounds { low: self.low.max(part.low), ..self },
            Order::NewestFirst => Bounds { high: self.high.min(part.high), ..self },
        }
    }

    /// The number just before this range in the given order.
    pub(super) fn just_before(self, order: Order) -> i64 {
        match order {
            Order::OldestFirst => self.low.saturating_sub(1),
            Order::NewestFirst => self.high.saturating_add(1),
        }
    }

    fn continue_after(&mut self, after: Seq, order: Order) {
        let after = row::key(after);
        match order {
            Order::OldestFirst => self.low = self.low.max(after.saturating_add(1)),
            Order::NewestFirst => self.high = self.high.min(after.saturating_sub(1)),
        }
    }
}

/// Sequence number of the first job created at this time or later.
fn first_created_from(conn: &Connection, time: Millis) -> Result<Option<i64>, InternalError> {
    let ends = conn
        .prepare_cached("SELECT (SELECT min(seq) FROM jobs), (SELECT max(seq) FROM jobs)")?
        .query_row([], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?)))?;
    let (Some(mut low), Some(mut high)) = ends else {
        return Ok(None);
    };
    let mut job_from =
        conn.prepare_cached("SELECT seq, created FROM jobs WHERE seq >= ?1 ORDER BY seq LIMIT 1")?;
    let mut first = None;
    while low <= high {
        let middle = low + (high - low) / 2;
        let (key, created) = job_at(&mut job_from, middle)?;
        if created >= time.0 {
            first = Some(key);
            high = middle - 1;
        } else {
            low = key.saturating_add(1);
            if key == i64::MAX {
                break;
            }
        }
    }
    Ok(first)
}

fn job_at(job_from: &mut CachedStatement<'_>, key: i64) -> Result<(i64, i64), InternalError> {
    Ok(job_from.query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))?)
}
