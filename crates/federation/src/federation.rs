//! The state of a federation: its regions, and what is known about each of them.

use std::time::Duration;

use crate::breaker::Admission;
use crate::observed::{Load, Observed};
use crate::policy::Rules;
use crate::rotation::Rotation;
use crate::{Decision, Moment, Policy, RegionIndex, Registry, RegistryError, Strategy};

/// The regions, the rules of routing, and what is known about each region.
#[derive(Debug, Clone)]
pub struct Federation {
    registry: Registry,
    rules: Rules,
    observed: Vec<Observed>,
    rotation: Rotation,
}

/// A request to a region that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "its result has to be reported"]
pub struct Attempt {
    region: RegionIndex,
    admission: Admission,
}

impl Attempt {
    /// The region it goes to.
    #[must_use]
    pub fn region(self) -> RegionIndex {
        self.region
    }
}

/// What a request taught about its region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptResult<'a> {
    /// It answered. Whether it took the job does not matter: a refusal is an answer, too.
    Answered,
    /// It has no room for anybody.
    Full,
    /// This tenant has reached one of its limits there.
    Limited {
        /// The tenant; empty for callers without one.
        tenant: &'a str,
    },
    /// No connection, no answer in time, or 502, 503 or 504.
    Failed,
    /// The request was not sent after all.
    Abandoned,
}

impl Federation {
    /// A federation of which nothing is known yet.
    pub fn new(registry: Registry, policy: Policy) -> Result<Self, RegistryError> {
        let rules = Rules::new(&policy, &registry)?;
        let regions = registry.regions().len();
        let observed = vec![Observed::new(rules.breaker); regions];
        Ok(Self { registry, rules, observed, rotation: Rotation::new(regions) })
    }

    /// Replaces registry and policy. What is known about a region is kept if its name and address stay.
    pub fn reconfigure(&mut self, registry: Registry, policy: Policy) -> Result<(), RegistryError> {
        let mut next = Self::new(registry, policy)?;
        for (region, observed) in next.registry.regions().iter().zip(&mut next.observed) {
            let before = self.registry.find(region.id.as_str());
            if let Some(before) = before.filter(|at| self.registry.region(*at).url == region.url) {
                *observed = self.observed[before.position()].clone();
                observed.set_breaker(next.rules.breaker);
            }
        }
        *self = next;
        Ok(())
    }

    /// The regions.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The region that is nearest to this program.
    #[must_use]
    pub fn local(&self) -> RegionIndex {
        self.rules.local
    }

    /// What is known about a region.
    #[must_use]
    pub fn observed(&self, region: RegionIndex) -> &Observed {
        &self.observed[region.position()]
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// Begins to send a job where it was decided; `None` if a request that was quicker is the one that probes the
    /// region.
    pub fn begin(&mut self, decision: Decision, now: Moment) -> Option<Attempt> {
        let attempt = self.ask(decision.region, now)?;
        let region = decision.region;
        self.observed[region.position()].sent();
        if decision.strategy == Strategy::RoundRobin {
            self.rotation.take(region, self.registry.region(region).weight);
        }
        Some(attempt)
    }

    /// Begins any other request to a region; `None` while its breaker does not allow one.
    pub fn ask(&mut self, region: RegionIndex, now: Moment) -> Option<Attempt> {
        let admission = self.observed[region.position()].admit(now)?;
        Some(Attempt { region, admission })
    }

    /// Records the result of a request.
    pub fn finish(&mut self, attempt: Attempt, result: AttemptResult<'_>, now: Moment) {
        let observed = &mut self.observed[attempt.region.position()];
        match result {
            AttemptResult::Failed => observed.failed(attempt.admission, now),
            AttemptResult::Abandoned => observed.abandoned(attempt.admission),
            AttemptResult::Answered | AttemptResult::Full | AttemptResult::Limited { .. } => {
                observed.succeeded(attempt.admission);
            }
        }
        let until = now + self.rules.full_for;
        match result {
            AttemptResult::Full => observed.is_out_of_room(None, until, now),
            AttemptResult::Limited { tenant } => observed.is_out_of_room(Some(tenant), until, now),
            _ => {}
        }
    }

    /// Records the result of a health check: its round trip, or `None` if the region is not well.
    pub fn checked(&mut self, attempt: Attempt, round_trip: Option<Duration>, now: Moment) {
        let observed = &mut self.observed[attempt.region.position()];
        observed.checked(round_trip, now);
        match round_trip {
            Some(_) => observed.succeeded(attempt.admission),
            None => observed.failed(attempt.admission, now),
        }
    }

    /// Records that a region has taken jobs.
    pub fn took(&mut self, region: RegionIndex, jobs: u64) {
        self.observed[region.position()].took(jobs);
    }

    /// Records that a job had to run in a region and could not.
    pub fn refused_pin(&mut self, region: RegionIndex) {
        self.observed[region.position()].refused_pin();
    }

    /// Records how much work a region has.
    pub fn loaded(&mut self, region: RegionIndex, load: Load, now: Moment) {
        self.observed[region.position()].loaded(load, now);
    }
}
