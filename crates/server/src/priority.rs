//! The priority of threads, where the system lets each thread have its own.

/// How much less urgent a thread is than others, as `nice` says it. Of two threads that want to run, one with
/// 5 gets about a third of the time of one with 0, and one with 10 a tenth; and they are interrupted by it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Priority {
    /// Reads from the store.
    Reads = 5,
    /// Callers that keep the server busy.
    Background = 10,
}

/// The lowest priority there is.
#[cfg(target_os = "linux")]
const LOWEST: i32 = 19;

/// Lowers the priority of the calling thread for good.
#[cfg(target_os = "linux")]
pub(crate) fn lower(priority: Priority) {
    // On Linux, these are the thread's own. The server itself may have been started with another one than 0.
    let own = rustix::process::getpriority_process(None).unwrap_or(0);
    let lowered = rustix::process::setpriority_process(None, (own + priority as i32).min(LOWEST));
    if let Err(error) = lowered {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

/// Elsewhere, only whole processes have a priority.
#[cfg(not(target_os = "linux"))]
pub(crate) fn lower(_: Priority) {}
