//! Queries that list jobs page by page, with a cursor, so that deep pages cost no more than the first.

use std::sync::Arc;

use rota_model::{ClassId, Ending, Millis, Seq, State};

use crate::Record;

/// Selects one page of jobs.
#[derive(Debug, Clone)]
pub struct ListQuery {
    pub select: Selection,
    /// The classes to list, sorted; `None` lists all classes.
    pub classes: Option<Vec<ClassId>>,
    /// Lower bound on the creation time, inclusive.
    pub since: Option<Millis>,
    /// Upper bound on the creation time, exclusive.
    pub until: Option<Millis>,
    /// Conditions on jobs of the dead letter. If present, only these are listed, and `select` must be
    /// [`Selection::DEAD_LETTER`].
    pub dead: Option<DeadFilter>,
    /// The cursor of the previous page. Its job is not listed again.
    pub after: Option<Seq>,
    pub order: Order,
    /// Matching jobs that are passed over before the page begins. They are not read in full.
    pub skip: usize,
    /// Maximum number of jobs on the page.
    pub limit: usize,
    /// Maximum bytes of the jobs on the page: bodies, results and errors. A page that reaches it ends
    /// early with a cursor. The first job is returned whatever its size.
    pub max_bytes: usize,
    /// Approximate maximum number of rows to read for the page, which then ends early with a
    /// cursor. Jobs of other classes that the store skips without reading do not count.
    pub scan: usize,
}

/// Selects jobs in the dead letter by when and why they failed permanently.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadFilter {
    /// The type of the last error.
    pub error_type: Option<Arc<str>>,
    /// Lower bound on the time at which the job was discarded, inclusive.
    pub since: Option<Millis>,
    /// Upper bound on that time, exclusive.
    pub until: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

/// The set of jobs to list: unfinished jobs by state, finished jobs by ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    states: u8,
    endings: u8,
}

impl Selection {
    pub const ALL: Selection = Selection { states: 0b0010_1111, endings: 0b1_1111 };
    pub const NONE: Selection = Selection { states: 0, endings: 0 };
    pub const UNFINISHED: Selection = Selection { endings: 0, ..Selection::ALL };
    pub const DEAD_LETTER: Selection =
        Selection { states: 0, endings: 1 << Ending::DeadLetter as u8 };

    #[must_use]
    pub fn state(state: State) -> Selection {
        Selection::NONE.with(state)
    }

    #[must_use]
    pub fn with(mut self, state: State) -> Selection {
        if state.is_terminal() {
            for ending in Ending::ALL.into_iter().filter(|e| e.state() == state) {
                self.endings |= 1 << ending.code();
            }
        } else {
            self.states |= 1 << state.code();
        }
        self
    }

    #[must_use]
    pub fn has_state(self, state: State) -> bool {
        self.states & (1 << state.code()) != 0
    }

    #[must_use]
    pub fn has_ending(self, ending: Ending) -> bool {
        self.endings & (1 << ending.code()) != 0
    }

    pub fn states(self) -> impl Iterator<Item = State> {
        State::ALL.into_iter().filter(move |s| !s.is_terminal() && self.has_state(*s))
    }

    pub fn endings(self) -> impl Iterator<Item = Ending> {
        Ending::ALL.into_iter().filter(move |e| self.has_ending(*e))
    }
}

/// One page of a list.
#[derive(Debug, Clone, Default)]
pub struct ListPage {
    pub records: Vec<Record>,
    /// The cursor for the next page; `None` on the last page. A short or even empty page can have a
    /// cursor, because [`ListQuery::scan`] bounds the rows read, not the matches, and
    /// [`ListQuery::max_bytes`] bounds the size.
    pub next: Option<Seq>,
}
