//! The two clocks that the engine is given: wall-clock and monotonic time.

use rota_model::Millis;

/// The current time on both clocks.
///
/// Schedules follow the wall clock. Reservations count monotonic time, so that a jump of the wall
/// clock does not end them all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Now {
    pub wall: Millis,
    /// Milliseconds since an arbitrary start; never goes back while the process lives.
    pub mono: u64,
}
