//! The regions of a federation and how they are connected.

use std::collections::HashMap;

use crate::{Region, RegionId, RegionSet};

/// A region's place in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionIndex(pub(crate) usize);

impl RegionIndex {
    /// Its position in [`Registry::regions`].
    #[must_use]
    pub fn position(self) -> usize {
        self.0
    }
}

/// How the regions of a federation are connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topology {
    /// Routing between regions goes through one of them. While it is away, every region keeps to itself.
    HubSpoke {
        /// The region in the middle.
        hub: RegionId,
    },
    /// Every region reaches every other.
    Mesh,
    /// Every region takes jobs for itself, and all of them are equal.
    ActiveActive,
}

impl Topology {
    /// As it is written in configurations.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::HubSpoke { .. } => "hub-spoke",
            Self::Mesh => "mesh",
            Self::ActiveActive => "active-active",
        }
    }
}

/// The most regions of a federation.
const MOST_REGIONS: usize = 10_000;

/// All regions of a federation.
#[derive(Debug, Clone)]
pub struct Registry {
    regions: Vec<Region>,
    topology: Topology,
    hub: Option<RegionIndex>,
    by_id: HashMap<RegionId, RegionIndex>,
    by_tag: HashMap<String, RegionSet>,
    by_queue: HashMap<String, RegionSet>,
}

/// Why regions do not make a federation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The name cannot be used.
    #[error("'{id}' is not a region's name: it has 1 to 64 letters, digits, '-', '_' and '.'")]
    BadId {
        /// As it was given, shortened.
        id: String,
    },
    /// The address cannot be used.
    #[error("region '{id}' cannot be reached at '{url}': {reason}")]
    BadUrl {
        /// The region.
        id: RegionId,
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The weight is out of range.
    #[error("the weight of region '{id}' must be 1 to {most}")]
    BadWeight {
        /// The region.
        id: RegionId,
        /// The largest weight.
        most: u32,
    },
    /// A tag cannot be used.
    #[error(
        "'{tag}' is not a tag of region '{id}': it has 1 to 64 letters, digits, '-', '_' and '.'"
    )]
    BadTag {
        /// The region.
        id: RegionId,
        /// As it was given, shortened.
        tag: String,
    },
    /// There is no region.
    #[error("a federation has at least one region")]
    NoRegions,
    /// There are too many regions.
    #[error("a federation has at most {most} regions; these are {given}")]
    TooManyRegions {
        /// How many there may be.
        most: usize,
        /// How many were given.
        given: usize,
    },
    /// Two regions have one name.
    #[error("two regions are called '{id}'")]
    Twice {
        /// Their name.
        id: RegionId,
    },
    /// A setting names a region twice.
    #[error("{setting} names region '{id}' twice")]
    Repeated {
        /// The setting.
        setting: &'static str,
        /// The region.
        id: RegionId,
    },
    /// A setting names a region that does not exist.
    #[error("{setting} names region '{id}', which does not exist; there are: {known}")]
    Unknown {
        /// The setting.
        setting: &'static str,
        /// The name.
        id: RegionId,
        /// The names of the regions.
        known: String,
    },
}

impl Registry {
    /// Checks the regions. Nothing is left out or mended.
    pub fn new(regions: Vec<Region>, topology: Topology) -> Result<Self, RegistryError> {
        if regions.is_empty() {
            return Err(RegistryError::NoRegions);
        }
        if regions.len() > MOST_REGIONS {
            return Err(RegistryError::TooManyRegions { most: MOST_REGIONS, given: regions.len() });
        }
        let mut by_id = HashMap::with_capacity(regions.len());
        let mut by_tag: HashMap<String, RegionSet> = HashMap::new();
        let mut by_queue: HashMap<String, RegionSet> = HashMap::new();
        for (position, region) in regions.iter().enumerate() {
            let index = RegionIndex(position);
            if by_id.insert(region.id.clone(), index).is_some() {
                return Err(RegistryError::Twice { id: region.id.clone() });
            }
            for tag in &region.tags {
                by_tag.entry(tag.clone()).or_default().insert(index);
            }
            for queue in &region.queues {
                by_queue.entry(queue.clone()).or_default().insert(index);
            }
        }
        let mut registry = Self { regions, topology, hub: None, by_id, by_tag, by_queue };
        if let Topology::HubSpoke { hub } = &registry.topology {
            registry.hub = Some(registry.resolve("the hub", hub)?);
        }
        Ok(registry)
    }

