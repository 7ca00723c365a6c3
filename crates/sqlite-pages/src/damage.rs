//! What is damaged, for the message of the error.

use std::cell::RefCell;
use std::fmt;
use std::path::PathBuf;

/// A page that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub file: PathBuf,
    pub place: Place,
}

/// Where a damaged page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A page of the database, counted from 1.
    Page(u32),
    /// A page behind the end of the database file.
    MissingPage(u32),
    /// A page in the write-ahead log, by its frame (counted from 1), and the page it is for, as the frame says.
    Frame { frame: u64, page: u32 },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.place {
            Place::Page(number) => write!(f, "page {number} of {file} does not match its checksum"),
            Place::MissingPage(number) => {
                write!(f, "{file} ends before its page {number}")
            }
            Place::Frame { frame, page } => write!(
                f,
                "frame {frame} of {file}, which holds page {page}, does not match its checksum"
            ),
        }
    }
}

thread_local! {
    static LAST: RefCell<Option<Damage>> = const { RefCell::new(None) };
}

/// SQLite passes on only a number, `SQLITE_IOERR_DATA`, so the rest is kept for [`take_last`].
pub(crate) fn set_last(damage: Damage) {
    LAST.with_borrow_mut(|last| *last = Some(damage));
}

/// The damage behind the last `SQLITE_IOERR_DATA` on this thread.
#[must_use]
pub fn take_last() -> Option<Damage> {
    LAST.take()
}
