use rota_model::Millis;

/// The two times that the engine is told.
///
/// Schedules follow the wall clock. Reservations count monotonic time, so that a wall clock which
/// jumps forward does not take every running job away from its worker at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Now {
    pub wall: Millis,
    /// Milliseconds since an arbitrary beginning; never goes back while the process lives.
    pub mono: u64,
}
