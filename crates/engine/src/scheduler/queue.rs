//! A queue as far as dispatching goes.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{ClassId, Seq};

use super::account::AccountIx;
use super::limits::{Bucket, GateIx, LimitIx};
use super::parts::PartsIx;
use super::ring::Ring;
use super::rotation::RotationIx;
use super::turn::TurnIx;

#[derive(Default)]
pub(super) struct Queue {
    pub paused: bool,
    /// The most jobs that may be active at once.
    pub cap: Option<u32>,
    pub active: u64,
    pub available: u64,
    /// The limit on the queue as a whole.
    pub gate: Option<GateIx>,
    /// Where it sleeps while that limit is closed.
    pub asleep: Option<Bucket>,
    /// The accounts that it belongs to; its own is the first.
    pub members: Vec<Member>,
    /// Rotations that it takes turns in.
    pub rotates_in: Vec<RotationIx>,
    /// What it is guaranteed of the dispatches to fetches without a pool, if any of these names it
    /// together with others.
    pub parts: Option<PartsIx>,
    /// Rotations that are to know when it has something to serve.
    pub sleeps_in: Vec<(RotationIx, u32)>,
    /// Rotations that order queues by how much waits in them.
    pub ordered_in: Vec<(RotationIx, u32)>,
    /// All lanes by their heads, kept while the oldest job may have to go.
    pub heads: Option<BTreeSet<(Seq, ClassId)>>,
    pub turns: BTreeSet<TurnIx>,
    /// Limits for whose open starts more turns waited here than might start.
    pub contended: BTreeSet<LimitIx>,
    /// The account that was charged for the last start.
    pub charged: Option<AccountIx>,
}

/// A queue in an account: who may be served, by level of priority.
pub(super) struct Member {
    pub account: AccountIx,
    /// Levels with somebody to serve.
    pub rings: BTreeMap<i32, Ring>,
}

impl Queue {
    /// Neither paused nor at its own cap of active jobs.
    pub fn may_dispatch(&self) -> bool {
        !self.paused && self.cap.is_none_or(|cap| self.active < u64::from(cap))
    }

    pub fn member(&self, account: AccountIx) -> Option<usize> {
        self.members.iter().position(|member| member.account == account)
    }
}
