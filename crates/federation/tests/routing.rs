//! Which region gets a job, strategy by strategy.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use rota_federation::{
    AttemptResult, Circuit, Decision, Federation, Load, Moment, NoRoute, Policy, Region, RegionId,
    RegionIndex, RegionSet, Registry, Strategy, Topology, Wishes,
};

const IDS: [&str; 4] = ["eu", "us", "ap", "sa"];

fn at(seconds: u64) -> Moment {
    Moment::at(Duration::from_secs(seconds))
}

fn regions() -> Vec<Region> {
    IDS.iter().map(|id| Region::new(id, "https://h.example.com").unwrap()).collect()
}

/// Four regions, of which `eu` is the local one.
struct World {
    federation: Federation,
    now: Moment,
}

impl World {
    fn new(configure: impl FnOnce(&mut Policy, &mut Vec<Region>)) -> Self {
        Self::with(Topology::Mesh, configure)
    }

    fn with(topology: Topology, configure: impl FnOnce(&mut Policy, &mut Vec<Region>)) -> Self {
        let (mut policy, mut regions) = (Policy::new("eu"), regions());
        configure(&mut policy, &mut regions);
        let registry = Registry::new(regions, topology).unwrap();
        Self { federation: Federation::new(registry, policy).unwrap(), now: at(0) }
    }

    fn index(&self, id: &str) -> RegionIndex {
        self.federation.registry().find(id).unwrap()
    }

    fn check(&mut self, id: &str, round_trip_ms: Option<u64>) {
        let attempt = self.federation.ask(self.index(id), self.now).unwrap();
        let round_trip = round_trip_ms.map(Duration::from_millis);
        self.federation.checked(attempt, round_trip, self.now);
    }

    fn report(&mut self, id: &str, result: AttemptResult<'_>) {
        let attempt = self.federation.ask(self.index(id), self.now).unwrap();
        self.federation.finish(attempt, result, self.now);
    }

    /// Opens the breaker of a region whose last check was good.
    fn cut_off(&mut self, id: &str) {
        for _ in 0..5 {
            self.report(id, AttemptResult::Failed);
        }
        assert_eq!(self.federation.observed(self.index(id)).circuit(self.now), Circuit::Open);
    }

    fn load(&mut self, id: &str, waiting: u64) {
        self.federation.loaded(self.index(id), Load { waiting, active: 0 }, self.now);
    }

    fn route(&self, wishes: &Wishes, tried: &[&str]) -> Result<&str, NoRoute> {
        self.decide(wishes, tried).map(|decision| self.name(decision.region))
    }

    fn decide(&self, wishes: &Wishes, tried: &[&str]) -> Result<Decision, NoRoute> {
        let mut set = RegionSet::new();
        tried.iter().for_each(|id| set.insert(self.index(id)));
        self.federation.route(wishes, &set, self.now)
    }

    fn name(&self, region: RegionIndex) -> &str {
        self.federation.registry().region(region).id.as_str()
    }

    /// Routes this many jobs and counts where they go.
    fn spread(&mut self, jobs: u64, wishes: impl Fn(u64) -> Wishes) -> Vec<u64> {
        let mut counts = vec![0; IDS.len()];
        for draw in 0..jobs {
            let decision = self.decide(&wishes(draw), &[]).unwrap();
            let attempt = self.federation.begin(decision, self.now).unwrap();
            self.federation.finish(attempt, AttemptResult::Answered, self.now);
            counts[decision.region.position()] += 1;
        }
        counts
    }
}

fn by(strategy: Strategy) -> Wishes {
    Wishes { strategy: Some(strategy), ..Wishes::default() }
}

fn pinned(id: &str) -> Wishes {
    Wishes { region: Some(id.to_owned()), ..Wishes::default() }
}

fn names(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn affinity_prefers_the_local_region_even_if_another_is_nearer() {
    let mut world = World::new(|_, _| ());
    world.check("eu", Some(90));
    world.check("us", Some(5));
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("eu"));
}

