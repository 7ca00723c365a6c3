//! What the engine should know besides the jobs that it gets.

use rota_model::{ClassId, Seq};

use super::limits::{Closed, ClosedNotice, LimitIx};
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Notice {
    /// Jobs of this class would start, and a limit does not let them.
    LimitExceeded { limit: LimitIx, class: ClassId, closed: Closed },
    /// They may start again.
    LimitReleased { limit: LimitIx, class: ClassId, head: Seq, notified: ClosedNotice },
    /// Jobs of a tenant wait because it has as many active ones as it may have.
    TenantCapped(TenantIx),
    /// Nobody waits any more at a gate that nobody had to pass. Its limit may be of no use.
    GateGone(LimitIx),
    /// A queue has had jobs and got nothing for too long.
    QueueStarved { queue: QueueIx, for_ms: u64 },
}
