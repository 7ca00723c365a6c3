//! Walking through jobs in pages whose cost does not depend on how deep they lie.

use rota_model::{ClassId, Ending, Millis, Seq, State};

use crate::Record;

#[derive(Debug, Clone)]
pub struct ListQuery {
    pub select: Selection,
    /// Only jobs of these classes; `None` takes all. Sorted.
    pub classes: Option<Vec<ClassId>>,
    /// Only jobs created at or after this.
    pub since: Option<Millis>,
    /// Only jobs created before this.
    pub until: Option<Millis>,
    /// Continue behind this job, which is not included.
    pub after: Option<Seq>,
    pub order: Order,
    pub limit: usize,
    /// About this many rows are looked at, at most; then the page ends, with a cursor to go on from.
    /// Jobs of other classes that a store can pass over without looking do not count.
    pub scan: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

/// Which jobs: by state while they live, by ending when they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    states: u8,
    endings: u8,
}

impl Selection {
    pub const ALL: Selection = Selection { states: 0b0010_1111, endings: 0b1_1111 };
    pub const NONE: Selection = Selection { states: 0, endings: 0 };
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

#[derive(Debug, Clone, Default)]
pub struct ListPage {
    pub records: Vec<Record>,
    /// Where to go on; `None` when nothing more can follow. A page may be short, or even empty,
    /// and still have one: then the rows that were looked at did not match.
    pub next: Option<Seq>,
}