#[test]
fn affinity_falls_back_in_the_configured_order_and_then_to_the_nearest() {
    let mut world = World::new(|policy, _| policy.failover.prefer = names(&["sa"]));
    world.check("us", Some(80));
    world.check("ap", Some(20));
    world.check("eu", None);
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("sa"));
    assert_eq!(world.route(&Wishes::default(), &["sa"]), Ok("ap"));
    assert_eq!(world.route(&Wishes::default(), &["sa", "ap"]), Ok("us"));
}

#[test]
fn a_region_that_was_never_measured_is_not_the_nearest() {
    let mut world = World::new(|_, _| ());
    world.check("eu", None);
    world.check("sa", Some(900));
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("sa"));
}

#[test]
fn a_failed_check_keeps_jobs_away_while_the_breaker_is_still_closed() {
    let mut world = World::new(|_, _| ());
    world.check("eu", None);
    let eu = world.federation.observed(world.index("eu"));
    assert_eq!(eu.circuit(world.now), Circuit::Closed);
    assert_ne!(world.route(&Wishes::default(), &[]), Ok("eu"));
    world.check("eu", Some(1));
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("eu"));
}

#[test]
fn weight_decides_between_regions_that_are_equally_near() {
    let mut world = World::new(|_, regions| regions[1].weight = 3);
    world.check("eu", None);
    world.check("us", Some(100));
    world.check("ap", Some(105));
    world.check("sa", Some(300));
    let spread = world.spread(400, |draw| Wishes { draw, ..Wishes::default() });
    assert_eq!(spread, [0, 300, 100, 0]);
}

#[test]
fn a_full_region_has_no_capacity_for_a_while() {
    let mut world = World::new(|policy, _| policy.full_for = Duration::from_secs(7));
    world.report("eu", AttemptResult::Full);
    assert_ne!(world.route(&Wishes::default(), &[]), Ok("eu"));
    world.now = at(7);
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("eu"));
}

#[test]
fn full_everywhere_still_means_the_local_region() {
    let mut world = World::new(|_, _| ());
    IDS.iter().for_each(|id| world.report(id, AttemptResult::Full));
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("eu"));
}

#[test]
fn one_tenants_limit_moves_that_tenants_jobs_only() {
    let mut world = World::new(|_, _| ());
    world.report("eu", AttemptResult::Limited { tenant: "acme" });
    let of = |tenant: &str| Wishes { tenant: Some(tenant.to_owned()), ..Wishes::default() };
    assert_ne!(world.route(&of("acme"), &[]), Ok("eu"));
    assert_eq!(world.route(&of("globex"), &[]), Ok("eu"));
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("eu"));
    let eu = world.federation.observed(world.index("eu"));
    assert_eq!(eu.breaker().failures(), 0, "a limit is an answer");
}

#[test]
fn overflow_takes_the_least_loaded_region() {
    let mut world = World::new(|_, _| ());
    for (id, waiting) in [("eu", 30), ("us", 10), ("ap", 20)] {
        world.load(id, waiting);
    }
    assert_eq!(world.route(&by(Strategy::Overflow), &[]), Ok("us"));
    assert_eq!(world.route(&by(Strategy::Overflow), &["us"]), Ok("ap"));
    world.cut_off("us");
    assert_eq!(world.route(&by(Strategy::Overflow), &[]), Ok("ap"));
}

#[test]
fn overflow_counts_what_it_has_sent_since_the_figures_were_collected() {
    let mut world = World::new(|_, regions| regions[1].weight = 2);
    for (id, waiting) in [("eu", 0), ("us", 0), ("ap", 90), ("sa", 1_000)] {
        world.load(id, waiting);
    }
    let spread = world.spread(300, |draw| Wishes { draw, ..by(Strategy::Overflow) });
    assert!((95..=101).contains(&spread[0]), "{spread:?}");
    assert!((190..=201).contains(&spread[1]), "{spread:?}");
    assert_eq!(spread[3], 0);
}

#[test]
fn a_region_of_unknown_load_is_not_the_least_loaded() {
    let mut world = World::new(|_, _| ());
    world.load("ap", 1_000_000);
    assert_eq!(world.route(&by(Strategy::Overflow), &[]), Ok("ap"));
}

