//! The bound on the cost of one page.

/// The remaining cost, in rows. At least one row is always read, so that the cursor advances.
pub(super) struct ScanBudget {
    remaining: usize,
    used: bool,
}

/// Reopening the sources at another position costs about as much as reading this many rows.
const SKIP_COST: usize = 64;
/// Reading this many bytes of a zone's classes costs about as much as reading a row.
const ZONE_BYTES_PER_ROW: usize = 256;

impl ScanBudget {
    pub(super) fn of(rows: usize) -> Self {
        Self { remaining: rows, used: false }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.remaining == 0 && self.used
    }

    pub(super) fn charge_row(&mut self) {
        self.charge(1);
    }

    pub(super) fn charge_zone(&mut self, bytes: usize) {
        self.charge(1 + bytes / ZONE_BYTES_PER_ROW);
    }

    pub(super) fn charge_skip(&mut self) {
        self.charge(SKIP_COST);
    }

    fn charge(&mut self, rows: usize) {
        self.remaining = self.remaining.saturating_sub(rows);
        self.used = true;
    }
}
