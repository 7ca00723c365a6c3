//! What the simulation has found in the engine and steps around, until it is mended.
//!
//! Each of these is true as long as its fault is there. Set one to false to meet the fault again.

/// `InFlight::standing` leaves the reservation of a job that backed off as it was.
pub const BACKOFF_KEEPS_RESERVATION: bool = true;

/// A waiting fetch is not looked at again when its worker gets room other than by finishing a job
/// of a queue that it registered: by registering, by a heartbeat, or when it is no longer quieted.
pub const ROOM_DOES_NOT_WAKE: bool = true;

/// A worker that was removed while it held jobs or waited for some is believed to hold none when
/// it comes back.
pub const REMOVAL_FORGETS_JOBS: bool = true;

/// Runs that are held back stay so for ever when their schedule's overlap policy is changed.
pub const OVERLAP_CHANGE_STRANDS_RUNS: bool = true;

/// Cancelling or deleting a run and the run held back behind it in one command handles the second
/// as if it were still held, and leaves it in its lane.
pub const HELD_TARGETS_GO_STALE: bool = true;