#[test]
fn a_pin_fails_rather_than_go_elsewhere() {
    let mut world = World::new(|_, _| ());
    assert_eq!(world.route(&pinned("ap"), &[]), Ok("ap"));
    world.cut_off("ap");
    assert_eq!(
        world.route(&pinned("ap"), &[]).unwrap_err().to_string(),
        "the job must run in region 'ap', which is temporarily unavailable: its circuit breaker is open"
    );
    let unknown = world.route(&pinned("mars"), &[]).unwrap_err();
    assert_eq!(unknown, NoRoute::UnknownRegion { id: "mars".to_owned() });
    assert!(!unknown.is_transient());
    assert!(world.route(&pinned("us"), &["us"]).is_err());
}

#[test]
fn a_region_wins_over_any_strategy() {
    let world = World::new(|_, _| ());
    let wishes = Wishes { strategy: Some(Strategy::Overflow), ..pinned("sa") };
    assert_eq!(world.decide(&wishes, &[]).unwrap().strategy, Strategy::GeoPin);
    assert_eq!(world.route(&wishes, &[]), Ok("sa"));
}

#[test]
fn round_robin_takes_turns_by_weight_and_skips_what_is_away() {
    let mut world = World::new(|_, regions| regions[2].weight = 2);
    let wishes = |_| by(Strategy::RoundRobin);
    assert_eq!(world.spread(500, wishes), [100, 100, 200, 100]);
    world.cut_off("us");
    assert_eq!(world.spread(400, wishes), [100, 0, 200, 100]);
    world.now = at(31);
    world.report("us", AttemptResult::Answered);
    let back = world.spread(50, wishes);
    assert!((10..=11).contains(&back[1]), "a region that was away catches up on nothing: {back:?}");
}

#[test]
fn latency_takes_the_fastest_wherever_it_is() {
    let mut world = World::new(|_, _| ());
    for (id, ms) in [("eu", 30), ("us", 29), ("ap", 200)] {
        world.check(id, Some(ms));
    }
    assert_eq!(world.route(&by(Strategy::Latency), &[]), Ok("us"));
    assert_eq!(world.route(&by(Strategy::Latency), &["us"]), Ok("eu"));
}

#[test]
fn active_passive_keeps_to_its_order() {
    let mut world = World::new(|policy, _| policy.order = names(&["ap", "us"]));
    world.check("us", Some(300));
    world.check("eu", Some(1));
    assert_eq!(world.route(&by(Strategy::ActivePassive), &[]), Ok("ap"));
    world.cut_off("ap");
    assert_eq!(world.route(&by(Strategy::ActivePassive), &[]), Ok("us"));
    world.cut_off("us");
    assert_eq!(world.route(&by(Strategy::ActivePassive), &[]), Ok("eu"));
}

#[test]
fn geographic_follows_the_table_and_falls_back_as_affinity_does() {
    let mut world = World::new(|policy, _| {
        policy.geography.insert("BR".to_owned(), "sa".to_owned());
    });
    let from = |parts: &[&str]| Wishes { geo: names(parts), ..by(Strategy::Geographic) };
    assert_eq!(world.route(&from(&["BR"]), &[]), Ok("sa"));
    assert_eq!(world.route(&from(&["XX", "BR"]), &[]), Ok("sa"));
    assert_eq!(world.route(&from(&["XX"]), &[]), Ok("eu"));
    world.cut_off("sa");
    assert_eq!(world.route(&from(&["BR"]), &[]), Ok("eu"));
}

#[test]
fn tags_restrict_every_strategy() {
    let world = World::new(|_, regions| regions[3].tags = names(&["gpu"]));
    for strategy in Strategy::ALL.into_iter().filter(|strategy| *strategy != Strategy::GeoPin) {
        let wishes = Wishes { tags: names(&["gpu"]), ..by(strategy) };
        assert_eq!(world.route(&wishes, &[]), Ok("sa"), "{strategy:?}");
    }
    let nowhere = Wishes { tags: names(&["gpu", "arm"]), ..Wishes::default() };
    assert!(matches!(world.route(&nowhere, &[]), Err(NoRoute::NoTags { .. })));
    let elsewhere = Wishes { tags: names(&["gpu"]), ..pinned("eu") };
    assert!(matches!(world.route(&elsewhere, &[]), Err(NoRoute::NoTags { .. })));
}

