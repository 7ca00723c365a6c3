//! A table in the order of its jobs' numbers, for walking several side by side.

use rusqlite::{Row, Rows};

use crate::fault::Fault;

pub(super) struct Cursor<'s, T> {
    rows: Rows<'s>,
    read: fn(&Row<'_>) -> Result<T, Fault>,
    /// A row that cannot be understood is an entry too.
    current: Option<(i64, Result<T, Fault>)>,
}

impl<'s, T> Cursor<'s, T> {
    pub(super) fn over(
        rows: Rows<'s>,
        read: fn(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Self, Fault> {
        let mut cursor = Self { rows, read, current: None };
        cursor.step()?;
        Ok(cursor)
    }

    pub(super) fn key(&self) -> Option<i64> {
        self.current.as_ref().map(|(key, _)| *key)
    }

    /// The entry of this number, if there is one; then the next entry follows.
    pub(super) fn take(&mut self, key: i64) -> Result<Option<Result<T, Fault>>, Fault> {
        if self.key() != Some(key) {
            return Ok(None);
        }
        let taken = self.current.take().map(|(_, entry)| entry);
        self.step()?;
        Ok(taken)
    }

    fn step(&mut self) -> Result<(), Fault> {
        self.current = match self.rows.next()? {
            Some(row) => Some((row.get(0)?, (self.read)(row))),
            None => None,
        };
        Ok(())
    }
}
