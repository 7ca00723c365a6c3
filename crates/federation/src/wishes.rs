//! What a job says about where it should run.

use serde_json::{Map, Value};

use crate::Strategy;

/// The members of a job's `meta` that concern federation.
pub mod meta {
    /// The job's id in the whole federation, a UUIDv7.
    pub const FEDERATION_ID: &str = "ojs.federation.federation_id";
    /// The region in which the job must run.
    pub const REGION: &str = "ojs.federation.region";
    /// How a region is chosen.
    pub const REGION_AFFINITY: &str = "ojs.federation.region_affinity";
    /// The region from which the job was enqueued.
    pub const SOURCE_REGION: &str = "ojs.federation.source_region";
    /// The region from which the job was copied. Never taken from a caller.
    pub const REPLICATED_FROM: &str = "ojs.federation.replicated_from";
    /// When the region was chosen.
    pub const ROUTED_AT: &str = "ojs.federation.routed_at";
    /// Tags that the region must have.
    pub const TAGS: &str = "ojs.federation.tags";
    /// The job's part of the world, such as `DE`, or several from the narrowest to the widest.
    pub const GEO: &str = "ojs.federation.geo";
}

/// What a job says about where it should run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// The region in which it must run.
    pub region: Option<String>,
    /// The strategy it chooses.
    pub strategy: Option<Strategy>,
    /// Tags that the region must have.
    pub tags: Vec<String>,
    /// Its part of the world, from the narrowest to the widest.
    pub geo: Vec<String>,
    /// The region that counts as the local one for this job, if a rule says so.
    pub home: Option<String>,
    /// Its queue, if the regions that serve it are the ones to consider.
    pub queue: Option<String>,
    /// Whose job it is.
    pub tenant: Option<String>,
    /// A number that belongs to the job, such as the random part of its id. It decides by weight between regions
    /// that are equally good.
    pub draw: u64,
}

/// Why a job's wishes cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WishError {
    /// A member has another type.
    #[error("meta.{key} must be {must}")]
    Malformed {
        /// The member.
        key: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// The job must run in one region and does not say in which.
    #[error(
        "meta.ojs.federation.region_affinity is \"geo-pin\", but meta.ojs.federation.region is missing"
    )]
    PinnedNowhere,
}

/// How many tags or parts of the world a job may name.
const MOST_NAMES: usize = 32;

impl Wishes {
    /// Whether two jobs can be routed together: tenant and draw do not matter.
    #[must_use]
    pub fn wants_the_same(&self, other: &Self) -> bool {
        let Self { region, strategy, tags, geo, home, queue, tenant: _, draw: _ } = self;
        (region, strategy, tags) == (&other.region, &other.strategy, &other.tags)
            && (geo, home, queue) == (&other.geo, &other.home, &other.queue)
    }

    /// Reads the wishes from a job's `meta`. An unknown `region_affinity` means affinity.
    pub fn of_meta(meta: &Map<String, Value>) -> Result<Self, WishError> {
        let region = text(meta, meta::REGION)?;
        let affinity = text(meta, meta::REGION_AFFINITY)?;
        let strategy = affinity.map(|name| Strategy::parse(&name).unwrap_or(Strategy::Affinity));
        if region.is_none() && strategy == Some(Strategy::GeoPin) {
            return Err(WishError::PinnedNowhere);
        }
        let tags = names(meta, meta::TAGS, "an array of at most 32 strings", false)?;
        let geo = names(meta, meta::GEO, "a string, or an array of at most 32 strings", true)?;
        Ok(Self { region, strategy, tags, geo, ..Self::default() })
    }
}

fn text(meta: &Map<String, Value>, key: &'static str) -> Result<Option<String>, WishError> {
    match meta.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(WishError::Malformed { key, must: "a string that is not empty" }),
    }
}

fn names(
    meta: &Map<String, Value>,
    key: &'static str,
    must: &'static str,
    may_be_one: bool,
) -> Result<Vec<String>, WishError> {
    let malformed = || WishError::Malformed { key, must };
    match meta.get(key) {
        None => Ok(Vec::new()),
        Some(Value::String(one)) if may_be_one => Ok(vec![one.clone()]),
        Some(Value::Array(all)) if all.len() <= MOST_NAMES => {
            let name = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(malformed);
            all.iter().map(name).collect()
        }
        Some(_) => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wishes(meta: Value) -> Result<Wishes, WishError> {
        let Value::Object(meta) = meta else { unreachable!("the tests pass objects") };
        Wishes::of_meta(&meta)
    }

    #[test]
    fn unknown_strategies_mean_affinity() {
        for name in ["weighted", "latency-based", "affinity"] {
            let wishes = wishes(json!({"ojs.federation.region_affinity": name})).unwrap();
            assert_eq!(wishes.strategy, Some(Strategy::Affinity), "{name}");
        }
        assert_eq!(wishes(json!({"other": 1})).unwrap(), Wishes::default());
        let overflow = wishes(json!({"ojs.federation.region_affinity": "overflow"})).unwrap();
        assert_eq!(overflow.strategy, Some(Strategy::Overflow));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let pinned = wishes(json!({"ojs.federation.region_affinity": "geo-pin"}));
        assert_eq!(pinned, Err(WishError::PinnedNowhere));
        for meta in [
            json!({"ojs.federation.region": 1}),
            json!({"ojs.federation.region": ""}),
            json!({"ojs.federation.region_affinity": null}),
            json!({"ojs.federation.tags": "gpu"}),
            json!({"ojs.federation.tags": ["gpu", 1]}),
            json!({"ojs.federation.geo": {}}),
        ] {
            assert!(matches!(wishes(meta.clone()), Err(WishError::Malformed { .. })), "{meta}");
        }
        let geo = wishes(json!({"ojs.federation.geo": "DE"})).unwrap();
        assert_eq!(geo.geo, ["DE"]);
    }
}