#[test]
fn failover_can_be_bounded_switched_off_and_kept_from_regions() {
    let mut bounded = World::new(|policy, _| policy.failover.max_redirects = 1);
    bounded.check("eu", None);
    let second = bounded.route(&Wishes::default(), &["us"]);
    assert!(second.is_ok());
    assert_eq!(
        bounded.route(&Wishes::default(), &["us", "ap"]),
        Err(NoRoute::AllTried { tried: 2 })
    );

    let mut off = World::new(|policy, _| policy.failover.enabled = false);
    assert_eq!(off.route(&Wishes::default(), &[]), Ok("eu"));
    assert!(off.route(&Wishes::default(), &["eu"]).is_err());
    off.check("eu", None);
    assert_eq!(off.route(&Wishes::default(), &[]), Err(NoRoute::NoneAvailable));

    let mut excluding = World::new(|policy, _| policy.failover.exclude = names(&["us", "ap"]));
    excluding.check("eu", None);
    assert_eq!(excluding.route(&Wishes::default(), &[]), Ok("sa"));
    assert_eq!(excluding.route(&pinned("us"), &[]), Ok("us"), "a pin is not a failover");
}

#[test]
fn without_the_hub_every_region_keeps_to_itself() {
    let hub = RegionId::parse("us").unwrap();
    let mut world = World::with(Topology::HubSpoke { hub }, |_, _| ());
    assert_eq!(world.route(&pinned("ap"), &[]), Ok("ap"));
    world.check("us", None);
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("eu"));
    assert_eq!(world.route(&by(Strategy::Overflow), &[]), Ok("eu"));
    assert_eq!(world.route(&pinned("eu"), &[]), Ok("eu"));
    let away = NoRoute::HubAway { hub: "us".to_owned() };
    assert_eq!(world.route(&pinned("ap"), &[]), Err(away.clone()));
    assert_eq!(world.route(&Wishes::default(), &["eu"]), Err(away));
    let explained = world.federation.explain(&pinned("ap"), world.now);
    assert!(explained.candidates.iter().all(|candidate| candidate.score == 0.0), "{explained:?}");
    let explained = world.federation.explain(&Wishes::default(), world.now);
    let of = |id: &str| {
        let index = world.index(id);
        explained.candidates.iter().find(|candidate| candidate.region == index).unwrap()
    };
    assert_eq!((of("eu").score, of("ap").score, of("us").score), (1.0, 0.0, 0.0));
    assert!(of("ap").reason.contains("the hub is unavailable"), "{}", of("ap").reason);
    assert!(of("us").reason.contains("health check"), "{}", of("us").reason);
    world.check("us", Some(10));
    assert_eq!(world.route(&pinned("ap"), &[]), Ok("ap"));
}

#[test]
fn a_half_open_region_gets_one_job_and_only_if_nothing_better_is_there() {
    let mut world = World::new(|_, _| ());
    world.cut_off("eu");
    world.now = at(30);
    assert_ne!(world.route(&Wishes::default(), &[]), Ok("eu"));
    let decision = world.decide(&pinned("eu"), &[]).unwrap();
    let probe = world.federation.begin(decision, world.now).unwrap();
    assert!(world.route(&pinned("eu"), &[]).is_err(), "the probe is under way");
    assert_eq!(world.federation.begin(decision, world.now), None);
    world.federation.finish(probe, AttemptResult::Answered, world.now);
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("eu"));
}

#[test]
fn a_changed_registry_keeps_what_is_known_about_regions_that_stay() {
    let mut world = World::new(|_, _| ());
    world.cut_off("us");
    world.check("ap", Some(42));
    let mut regions = regions();
    regions.remove(0);
    regions[1].url = "https://elsewhere.example.com".to_owned();
    let registry = Registry::new(regions, Topology::Mesh).unwrap();
    world.federation.reconfigure(registry, Policy::new("sa")).unwrap();
    assert_eq!(world.federation.observed(world.index("us")).circuit(world.now), Circuit::Open);
    assert_eq!(world.federation.observed(world.index("ap")).latency().ms(), None, "it moved");
    assert_eq!(world.route(&Wishes::default(), &[]), Ok("sa"));
}

