use rota_model::{ClassId, LimitNumbers, QueueStrategy, Rate};

use super::harness::{Stand, count, slots};
use crate::Config;
use crate::config::PriorityScope;
use crate::scheduler::{FetchRequest, Pick};

#[test]
fn a_key_is_shared_by_weight() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let gate = stand.gate("k", slots(1));
    for (id, weight) in [("heavy", 3.0), ("light", 1.0)] {
        let tenant = stand.tenant(id, weight);
        let class = stand.class_with(queue, tenant, 0, Some(gate));
        stand.enter(class, 200);
    }
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let served = stand.serve(&ask, 120);
    assert_eq!((count(&served, "heavy"), count(&served, "light")), (90, 30));
}

#[test]
fn many_queues_give_a_tenant_no_more_of_a_key() {
    for strategy in [QueueStrategy::RoundRobin, QueueStrategy::LeastLoaded] {
        let mut stand = Stand::new();
        let queues: Vec<_> = (0..8).map(|_| stand.queue()).collect();
        let gate = stand.gate("k", slots(1));
        let [one, many] = ["one", "many"].map(|id| stand.tenant(id, 1.0));
        let class = stand.class_with(queues[0], one, 0, Some(gate));
        stand.enter(class, 200);
        for &queue in &queues {
            let class = stand.class_with(queue, many, 0, Some(gate));
            stand.enter(class, 50);
        }
        let ask = stand.ask(&queues, strategy);
        let served = stand.serve(&ask, 100);
        assert_eq!((count(&served, "one"), count(&served, "many")), (50, 50), "{strategy:?}");
    }
}

/// Rounds in which all open starts of a key are used together, and then end or time passes.
fn used_together(
    stand: &mut Stand,
    ask: &FetchRequest,
    rounds: usize,
    then: impl Fn(&mut Stand, Pick),
) -> Vec<ClassId> {
    let mut served = Vec::new();
    for _ in 0..rounds {
        let some: Vec<Pick> = std::iter::from_fn(|| stand.start(ask)).collect();
        assert!(!some.is_empty());
        served.extend(some.iter().map(|pick| pick.class));
        some.into_iter().for_each(|pick| then(stand, pick));
    }
    served
}

#[test]
fn many_queues_give_a_tenant_no_more_of_starts_that_open_together() {
    let windows = |limit| LimitNumbers {
        rate: Some(Rate { limit, period_ms: 1_000 }),
        ..LimitNumbers::default()
    };
    for numbers in [slots(2), slots(4), slots(10), windows(10)] {
        let mut stand = Stand::new();
        let queues: Vec<_> = (0..10).map(|_| stand.queue()).collect();
        let gate = stand.gate("k", numbers);
        let [one, many] = ["one", "many"].map(|id| stand.tenant(id, 1.0));
        let of_many: Vec<_> =
            queues.iter().map(|queue| stand.class_with(*queue, many, 0, Some(gate))).collect();
        of_many.iter().for_each(|class| drop(stand.enter(*class, 100)));
        let class = stand.class_with(queues[3], one, 0, Some(gate));
        stand.enter(class, 300);
        let ask = stand.ask(&queues, QueueStrategy::RoundRobin);
        let end = |stand: &mut Stand, pick| {
            stand.end(&pick);
            stand.pass(1_000);
        };
        let served = used_together(&mut stand, &ask, 20, end);
        let own = served.iter().filter(|one| **one == class).count();
        assert!(own.abs_diff(served.len() / 2) <= 1, "{own} of {}: {numbers:?}", served.len());
    }
}

#[test]
fn weights_hold_for_starts_of_a_key_that_open_together_over_many_queues() {
    let mut stand = Stand::new();
    let queues: Vec<_> = (0..10).map(|_| stand.queue()).collect();
    let gate = stand.gate("k", slots(16));
    let mut owners = Vec::new();
    for (id, weight, count) in [("a", 10.0, 1), ("b", 5.0, 2), ("c", 1.0, 10)] {
        let tenant = stand.tenant(id, weight);
        for queue in &queues[..count] {
            let class = stand.class_with(*queue, tenant, 0, Some(gate));
            stand.enter(class, 200);
            owners.push((class, id));
        }
    }
    let ask = stand.ask(&queues, QueueStrategy::RoundRobin);
    let served = used_together(&mut stand, &ask, 10, |stand, pick| stand.end(&pick));
    let count = |id| {
        let own = |class: &&ClassId| owners.contains(&(**class, id));
        served.iter().filter(own).count()
    };
    let counts = ["a", "b", "c"].map(count);
    let close = counts.iter().zip([100, 50, 10]).all(|(got, due)| got.abs_diff(due) <= 4);
    assert!(close, "{counts:?} of 160 by weights 10, 5 and 1");
}

