//! The outcome of routing.

use crate::{RegionIndex, Strategy};

/// Where a job goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The region.
    pub region: RegionIndex,
    /// How it was chosen.
    pub strategy: Strategy,
}

/// Why a job goes nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoute {
    /// The job names a region that does not exist.
    #[error("region '{id}' does not exist")]
    UnknownRegion {
        /// As the job names it.
        id: String,
    },
    /// The job must run in a region that is not available now.
    #[error("the job must run in region '{id}', which is temporarily unavailable: {reason}")]
    PinnedUnavailable {
        /// The region.
        id: String,
        /// What is the matter with it.
        reason: &'static str,
    },
    /// The region in the middle is not available, so nothing goes from one region to another.
    #[error("nothing is sent to other regions while the hub '{hub}' is unavailable")]
    HubAway {
        /// The region in the middle.
        hub: String,
    },
    /// No region has all the tags that the job asks for, or the region it must run in has not.
    #[error("no region that this job may run in has all of these tags: {tags}")]
    NoTags {
        /// The tags.
        tags: String,
    },
    /// None of the regions can take the job now.
    #[error("none of the regions that this job may run in is available")]
    NoneAvailable,
    /// All regions that could take it have been tried, or as many as may be.
    #[error("{}", all_tried(*.tried))]
    AllTried {
        /// How many.
        tried: usize,
    },
}

impl NoRoute {
    /// Whether the same job may have a route later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        !matches!(self, Self::UnknownRegion { .. } | Self::NoTags { .. })
    }
}

fn all_tried(count: usize) -> String {
    match count {
        1 => "one region was tried, and it did not take the job".to_owned(),
        _ => format!("{count} regions were tried, and none of them took the job"),
    }
}
