//! Notices: what the scheduler reports besides picks.

use rota_model::{ClassId, Seq};

use super::limits::{Closed, ClosedNotice, LimitIx};
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// Something that the engine turns into an event or a statistic.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Notice {
    /// A limit keeps jobs of this class from starting.
    LimitExceeded { limit: LimitIx, class: ClassId, closed: Closed },
    /// The limit lets them start again.
    LimitReleased { limit: LimitIx, class: ClassId, head: Seq, notified: ClosedNotice },
    /// A tenant's jobs wait because it is at its concurrency cap.
    TenantCapped(TenantIx),
    /// A gate that only waiting groups used is gone. Its limit may be idle.
    GateGone(LimitIx),
    /// A queue with jobs has not been served for too long.
    QueueStarved { queue: QueueIx, for_ms: u64 },
}