#[test]
fn a_policy_that_names_unknown_regions_is_refused() {
    let refused = |configure: fn(&mut Policy)| {
        let mut policy = Policy::new("eu");
        configure(&mut policy);
        let registry = Registry::new(regions(), Topology::Mesh).unwrap();
        Federation::new(registry, policy).unwrap_err().to_string()
    };
    assert!(refused(|policy| policy.local = "mars".to_owned()).contains("'mars'"));
    assert!(refused(|policy| policy.failover.exclude = names(&["mars"])).contains("exclude"));
    assert!(refused(|policy| policy.failover.prefer = names(&["us", "us"])).contains("twice"));
    assert!(refused(|policy| policy.order = names(&["mars"])).contains("active_passive"));
}

#[test]
fn an_explanation_agrees_with_the_decision_and_names_the_reasons() {
    let mut world = World::new(|_, regions| regions[3].tags = names(&["gpu"]));
    world.check("us", Some(12));
    world.cut_off("ap");
    let explained = world.federation.explain(&Wishes::default(), world.now);
    assert_eq!(explained.decision.as_ref().unwrap().region, world.index("eu"));
    let shown: Vec<(&str, &str)> = explained
        .candidates
        .iter()
        .map(|candidate| (world.name(candidate.region), candidate.reason.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("eu", "local, healthy"),
            ("us", "healthy, 12 ms"),
            ("sa", "healthy"),
            ("ap", "its circuit breaker is open"),
        ]
    );
    assert_eq!(explained.candidates[0].score, 1.0);
    assert_eq!(explained.candidates[3].score, 0.0);
    let pinned = world.federation.explain(&pinned("us"), world.now);
    assert_eq!(world.name(pinned.candidates[0].region), "us");
    assert_eq!(pinned.candidates[1].reason, "the job must run elsewhere");
}

#[test]
fn a_rule_can_make_another_region_the_local_one() {
    let mut world = World::new(|_, _| ());
    let home = Wishes { home: Some("ap".to_owned()), ..Wishes::default() };
    assert_eq!(world.route(&home, &[]), Ok("ap"));
    world.check("us", Some(10));
    world.cut_off("ap");
    assert_eq!(world.route(&home, &[]), Ok("us"), "the nearest of the others");
}

#[test]
fn a_queue_goes_to_the_regions_that_serve_it_by_priority_and_in_turn() {
    let mut world = World::new(|_, regions| {
        let [eu, us, ap] = [0, 1, 2].map(|i| regions[i].clone());
        *regions = vec![
            eu.queues(["email"], 1),
            us.queues(["billing", "reports"], 1),
            ap.queues(["billing", "email"], 1),
        ];
    });
    let of = |queue: &str| Wishes { queue: Some(queue.to_owned()), ..Wishes::default() };
    assert_eq!(world.route(&of("reports"), &[]), Ok("us"));
    assert_eq!(world.spread(10, |_| of("billing")), [0, 5, 5, 0]);
    assert_eq!(world.route(&of("unknown"), &[]), Ok("eu"), "nobody says that it serves it");
    // A strategy of the job's own chooses among the regions that serve its queue.
    let own = Wishes { strategy: Some(Strategy::Affinity), ..of("reports") };
    assert_eq!(world.route(&own, &[]), Ok("us"));
    world.cut_off("us");
    assert_eq!(world.route(&of("billing"), &[]), Ok("ap"));
    assert_eq!(world.route(&of("reports"), &[]), Err(NoRoute::NoneAvailable));
}

#[test]
fn the_region_of_the_first_priority_gets_a_queue_while_it_can() {
    let mut world = World::new(|_, regions| {
        let [eu, us, ap] = [0, 1, 2].map(|i| regions[i].clone());
        *regions = vec![eu.queues(["q"], 3), us.queues(["q"], 1), ap.queues(["q"], 2)];
    });
    let wishes = || Wishes { queue: Some("q".to_owned()), ..Wishes::default() };
    assert_eq!(world.spread(6, |_| wishes()), [0, 6, 0, 0]);
    world.cut_off("us");
    assert_eq!(world.route(&wishes(), &[]), Ok("ap"));
}
