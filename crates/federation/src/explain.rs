//! Why a job goes where it goes.

use crate::route::{Search, Target};
use crate::{Decision, Federation, Moment, NoRoute, RegionIndex, RegionSet, Strategy, Wishes};

/// Where a job would go, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// How the region is chosen.
    pub strategy: Strategy,
    /// The choice.
    pub decision: Result<Decision, NoRoute>,
    /// All regions, best first.
    pub candidates: Vec<Candidate>,
}

/// A region as a candidate for a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The region.
    pub region: RegionIndex,
    /// 1 for the best, less for each that follows, 0 for those that cannot have the job.
    pub score: f64,
    /// Why it is where it is, such as `local, healthy`.
    pub reason: String,
}

impl Federation {
    /// Says where a job would go and why, without sending it.
    #[must_use]
    pub fn explain(&self, wishes: &Wishes, now: Moment) -> Explanation {
        let tried = RegionSet::new();
        let decision = self.route(wishes, &tried, now);
        let (strategy, pin) = match self.strategy_of(wishes) {
            Target::Pinned(id) => (Strategy::GeoPin, self.registry().find(id)),
            Target::Chosen(strategy) => (strategy, None),
        };
        let tagged = self.restricted(wishes);
        let search = Search {
            federation: self,
            strategy,
            wishes,
            tried: &tried,
            tagged: tagged.as_ref(),
            now,
        };
        let chosen = decision.as_ref().ok().map(|decision| decision.region);
        let pinned_elsewhere = |region| strategy == Strategy::GeoPin && pin != Some(region);
        let hub_is_away = self.absent_hub(now).is_some();
        let behind_hub = |region| hub_is_away && region != self.local();
        let mut ranked: Vec<_> = self
            .registry()
            .indexes()
            .map(|region| {
                let possible = !pinned_elsewhere(region) && !behind_hub(region);
                let rank = if possible { search.rank(region) } else { None };
                (region, rank)
            })
            .collect();
        ranked.sort_by(|(one, a), (other, b)| {
            let chosen_first = (Some(*other) == chosen).cmp(&(Some(*one) == chosen));
            chosen_first.then_with(|| match (a, b) {
                (Some(a), Some(b)) => a.compare(b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            })
        });
        let candidates = (1_u32..).zip(ranked).map(|(position, (region, rank))| Candidate {
            region,
            score: rank.map_or(0.0, |_| 1.0 / f64::from(position)),
            reason: match (search.excluded(region), pinned_elsewhere(region)) {
                (_, true) => "the job must run elsewhere".to_owned(),
                (Some(reason), _) => reason.to_owned(),
                (None, _) if behind_hub(region) && search.rank(region).is_some() => {
                    "nothing is sent there while the hub is unavailable".to_owned()
                }
                (None, _) => self.describe(region, wishes, now),
            },
        });
        Explanation { strategy, decision, candidates: candidates.collect() }
    }

    fn describe(&self, region: RegionIndex, wishes: &Wishes, now: Moment) -> String {
        let observed = self.observed(region);
        let mut text = String::new();
        if region == self.local() {
            text.push_str("local, ");
        }
        text.push_str(observed.standing(wishes.tenant.as_deref(), now).reason());
        if let Some(ms) = observed.latency().ms() {
            text.push_str(&format!(", {ms:.0} ms"));
        }
        if let Some((load, _)) = observed.load() {
            text.push_str(&format!(", {} jobs waiting and {} running", load.waiting, load.active));
        }
        text
    }
}
