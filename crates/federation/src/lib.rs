//! Decides which region gets a job.
//!
//! A federation is a set of independent job servers, one per region. This crate knows the regions
//! ([`Registry`]), remembers how each of them is doing ([`Federation`]), and chooses one for a job
//! ([`Federation::route`]). It is plain data and pure functions: time is an argument ([`Moment`]), nothing is
//! sent and nothing waits, so every decision can be repeated, simulated and explained.
//!
//! ```
//! use rota_federation::{Federation, Moment, Policy, Region, RegionSet, Registry, Topology, Wishes};
//!
//! let regions = vec![
//!     Region::new("eu-west-1", "https://eu.example.com")?,
//!     Region::new("us-east-1", "https://us.example.com")?,
//! ];
//! let registry = Registry::new(regions, Topology::Mesh)?;
//! let policy = Policy::new("eu-west-1");
//! let federation = Federation::new(registry, policy)?;
//!
//! let decision = federation.route(&Wishes::default(), &RegionSet::new(), Moment::ZERO)?;
//! assert_eq!(federation.registry().region(decision.region).id.as_str(), "eu-west-1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod breaker;
mod conflict;
mod decision;
mod explain;
mod federation;
mod latency;
mod moment;
mod observed;
mod policy;
mod rank;
mod region;
mod region_set;
mod registry;
mod rotation;
mod route;
mod strategy;
mod wishes;

pub use breaker::{Admission, Breaker, BreakerSettings, Circuit};
pub use conflict::{Version, replaces};
pub use decision::{Decision, NoRoute};
pub use explain::{Candidate, Explanation};
pub use federation::{Attempt, AttemptResult, Federation};
pub use latency::Latency;
pub use moment::Moment;
pub use observed::{Check, Load, Observed};
pub use policy::{Failover, Policy};
pub use region::{Region, RegionId};
pub use region_set::RegionSet;
pub use registry::{RegionIndex, Registry, RegistryError, Topology};
pub use strategy::Strategy;
pub use wishes::{WishError, Wishes, meta};