    /// All regions, in the order in which they were given.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region at this place.
    #[must_use]
    pub fn region(&self, index: RegionIndex) -> &Region {
        &self.regions[index.0]
    }

    /// The places of all regions.
    pub fn indexes(&self) -> impl Iterator<Item = RegionIndex> + use<> {
        (0..self.regions.len()).map(RegionIndex)
    }

    /// The place of the region with this name.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<RegionIndex> {
        self.by_id.get(id).copied()
    }

    /// Whether regions say which queues they serve.
    #[must_use]
    pub fn maps_queues(&self) -> bool {
        !self.by_queue.is_empty()
    }

    /// The regions that say that they serve this queue, if any does.
    #[must_use]
    pub fn serving(&self, queue: &str) -> Option<&RegionSet> {
        self.by_queue.get(queue)
    }

    /// How the regions are connected.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The region in the middle, if there is one.
    #[must_use]
    pub fn hub(&self) -> Option<RegionIndex> {
        self.hub
    }

    /// The regions that have all of these tags; `None` if no tag is asked for, which means all of them.
    #[must_use]
    pub fn with_tags(&self, tags: &[String]) -> Option<RegionSet> {
        let (first, rest) = tags.split_first()?;
        let having = |tag: &String| self.by_tag.get(tag).cloned().unwrap_or_default();
        let mut regions = having(first);
        rest.iter().for_each(|tag| regions.keep(&having(tag)));
        Some(regions)
    }

    /// The place of a region that a setting names.
    pub(crate) fn resolve(
        &self,
        setting: &'static str,
        id: &RegionId,
    ) -> Result<RegionIndex, RegistryError> {
        self.find(id.as_str()).ok_or_else(|| {
            let known: Vec<&str> = self.regions.iter().map(|region| region.id.as_str()).collect();
            RegistryError::Unknown { setting, id: id.clone(), known: known.join(", ") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(id: &str) -> Region {
        Region::new(id, "https://h.example.com").unwrap()
    }

    #[test]
    fn nothing_is_dropped_silently() {
        assert_eq!(Registry::new(vec![], Topology::Mesh).unwrap_err(), RegistryError::NoRegions);
        let twice = Registry::new(vec![region("a"), region("b"), region("a")], Topology::Mesh);
        assert_eq!(twice.unwrap_err().to_string(), "two regions are called 'a'");
        let hub = RegionId::parse("c").unwrap();
        let unknown = Registry::new(vec![region("a"), region("b")], Topology::HubSpoke { hub });
        assert_eq!(
            unknown.unwrap_err().to_string(),
            "the hub names region 'c', which does not exist; there are: a, b"
        );
    }

    #[test]
    fn tags_select_the_regions_that_have_all_of_them() {
        let tagged = |id, tags: &[&str]| region(id).tags(tags).unwrap();
        let regions = vec![tagged("a", &["gpu", "gdpr"]), tagged("b", &["gpu"]), tagged("c", &[])];
        let registry = Registry::new(regions, Topology::Mesh).unwrap();
        let with = |tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            registry.with_tags(&tags).map(|set| {
                registry
                    .indexes()
                    .filter(|index| set.contains(*index))
                    .map(|index| index.0)
                    .collect()
            })
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&["gpu"]), Some(vec![0, 1]));
        assert_eq!(with(&["gpu", "gdpr"]), Some(vec![0]));
        assert_eq!(with(&["gpu", "arm"]), Some(vec![]));
    }
}
