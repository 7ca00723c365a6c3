//! Choosing a region for a job.

use crate::observed::Standing;
use crate::policy::LAST;
use crate::rank::Rank;
use crate::{Decision, Federation, Moment, NoRoute, RegionIndex, RegionSet, Strategy, Wishes};

/// Round trips that differ by less are equally good: a tenth, and always a millisecond.
const NEAR: f64 = 1.1;
const NEAR_MS: f64 = 1.0;

impl Federation {
    /// Chooses a region for a job, apart from those that have been tried for it.
    ///
    /// The choice changes nothing. Whoever sends the job there tells it with [`begin`](Self::begin).
    pub fn route(
        &self,
        wishes: &Wishes,
        tried: &RegionSet,
        now: Moment,
    ) -> Result<Decision, NoRoute> {
        match self.strategy_of(wishes) {
            Target::Pinned(id) => self.pinned(id, wishes, tried, now),
            Target::Chosen(strategy) => self.chosen(strategy, wishes, tried, now),
        }
    }

    pub(crate) fn strategy_of<'a>(&self, wishes: &'a Wishes) -> Target<'a> {
        match &wishes.region {
            Some(id) => Target::Pinned(id),
            // Among the regions that serve a queue, those of the first priority take turns.
            None if wishes.strategy.is_none() && self.serving(wishes).is_some() => {
                Target::Chosen(Strategy::RoundRobin)
            }
            None => Target::Chosen(wishes.strategy.unwrap_or(self.rules().default_strategy)),
        }
    }

    /// The regions that serve the job's queue, if that matters.
    fn serving(&self, wishes: &Wishes) -> Option<&RegionSet> {
        self.registry().serving(wishes.queue.as_deref()?)
    }

    /// The regions that have the job's tags and serve its queue; `None` means all.
    pub(crate) fn restricted(&self, wishes: &Wishes) -> Option<RegionSet> {
        match (self.registry().with_tags(&wishes.tags), self.serving(wishes)) {
            (Some(mut tagged), Some(serving)) => {
                tagged.keep(serving);
                Some(tagged)
            }
            (tagged, None) => tagged,
            (None, Some(serving)) => Some(serving.clone()),
        }
    }

    fn pinned(
        &self,
        id: &str,
        wishes: &Wishes,
        tried: &RegionSet,
        now: Moment,
    ) -> Result<Decision, NoRoute> {
        let unknown = || NoRoute::UnknownRegion { id: id.to_owned() };
        let region = self.registry().find(id).ok_or_else(unknown)?;
        if self.registry().with_tags(&wishes.tags).is_some_and(|tagged| !tagged.contains(region)) {
            return Err(NoRoute::NoTags { tags: wishes.tags.join(", ") });
        }
        if tried.contains(region) {
            return Err(NoRoute::AllTried { tried: 1 });
        }
        if region != self.rules().local
            && let Some(hub) = self.absent_hub(now)
        {
            return Err(hub);
        }
        let standing = self.observed(region).standing(wishes.tenant.as_deref(), now);
        match standing.is_usable() {
            true => Ok(Decision { region, strategy: Strategy::GeoPin }),
            false => {
                Err(NoRoute::PinnedUnavailable { id: id.to_owned(), reason: standing.reason() })
            }
        }
    }

    fn chosen(
        &self,
        strategy: Strategy,
        wishes: &Wishes,
        tried: &RegionSet,
        now: Moment,
    ) -> Result<Decision, NoRoute> {
        let decided = |region| Ok(Decision { region, strategy });
        let tagged = self.restricted(wishes);
        if tagged.as_ref().is_some_and(RegionSet::is_empty) {
            return Err(NoRoute::NoTags { tags: wishes.tags.join(", ") });
        }
        let redirected = !tried.is_empty();
        if redirected
            && (!self.rules().failover || tried.len() > self.rules().max_redirects as usize)
        {
            return Err(NoRoute::AllTried { tried: tried.len() });
        }
        let search =
            Search { federation: self, strategy, wishes, tried, tagged: tagged.as_ref(), now };
        // The usual case costs the same with any number of regions.
        if let Some(first) = search.first_choice() {
            return decided(first);
        }
        let hub = self.absent_hub(now);
        let local = self.rules().local;
        let best = match hub.is_some() {
            true => search.rank(local).map(|_| local),
            false => search.best(),
        };
        match (best, hub) {
            (Some(region), _) => decided(region),
            (None, Some(hub)) => Err(hub),
            (None, None) if redirected => Err(NoRoute::AllTried { tried: tried.len() }),
            (None, None) => Err(NoRoute::NoneAvailable),
        }
    }

    /// Why nothing goes between regions now, if so.
    pub(crate) fn absent_hub(&self, now: Moment) -> Option<NoRoute> {
        let hub = self.registry().hub()?;
        let away = !self.observed(hub).standing(None, now).is_usable();
        away.then(|| NoRoute::HubAway { hub: self.registry().region(hub).id.to_string() })
    }
}

