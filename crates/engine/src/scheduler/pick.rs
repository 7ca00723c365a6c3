//! A fetch as the scheduler sees it, and the pick that answers it.

use rota_model::{ClassId, PoolName, Seq};

use super::account::AccountIx;
use super::limits::GateIx;
use super::rotation::RotationIx;
use super::tag::Tag;
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// What a fetch may be served.
#[derive(Debug, Clone)]
pub(crate) struct FetchRequest {
    pub queues: RequestedQueues,
    /// Only jobs of this tenant.
    pub only: Option<TenantIx>,
    pub pool: Option<PoolName>,
    /// How its queues take turns; `None` for a single queue.
    pub rotation: Option<RotationIx>,
    /// In pool scope: the account over all of its queues.
    pub account: Option<AccountIx>,
    /// For fetches with `only`: whether what they start is charged to the tenant.
    pub charge: bool,
}

/// The queues that a fetch may be served from.
#[derive(Debug, Clone)]
pub(crate) enum RequestedQueues {
    /// All queues of the rotation.
    All,
    /// These, in this order.
    Some(Vec<QueueIx>),
}

/// A job that may start now. It stays in its lane until `started`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pick {
    pub seq: Seq,
    pub class: ClassId,
    pub queue: QueueIx,
    pub(super) turn: TurnIx,
    pub(super) gate: Option<GateIx>,
    /// The turn's ring entry whose account is charged, if any.
    pub(super) entry_ix: Option<usize>,
    pub(super) reason: Reason,
    /// The tag of the first tenant in the key's order that could have been served. The key's round
    /// advances no further.
    pub(super) key_round: Option<Tag>,
}

/// Why this job was picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It was its tenant's turn.
    Turn,
    /// Its queue was owed a dispatch.
    Owed,
    /// The fetch was for this tenant's jobs only.
    Tenant,
}
