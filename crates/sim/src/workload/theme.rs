//! Themes: typical loads, one of which each run emphasises.

use crate::rng::Rng;

/// What a run is about, besides everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Everything,
    Giant,
    ManySmall,
    Zipf,
    AllLimited,
    SharedKeys,
    EverythingUrgent,
    KeyPerJob,
    ChangingLimits,
    Pools,
    Loud,
    /// Tenants share all queues of a pool or fetch together.
    PoolScope,
    /// One tenant's jobs are all of different types, keys, numbers and priorities, and many fetches wait
    /// for jobs of one tenant only.
    Hostile,
}

impl Theme {
    pub const ALL: [Self; 13] = [
        Self::Everything,
        Self::Giant,
        Self::ManySmall,
        Self::Zipf,
        Self::AllLimited,
        Self::SharedKeys,
        Self::EverythingUrgent,
        Self::KeyPerJob,
        Self::ChangingLimits,
        Self::Pools,
        Self::Loud,
        Self::PoolScope,
        Self::Hostile,
    ];

    /// Every run of it has pools of several queues.
    pub(super) fn has_pools(self) -> bool {
        matches!(self, Self::Pools | Self::PoolScope)
    }

    pub(super) fn draw(rng: &mut Rng) -> Self {
        let special = rng.one_of([
            Self::Giant,
            Self::ManySmall,
            Self::Zipf,
            Self::AllLimited,
            Self::SharedKeys,
            Self::EverythingUrgent,
            Self::KeyPerJob,
            Self::ChangingLimits,
            Self::Pools,
            Self::Loud,
        ]);
        if rng.percent(45) { Self::Everything } else { special }
    }
}