/// What decides about the region.
pub(crate) enum Target<'a> {
    /// The job names it.
    Pinned(&'a str),
    /// A strategy chooses it.
    Chosen(Strategy),
}

/// The search for the best region for one job.
pub(crate) struct Search<'a> {
    pub federation: &'a Federation,
    pub strategy: Strategy,
    pub wishes: &'a Wishes,
    pub tried: &'a RegionSet,
    pub tagged: Option<&'a RegionSet>,
    pub now: Moment,
}

impl Search<'_> {
    /// The region that needs no comparison: the local one or the one for the job's part of the world, if it is
    /// good.
    fn first_choice(&self) -> Option<RegionIndex> {
        let region = match self.strategy {
            Strategy::Affinity => self.home(),
            Strategy::Geographic => self.of_geography()?,
            _ => return None,
        };
        let through_hub = region != self.federation.rules().local;
        if through_hub && self.federation.absent_hub(self.now).is_some() {
            return None;
        }
        self.rank(region).filter(|rank| rank.standing == Standing::Good).map(|_| region)
    }

    /// The region that counts as the local one for this job.
    fn home(&self) -> RegionIndex {
        let named = self.wishes.home.as_deref().and_then(|id| self.federation.registry().find(id));
        named.unwrap_or(self.federation.rules().local)
    }

    fn of_geography(&self) -> Option<RegionIndex> {
        let geography = &self.federation.rules().geography;
        self.wishes.geo.iter().find_map(|part| geography.get(part)).copied()
    }

    /// Why a region is not considered at all.
    pub fn excluded(&self, region: RegionIndex) -> Option<&'static str> {
        let rules = self.federation.rules();
        let is_failover = !self.tried.is_empty() || self.is_fallback(region);
        if self.tried.contains(region) {
            return Some("tried already");
        }
        if self.tagged.is_some_and(|tagged| !tagged.contains(region)) {
            return Some("lacks a tag that the job asks for, or does not serve its queue");
        }
        if is_failover && !rules.failover {
            return Some("failover is off");
        }
        (is_failover && rules.exclude.contains(region)).then_some("excluded from failover")
    }

    /// Whether choosing this region means that another one could not take the job.
    fn is_fallback(&self, region: RegionIndex) -> bool {
        match self.strategy {
            Strategy::Affinity => region != self.home(),
            Strategy::ActivePassive => self.federation.rules().order[region.position()] != 0,
            _ => false,
        }
    }

    /// How good a region is; `None` if the job cannot go there now.
    pub fn rank(&self, region: RegionIndex) -> Option<Rank> {
        #[cfg(test)]
        cost::STEPS.set(cost::STEPS.get() + 1);
        if self.excluded(region).is_some() {
            return None;
        }
        let federation = self.federation;
        let observed = federation.observed(region);
        let standing = observed.standing(self.wishes.tenant.as_deref(), self.now);
        if !standing.is_usable() {
            return None;
        }
        let rules = federation.rules();
        let latency = || observed.latency().ms().unwrap_or(f64::INFINITY);
        let weight = || federation.registry().region(region).weight;
        let (place, value) = match self.strategy {
            Strategy::Affinity | Strategy::Geographic | Strategy::GeoPin => {
                (self.nearness(region), latency())
            }
            Strategy::Latency => (0, latency()),
            Strategy::Overflow => (0, observed.work(weight()).unwrap_or(f64::INFINITY)),
            Strategy::RoundRobin => {
                let by_queue =
                    self.wishes.strategy.is_none() && federation.serving(self.wishes).is_some();
                let priority = || federation.registry().region(region).priority;
                let place = if by_queue { priority() } else { 0 };
                (place, federation.rotation().begin(region) as f64)
            }
            Strategy::ActivePassive => (rules.order[region.position()], latency()),
        };
        Some(Rank { standing, place, value })
    }

    /// The local region first, then the preferred ones in their order, then the others.
    fn nearness(&self, region: RegionIndex) -> u32 {
        let rules = self.federation.rules();
        match rules.prefer[region.position()] {
            _ if self.strategy == Strategy::Geographic && self.of_geography() == Some(region) => 0,
            _ if region == self.home() => 1,
            LAST => LAST,
            place => place.saturating_add(2),
        }
    }

    fn best(&self) -> Option<RegionIndex> {
        let ranked = || {
            let indexes = self.federation.registry().indexes();
            indexes.filter_map(|region| self.rank(region).map(|rank| (region, rank)))
        };
        let (first, best) =
            ranked().reduce(|best, other| match other.1.compare(&best.1).is_lt() {
                true => other,
                false => best,
            })?;
        let most = match self.strategy {
            Strategy::Affinity | Strategy::Geographic => {
                (best.value * NEAR).max(best.value + NEAR_MS)
            }
            Strategy::Overflow => best.value,
            _ => return Some(first),
        };
        let equals = || ranked().filter(|(_, rank)| rank.equals(&best, most));
        let weight = |region| u64::from(self.federation.registry().region(region).weight);
        let total: u64 = equals().map(|(region, _)| weight(region)).sum();
        let mut left = self.wishes.draw % total.max(1);
        let drawn = equals().find(|(region, _)| match left.checked_sub(weight(*region)) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        Some(drawn.map_or(first, |(region, _)| region))
    }
}

