//! How much one page may cost.

/// Counted in rows of jobs. At least one step is always made, so that a cursor moves.
pub(super) struct Effort {
    left: usize,
    moved: bool,
}

/// What beginning anew elsewhere costs, about as much as this many rows.
const LEAP: usize = 64;
/// Reading what a zone tells costs a row's time for so many bytes.
const BYTES_PER_ROW: usize = 256;

impl Effort {
    pub(super) fn of(rows: usize) -> Self {
        Self { left: rows, moved: false }
    }

    pub(super) fn is_over(&self) -> bool {
        self.left == 0 && self.moved
    }

    pub(super) fn pass_row(&mut self) {
        self.pass(1);
    }

    pub(super) fn pass_zone(&mut self, bytes: usize) {
        self.pass(1 + bytes / BYTES_PER_ROW);
    }

    pub(super) fn leap(&mut self) {
        self.pass(LEAP);
    }

    fn pass(&mut self, rows: usize) {
        self.left = self.left.saturating_sub(rows);
        self.moved = true;
    }
}
