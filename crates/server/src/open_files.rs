//! The number of files that the process may have open. Every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the server itself needs: its database, logs, and connections that are just being accepted.
const OWN_FILES: u64 = 100;

/// Raises the limit of the process as far as it may, so that there is room for these connections. Returns how
/// many there is room for, if that is fewer.
pub(crate) fn make_room(connections: usize) -> Option<u64> {
    let needed = connections as u64 + OWN_FILES;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // No limit at all is `None`.
    let limit = current.filter(|current| *current < needed)?;
    let wanted = maximum.map_or(needed, |maximum| needed.min(maximum));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    let limit = if raised.is_ok() { wanted } else { limit };
    (limit < needed).then(|| limit.saturating_sub(OWN_FILES))
}
