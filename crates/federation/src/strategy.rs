//! How a region is chosen.

/// How a region is chosen for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// The local region if it can take the job, else the next in the fallback order, else the nearest.
    #[default]
    Affinity,
    /// The region with the least work.
    Overflow,
    /// The region that the job names, or none.
    GeoPin,
    /// All regions in turn, by weight.
    RoundRobin,
    /// The region that answers fastest.
    Latency,
    /// The first region of a fixed order.
    ActivePassive,
    /// The region that serves the job's part of the world.
    Geographic,
}

impl Strategy {
    /// All strategies, as they are written in `region_affinity` and in configurations.
    pub const ALL: [Self; 7] = [
        Self::Affinity,
        Self::Overflow,
        Self::GeoPin,
        Self::RoundRobin,
        Self::Latency,
        Self::ActivePassive,
        Self::Geographic,
    ];

    /// As it is written in `region_affinity` and in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Affinity => "affinity",
            Self::Overflow => "overflow",
            Self::GeoPin => "geo-pin",
            Self::RoundRobin => "round-robin",
            Self::Latency => "latency",
            Self::ActivePassive => "active-passive",
            Self::Geographic => "geographic",
        }
    }

    /// The strategy of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.as_str() == name)
    }
}
