//! From times to sequence numbers: both grow together, so a range of the one is a range of the
//! other, and finding it takes a handful of lookups instead of a filter over every row.

use rota_model::{Millis, Seq};
use rota_store::{ListQuery, Order};
use rusqlite::{CachedStatement, Connection};

use crate::fault::Fault;
use crate::row;

/// Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) low: i64,
    pub(super) high: i64,
}

/// `None` when nothing can lie between.
pub(super) fn of(conn: &Connection, query: &ListQuery) -> Result<Option<Bounds>, Fault> {
    let mut bounds = Bounds { low: 0, high: i64::MAX };
    if let Some(since) = query.since {
        match first_created_from(conn, since)? {
            None => return Ok(None),
            Some(first) => bounds.low = first,
        }
    }
    if let Some(until) = query.until
        && let Some(first) = first_created_from(conn, until)?
    {
        bounds.high = first.saturating_sub(1);
    }
    if let Some(after) = query.after {
        bounds.go_on_behind(after, query.order);
    }
    Ok(Some(bounds).filter(|bounds| bounds.low <= bounds.high))
}

impl Bounds {
    pub(super) fn contains(self, key: i64) -> bool {
        (self.low..=self.high).contains(&key)
    }

    /// What is left of this from the beginning of a part of it on.
    pub(super) fn rest_from(self, part: Bounds, order: Order) -> Bounds {
        match order {
            Order::OldestFirst => Bounds { low: self.low.max(part.low), ..self },
            Order::NewestFirst => Bounds { high: self.high.min(part.high), ..self },
        }
    }

    /// The last number that comes before all of these.
    pub(super) fn just_before(self, order: Order) -> i64 {
        match order {
            Order::OldestFirst => self.low.saturating_sub(1),
            Order::NewestFirst => self.high.saturating_add(1),
        }
    }

    fn go_on_behind(&mut self, after: Seq, order: Order) {
        let after = row::key(after);
        match order {
            Order::OldestFirst => self.low = self.low.max(after.saturating_add(1)),
            Order::NewestFirst => self.high = self.high.min(after.saturating_sub(1)),
        }
    }
}

/// The first job that was created at this time or later.
fn first_created_from(conn: &Connection, time: Millis) -> Result<Option<i64>, Fault> {
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

fn job_at(job_from: &mut CachedStatement<'_>, key: i64) -> Result<(i64, i64), Fault> {
    Ok(job_from.query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))?)
}
