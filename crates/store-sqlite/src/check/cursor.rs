//! A cursor over a table in the order of sequence numbers, used to merge several tables.

use rusqlite::{Row, Rows};

use crate::internal_error::InternalError;

pub(super) struct Cursor<'s, T> {
    rows: Rows<'s>,
    read: fn(&Row<'_>) -> Result<T, InternalError>,
    /// The sequence number of the current row, and the row or why it is malformed.
    current: Option<(i64, Result<T, InternalError>)>,
}

impl<'s, T> Cursor<'s, T> {
    pub(super) fn over(
        rows: Rows<'s>,
        read: fn(&Row<'_>) -> Result<T, InternalError>,
    ) -> Result<Self, InternalError> {
        let mut cursor = Self { rows, read, current: None };
        cursor.step()?;
        Ok(cursor)
    }

    pub(super) fn key(&self) -> Option<i64> {
        self.current.as_ref().map(|(key, _)| *key)
    }

    /// Returns the row with this sequence number, if there is one, and moves to the next row.
    pub(super) fn take(
        &mut self,
        key: i64,
    ) -> Result<Option<Result<T, InternalError>>, InternalError> {
        if self.key() != Some(key) {
            return Ok(None);
        }
        let taken = self.current.take().map(|(_, entry)| entry);
        self.step()?;
        Ok(taken)
    }

    fn step(&mut self) -> Result<(), InternalError> {
        self.current = match self.rows.next()? {
            Some(row) => Some((row.get(0)?, (self.read)(row))),
            None => None,
        };
        Ok(())
    }
}