impl Standing {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Good => "healthy",
            Self::Full => "it answered that it has no room",
            Self::HalfOpen => "its circuit breaker lets one probe through",
            Self::Unwell => "its last health check failed",
            Self::Open => "its circuit breaker is open",
        }
    }
}

/// What a decision costs, in regions that are looked at.
#[cfg(test)]
mod cost {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;
    use crate::{AttemptResult, Load, Policy, Region, Registry, Topology};

    thread_local! {
        pub static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    const REGIONS: usize = 1_000;

    fn steps(federation: &Federation, wishes: &Wishes, now: Moment) -> usize {
        STEPS.set(0);
        federation.route(wishes, &RegionSet::new(), now).unwrap();
        STEPS.get()
    }

    #[test]
    fn with_a_thousand_regions() {
        let region = |i| Region::new(&format!("r{i}"), "https://h.example.com").unwrap();
        let regions = (0..REGIONS).map(region).collect();
        let registry = Registry::new(regions, Topology::Mesh).unwrap();
        let mut federation = Federation::new(registry, Policy::new("r0")).unwrap();
        let now = Moment::ZERO;
        for region in federation.registry().indexes() {
            let attempt = federation.ask(region, now).unwrap();
            federation.checked(attempt, Some(Duration::from_millis(10)), now);
            federation.loaded(region, Load::default(), now);
        }
        // The usual cases look at one region, however many there are.
        assert_eq!(steps(&federation, &Wishes::default(), now), 1);
        let pinned = Wishes { region: Some("r7".to_owned()), ..Wishes::default() };
        assert_eq!(steps(&federation, &pinned, now), 0, "its name is enough");
        // The others look at each region once, and at most twice more to draw one of those that are equally good.
        for strategy in Strategy::ALL {
            if strategy != Strategy::GeoPin {
                let wishes = Wishes { strategy: Some(strategy), draw: 999, ..Wishes::default() };
                assert!(steps(&federation, &wishes, now) <= 3 * REGIONS + 1, "{strategy:?}");
            }
        }
        // So does a job whose region has failed.
        for _ in 0..5 {
            let attempt = federation.ask(federation.local(), now).unwrap();
            federation.finish(attempt, AttemptResult::Failed, now);
        }
        let failing_over = Wishes { draw: 998, ..Wishes::default() };
        assert!(steps(&federation, &failing_over, now) <= 3 * REGIONS + 1);
    }
}
