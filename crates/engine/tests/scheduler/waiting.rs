use rota_model::{QueueName, QueueStrategy, TenantId};

use super::harness::{Stand, slots};
use crate::queue::QueueIx;
use crate::scheduler::{Ended, FetchRequest, NewWaiter};
use crate::{Fetch, WaiterId};

/// A fetch waits for the only queue, perhaps for one tenant, with a worker that has so many jobs.
fn wait(stand: &mut Stand, id: u64, tenant: Option<&str>, load: Option<usize>) {
    let queues = vec![QueueName::parse("q").unwrap()];
    let tenant = tenant.map(|id| TenantId::parse(id).unwrap());
    let fetch = Fetch { tenant, ..Fetch::of(queues.clone(), 1) };
    let by_load = load.is_some();
    let waits = NewWaiter { queues, pool: None, by_load, load: load.unwrap_or(0), has_room: true };
    stand.scheduler.wait(WaiterId(id), fetch, u64::MAX, waits, |_| Some(QueueIx(0)));
}

fn stop(stand: &mut Stand, id: u64) {
    stand.scheduler.stop_waiting(WaiterId(id), |_| Some(QueueIx(0))).expect("it waits");
}

#[test]
fn the_fetch_that_has_waited_longest_is_tried_first() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let class = stand.class(queue, tenant);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    (1..=3).for_each(|id| wait(&mut stand, id, None, None));
    stand.enter(class, 2);
    for id in 1..=2 {
        assert_eq!(stand.next_waiting(), Some(WaiterId(id)));
        stand.start(&ask).unwrap();
        stop(&mut stand, id);
    }
    assert_eq!(stand.next_waiting(), None, "there are no more jobs");
}

#[test]
fn the_least_loaded_worker_goes_first_where_that_is_asked_for() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let class = stand.class(queue, tenant);
    for (id, load) in [(1, 5), (2, 1), (3, 3)] {
        wait(&mut stand, id, None, Some(load));
    }
    stand.enter(class, 1);
    assert_eq!(stand.next_waiting(), Some(WaiterId(2)));
}

#[test]
fn a_job_asks_no_fetch_that_wants_another_tenants_jobs() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let class = stand.class(queue, tenant);
    (0..1_000).for_each(|id| wait(&mut stand, id, Some("other"), None));
    wait(&mut stand, 5_000, Some("t"), None);
    let before = stand.scheduler.steps();
    stand.enter(class, 1);
    assert_eq!(stand.next_waiting(), Some(WaiterId(5_000)));
    assert!(stand.scheduler.steps() - before < 20);
}

#[test]
fn a_fetch_that_got_nothing_is_not_tried_again_in_the_same_step() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let class = stand.class(queue, tenant);
    (1..=2).for_each(|id| wait(&mut stand, id, None, None));
    stand.enter(class, 1);
    assert_eq!(stand.next_waiting(), Some(WaiterId(1)));
    stand.scheduler.got_nothing(WaiterId(1));
    assert_eq!(stand.next_waiting(), Some(WaiterId(2)));
}

#[test]
fn a_fetch_for_one_tenant_wakes_a_bounded_number_of_its_groups() {
    // What a fetch costs when a slot of one of so many keys was freed since the last, all in use.
    let steps = |keys: usize| {
        let mut stand = Stand::new();
        let queue = stand.queue();
        let tenant = stand.tenant("t", 1.0);
        for n in 0..keys {
            let gate = stand.gate(&format!("k{n}"), slots(1));
            let class = stand.class_with(queue, tenant, 0, Some(gate));
            stand.enter(class, 2);
        }
        let ask = stand.ask(&[queue], QueueStrategy::Strict);
        let ask = FetchRequest { only: Some(tenant), ..ask };
        let running: Vec<_> = (0..keys).map(|_| stand.start(&ask).unwrap()).collect();
        assert!(stand.start(&ask).is_none(), "all keys are in use");
        let freed = running.last().unwrap().class;
        stand.scheduler.ended(&Ended { class: freed, pool: None, correction: None });
        let before = stand.scheduler.steps();
        assert_eq!(stand.start(&ask).unwrap().class, freed);
        stand.scheduler.steps() - before
    };
    let [few, at_bound, many] = [10, 64, 2_000].map(steps);
    assert!(at_bound - few >= 54, "each of the first 64 costs a step: {few}, {at_bound}");
    assert!(many <= at_bound + 20, "{at_bound} steps with 64 groups, {many} with 2,000");
}
