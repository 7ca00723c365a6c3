//! How a federation chooses and fails over.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{BreakerSettings, RegionId, RegionIndex, RegionSet, Registry, RegistryError, Strategy};

/// How a federation chooses and fails over, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The name of the region that is nearest to this program.
    pub local: String,
    /// The strategy of jobs that do not choose one.
    pub default_strategy: Strategy,
    /// For `active-passive`: the primary region and then the others in order. Empty: as in the registry.
    pub order: Vec<String>,
    /// For `geographic`: the region for each part of the world, such as `DE` or `EU`.
    pub geography: BTreeMap<String, String>,
    /// What happens when a region cannot take a job.
    pub failover: Failover,
    /// How long a region that answered "full" or a limit counts as having no capacity.
    pub full_for: Duration,
    /// When circuit breakers open.
    pub breaker: BreakerSettings,
}

/// What happens when a region cannot take a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failover {
    /// Whether another region is tried.
    pub enabled: bool,
    /// How many other regions are tried for one job.
    pub max_redirects: u32,
    /// Regions that nothing fails over to.
    pub exclude: Vec<String>,
    /// Regions that are tried first, in this order.
    pub prefer: Vec<String>,
}

impl Default for Failover {
    fn default() -> Self {
        Self { enabled: true, max_redirects: 3, exclude: Vec::new(), prefer: Vec::new() }
    }
}

impl Policy {
    /// The default policy of a program in this region.
    #[must_use]
    pub fn new(local: &str) -> Self {
        Self {
            local: local.to_owned(),
            default_strategy: Strategy::default(),
            order: Vec::new(),
            geography: BTreeMap::new(),
            failover: Failover::default(),
            full_for: Duration::from_secs(10),
            breaker: BreakerSettings::default(),
        }
    }
}

/// A policy whose regions are found.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub local: RegionIndex,
    pub default_strategy: Strategy,
    /// For each region its place in the order of `active-passive`.
    pub order: Vec<u32>,
    pub geography: BTreeMap<String, RegionIndex>,
    pub failover: bool,
    pub max_redirects: u32,
    pub exclude: RegionSet,
    /// For each region its place among the preferred ones.
    pub prefer: Vec<u32>,
    pub full_for: Duration,
    pub breaker: BreakerSettings,
}

/// The place of regions that an order does not name: after all others.
pub(crate) const LAST: u32 = u32::MAX;

impl Rules {
    pub fn new(policy: &Policy, registry: &Registry) -> Result<Self, RegistryError> {
        let find = |setting, name: &str| registry.resolve(setting, &RegionId::parse(name)?);
        let places = |setting, names: &[String]| {
            let mut places = vec![LAST; registry.regions().len()];
            for (place, name) in (0..).zip(names) {
                let index = find(setting, name)?;
                if places[index.position()] != LAST {
                    return Err(RegistryError::Repeated { setting, id: RegionId::parse(name)? });
                }
                places[index.position()] = place;
            }
            Ok(places)
        };
        let mut exclude = RegionSet::new();
        for name in &policy.failover.exclude {
            exclude.insert(find("failover.exclude_regions", name)?);
        }
        let geography = policy.geography.iter();
        let geography = geography.map(|(part, name)| Ok((part.clone(), find("geography", name)?)));
        let in_registry = (0..).take(registry.regions().len());
        Ok(Self {
            local: find("the local region", &policy.local)?,
            default_strategy: policy.default_strategy,
            order: match policy.order.is_empty() {
                true => in_registry.collect(),
                false => places("active_passive", &policy.order)?,
            },
            geography: geography.collect::<Result<_, RegistryError>>()?,
            failover: policy.failover.enabled,
            max_redirects: policy.failover.max_redirects,
            exclude,
            prefer: places("failover.prefer_regions", &policy.failover.prefer)?,
            full_for: policy.full_for,
            breaker: policy.breaker,
        })
    }
}