#[test]
fn an_offer_passes_on_when_its_tenant_is_served_something_else() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let gate = stand.gate("k", slots(1));
    let [mixed, waits] = ["mixed", "waits"].map(|id| stand.tenant(id, 1.0));
    let other = stand.class(queue, mixed);
    stand.enter(other, 100);
    for tenant in [mixed, waits] {
        let class = stand.class_with(queue, tenant, 0, Some(gate));
        stand.enter(class, 50);
    }
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let served = stand.serve(&ask, 40);
    assert_eq!(count(&served, "waits"), 20, "its share, although the other comes first at the key");
}

#[test]
fn jobs_with_larger_numbers_do_not_wait_for_those_with_smaller_ones() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let [small, large] = [1, 3].map(|most| {
        let gate = stand.gate("k", slots(most));
        stand.class_with(queue, tenant, 0, Some(gate))
    });
    stand.enter(small, 5);
    stand.enter(large, 5);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let started: Vec<_> = std::iter::from_fn(|| stand.start(&ask).map(|pick| pick.class)).collect();
    assert_eq!(started, [small, large, large]);
}

#[test]
fn an_offer_is_for_the_oldest_job_of_its_turn_also_after_a_job_left() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let [one, two] = [1, 2].map(|most| {
        let gate = stand.gate("k", slots(most));
        stand.class_with(queue, tenant, 0, Some(gate))
    });
    let oldest = stand.enter(two, 1)[0];
    let older = stand.enter(one, 1)[0];
    stand.enter(two, 1);
    stand.scheduler.leave(oldest, two).unwrap();
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    assert_eq!(stand.start(&ask).unwrap().seq, older);
}

#[test]
fn a_tenant_that_a_key_kept_from_its_turn_saves_nothing() {
    let mut stand = Stand::new();
    let [queue, other] = [stand.queue(), stand.queue()];
    let gate = stand.gate("k", slots(1));
    let slow = stand.tenant("slow", 0.1);
    let [keyed, first_at_key] = ["keyed", "first"].map(|id| stand.tenant(id, 1.0));
    let class = stand.class_with(queue, keyed, 0, Some(gate));
    stand.enter(class, 100);
    let class = stand.class(queue, slow);
    stand.enter(class, 100);
    let one = stand.ask(&[queue], QueueStrategy::Strict);
    assert_eq!(stand.serve(&one, 2), ["keyed", "slow"]);

    let class = stand.class_with(other, first_at_key, 0, Some(gate));
    stand.enter(class, 1);
    let both = stand.ask(&[queue, other], QueueStrategy::RoundRobin);
    assert_eq!(stand.serve(&both, 1), ["slow"], "the key is for another queue of the fetch");

    let served = stand.serve(&one, 12);
    assert_eq!(count(&served, "slow"), 1, "ten to one, with nothing to catch up on: {served:?}");
}

#[test]
fn the_most_urgent_job_of_a_turn_is_found_among_many_sets_of_numbers() {
    let mut config = Config::default();
    config.fairness.priority_scope = PriorityScope::Tenant;
    let mut stand = Stand::with(&config);
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let mut class = |priority: i16| {
        let rate = Some(Rate { limit: 1_000 + priority as u32, period_ms: 1_000 });
        let gate = stand.gate("k", LimitNumbers { rate, ..slots(1) });
        stand.class_with(queue, tenant, priority, Some(gate))
    };
    let [active, low, middle, high, lowest] = [100, 20, 40, 80, 10].map(&mut class);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    stand.enter(active, 1);
    let pick = stand.start(&ask).unwrap();
    for class in [low, middle] {
        stand.enter(class, 1);
    }
    stand.end(&pick);
    for class in [lowest, high] {
        stand.enter(class, 1);
    }
    assert_eq!(stand.start(&ask).unwrap().class, high);
}

#[test]
fn a_tenant_at_its_cap_keeps_no_offer_from_others_whatever_else_it_waits_for() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let capped = stand.tenant_with("capped", |rules| rules.cap = Some(1));
    let other = stand.tenant("other", 1.0);
    // A level and a key of its own for each job, so that each is offered a start.
    let gates: Vec<_> = (0..12).map(|n| stand.gate(&format!("k{n}"), slots(1))).collect();
    for (n, gate) in gates.iter().enumerate() {
        let class = stand.class_with(queue, capped, 50 - n as i16, Some(*gate));
        stand.enter(class, 1);
    }
    let class = stand.class_with(queue, other, 0, gates.last().copied());
    stand.enter(class, 1);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    stand.start(&ask).expect("the capped tenant has room for one job");
    let second = stand.start(&ask).expect("the last key is free for the other tenant");
    assert_eq!(second.class, class);
}
