//! The tables and indexes that a page is merged from.

use rota_model::{ClassId, Ending, State};
use rota_store::{ListQuery, Order, Selection};
use rusqlite::{CachedStatement, Connection, Rows};

use super::bounds::Bounds;
use crate::internal_error::InternalError;

/// What to read: a whole table, or an index of the rows with one rare state or ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    Live,
    LiveIn(State),
    Done,
    DoneBy(Ending),
    /// The dead letter.
    Dead,
    /// The part of it with one type of error.
    DeadOf,
}

pub(super) fn plans(query: &ListQuery) -> Vec<Plan> {
    let select = query.select;
    if let Some(dead) = &query.dead {
        return vec![if dead.error_type.is_some() { Plan::DeadOf } else { Plan::Dead }];
    }
    let is_rare = |state| matches!(state, State::Scheduled | State::Pending | State::Retryable);
    let mut plans = Vec::new();
    if select.states().all(is_rare) {
        plans.extend(select.states().map(Plan::LiveIn));
    } else {
        plans.push(Plan::Live);
    }
    if select.has_ending(Ending::Completed) {
        plans.push(Plan::Done);
    } else {
        plans.extend(select.endings().map(Plan::DoneBy));
    }
    plans
}

impl Plan {
    /// The `WHERE` clauses of the partial indexes are repeated, because SQLite does not use the
    /// indexes otherwise.
    pub(super) fn prepare<'c>(
        self,
        conn: &'c Connection,
        order: Order,
    ) -> Result<CachedStatement<'c>, InternalError> {
        let (columns, from) = match self {
            Plan::Live => ("seq, class, state", "live WHERE"),
            Plan::LiveIn(_) => (
                "seq, class, state",
                "live INDEXED BY live_rare \
                 WHERE (state = 0 OR state = 2 OR state = 5) AND state = ?3 AND",
            ),
            Plan::Done => ("seq, class, ending", "done WHERE"),
            Plan::DoneBy(_) => (
                "seq, class, ending",
                "done INDEXED BY done_rare WHERE ending <> 0 AND ending = ?3 AND",
            ),
            Plan::Dead => ("seq, class, 2, at", "dead WHERE"),
            Plan::DeadOf => {
                ("seq, class, 2, at", "dead INDEXED BY dead_error WHERE error = ?3 AND")
            }
        };
        let direction = match order {
            Order::OldestFirst => "ASC",
            Order::NewestFirst => "DESC",
        };
        Ok(conn.prepare_cached(&format!(
            "SELECT {columns} FROM {from} seq BETWEEN ?1 AND ?2 ORDER BY seq {direction}"
        ))?)
    }

    pub(super) fn selects(self, select: Selection, code: u8) -> bool {
        match self {
            Plan::Live | Plan::LiveIn(_) => {
                State::from_code(code).is_some_and(|state| select.has_state(state))
            }
            Plan::Done | Plan::DoneBy(_) | Plan::Dead | Plan::DeadOf => {
                Ending::from_code(code).is_some_and(|ending| select.has_ending(ending))
            }
        }
    }

    fn code(self) -> Option<u8> {
        match self {
            Plan::Live | Plan::Done | Plan::Dead | Plan::DeadOf => None,
            Plan::LiveIn(state) => Some(state.code()),
            Plan::DoneBy(ending) => Some(ending.code()),
        }
    }
}

/// The next row of a source. `code` is that of its state or ending.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) key: i64,
    pub(super) class: ClassId,
    pub(super) code: u8,
    /// When the job was discarded, if it is read from the dead letter.
    pub(super) discarded: Option<i64>,
}

/// The rows of one plan, read one ahead to be merged with those of others.
pub(super) struct Source<'r> {
    pub(super) plan: Plan,
    pub(super) head: Option<Head>,
    rows: Rows<'r>,
}

impl<'r> Source<'r> {
    pub(super) fn open(
        statement: &'r mut CachedStatement<'_>,
        plan: Plan,
        query: &ListQuery,
        bounds: Bounds,
    ) -> Result<Self, InternalError> {
        let error = query.dead.as_ref().and_then(|dead| dead.error_type.as_deref());
        let rows = match plan.code() {
            None if plan == Plan::DeadOf => {
                let error = rota_model::dead_letter::error_type(error.unwrap_or_default());
                statement.query((bounds.low, bounds.high, error))?
            }
            None => statement.query((bounds.low, bounds.high))?,
            Some(code) => statement.query((bounds.low, bounds.high, code))?,
        };
        let mut source = Source { plan, head: None, rows };
        source.take()?;
        Ok(source)
    }

    /// Returns the current row and reads the next one.
    pub(super) fn take(&mut self) -> Result<Option<Head>, InternalError> {
        let next = match self.rows.next()? {
            None => None,
            Some(row) => {
                let discarded = match self.plan {
                    Plan::Dead | Plan::DeadOf => Some(row.get(3)?),
                    _ => None,
                };
                let (key, class, code) = (row.get(0)?, ClassId(row.get(1)?), row.get(2)?);
                Some(Head { key, class, code, discarded })
            }
        };
        Ok(std::mem::replace(&mut self.head, next))
    }
}
