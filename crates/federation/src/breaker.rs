//! The circuit breaker of a region.

use std::time::Duration;

use crate::Moment;

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Consecutive failures that open it.
    pub failures: u32,
    /// How long it stays open before one request may probe the region.
    pub cooldown: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 5, cooldown: Duration::from_secs(30) }
    }
}

/// The state of a circuit breaker, as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Circuit {
    /// Requests are sent, and failures are counted.
    Closed,
    /// Nothing is sent, health checks included.
    Open,
    /// One request may probe the region.
    HalfOpen,
}

impl Circuit {
    /// As it is written in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// Counts the consecutive failures of a region and keeps requests from it while it seems to be down.
#[derive(Debug, Clone)]
pub struct Breaker {
    settings: BreakerSettings,
    state: State,
    /// Rises with every change of state, so that a late result of an earlier state is recognised.
    era: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed {
        failures: u32,
    },
    /// Half-open from `until` on. `probe` is the time at which a probe under way counts as lost.
    Open {
        until: Moment,
        probe: Option<Moment>,
    },
}

/// Leave to send one request. Its result is given back to the breaker with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "its result has to be reported"]
pub struct Admission {
    era: u64,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(settings: BreakerSettings) -> Self {
        Self { settings, state: State::Closed { failures: 0 }, era: 0 }
    }

    /// Changes when it opens. What it has counted stays, and an open one stays open as long as it would have.
    pub fn set(&mut self, settings: BreakerSettings) {
        self.settings = settings;
    }

    /// The state at this time.
    #[must_use]
    pub fn circuit(&self, now: Moment) -> Circuit {
        match self.state {
            State::Closed { .. } => Circuit::Closed,
            State::Open { until, .. } if now < until => Circuit::Open,
            State::Open { .. } => Circuit::HalfOpen,
        }
    }

    /// Consecutive failures, while it is closed.
    #[must_use]
    pub fn failures(&self) -> u32 {
        match self.state {
            State::Closed { failures } => failures,
            State::Open { .. } => self.settings.failures,
        }
    }

    /// When an open breaker lets a probe through.
    #[must_use]
    pub fn opens_until(&self) -> Option<Moment> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { until, .. } => Some(until),
        }
    }

    /// Whether a request may be sent now.
    #[must_use]
    pub fn admits(&self, now: Moment) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { until, probe } => now >= until && probe.is_none_or(|lost| now >= lost),
        }
    }

    /// Takes leave to send a request. While half-open only one request has it; if nothing is heard of that one
    /// for as long as the cooldown, the next request is a new probe.
    pub fn admit(&mut self, now: Moment) -> Option<Admission> {
        if !self.admits(now) {
            return None;
        }
        if let State::Open { probe, .. } = &mut self.state {
            *probe = Some(now + self.settings.cooldown);
            // Only this probe's result counts.
            self.era += 1;
        }
        Some(Admission { era: self.era })
    }

    /// The region answered.
    pub fn succeeded(&mut self, admission: Admission) {
        if admission.era != self.era {
            return;
        }
        match &mut self.state {
            State::Closed { failures } => *failures = 0,
            State::Open { .. } => self.enter(State::Closed { failures: 0 }),
        }
    }

    /// The region failed to answer.
    pub fn failed(&mut self, admission: Admission, now: Moment) {
        if admission.era != self.era {
            return;
        }
        let open = State::Open { until: now + self.settings.cooldown, probe: None };
        match &mut self.state {
            State::Closed { failures } => {
                *failures += 1;
                if *failures >= self.settings.failures {
                    self.enter(open);
                }
            }
            State::Open { .. } => self.enter(open),
        }
    }

    /// Nothing was learned about the region: a probe that was not sent after all lets the next one through.
    pub fn abandoned(&mut self, admission: Admission) {
        if admission.era == self.era
            && let State::Open { probe, .. } = &mut self.state
        {
            *probe = None;
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.era += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOLDOWN: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    fn fail(breaker: &mut Breaker, times: u32, now: Moment) {
        for _ in 0..times {
            let admission = breaker.admit(now).unwrap();
            breaker.failed(admission, now);
        }
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(BreakerSettings::default());
        fail(&mut breaker, 5, at(0));
        breaker
    }

    #[test]
    fn five_consecutive_failures_open_it_for_thirty_seconds() {
        let mut breaker = Breaker::new(BreakerSettings::default());
        fail(&mut breaker, 4, at(0));
        assert_eq!(breaker.circuit(at(0)), Circuit::Closed);
        fail(&mut breaker, 1, at(1));
        assert_eq!(breaker.circuit(at(1)), Circuit::Open);
        assert!(breaker.admit(at(30)).is_none());
        assert_eq!(breaker.circuit(at(31)), Circuit::HalfOpen);
    }

    #[test]
    fn a_success_resets_the_count() {
        let mut breaker = Breaker::new(BreakerSettings::default());
        fail(&mut breaker, 4, at(0));
        let admission = breaker.admit(at(0)).unwrap();
        breaker.succeeded(admission);
        fail(&mut breaker, 4, at(0));
        assert_eq!(breaker.circuit(at(0)), Circuit::Closed);
    }

    #[test]
    fn one_probe_at_a_time_while_half_open() {
        let mut breaker = opened();
        let probe = breaker.admit(at(30)).unwrap();
        assert!(breaker.admit(at(30)).is_none());
        breaker.succeeded(probe);
        assert_eq!(breaker.circuit(at(30)), Circuit::Closed);
        assert!(breaker.admit(at(30)).is_some());
    }

    #[test]
    fn a_failed_probe_opens_it_again() {
        let mut breaker = opened();
        let probe = breaker.admit(at(40)).unwrap();
        breaker.failed(probe, at(41));
        assert_eq!(breaker.circuit(at(70)), Circuit::Open);
        assert_eq!(breaker.circuit(at(71)), Circuit::HalfOpen);
    }

    #[test]
    fn a_probe_that_is_never_heard_of_again_is_replaced() {
        let mut breaker = opened();
        let lost = breaker.admit(at(30)).unwrap();
        assert!(breaker.admit(at(59)).is_none());
        let second = breaker.admit(at(30) + COOLDOWN).unwrap();
        breaker.succeeded(lost);
        assert_eq!(breaker.circuit(at(60)), Circuit::HalfOpen, "the lost probe proves nothing now");
        breaker.succeeded(second);
        assert_eq!(breaker.circuit(at(60)), Circuit::Closed);
    }

    #[test]
    fn a_probe_that_was_not_sent_leaves_its_place() {
        let mut breaker = opened();
        let probe = breaker.admit(at(30)).unwrap();
        breaker.abandoned(probe);
        assert!(breaker.admit(at(30)).is_some());
    }

    #[test]
    fn late_results_of_an_earlier_state_change_nothing() {
        let mut breaker = Breaker::new(BreakerSettings::default());
        let early = breaker.admit(at(0)).unwrap();
        fail(&mut breaker, 5, at(0));
        breaker.succeeded(early);
        assert_eq!(breaker.circuit(at(1)), Circuit::Open);
        breaker.failed(early, at(20));
        assert_eq!(breaker.circuit(at(30)), Circuit::HalfOpen);
    }
}
