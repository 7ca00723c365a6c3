use rota_model::{LimitNumbers, QueueStrategy, Rate};

use super::harness::{Stand, slots};
use crate::scheduler::Notice;

#[test]
fn slots_are_never_exceeded_and_always_used() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let gate = stand.gate("k", slots(3));
    let tenant = stand.tenant("t", 1.0);
    let class = stand.class_with(queue, tenant, 0, Some(gate));
    stand.enter(class, 20);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let mut running: Vec<_> = std::iter::from_fn(|| stand.start(&ask)).collect();
    for left in (0..17).rev() {
        assert_eq!(running.len(), 3);
        stand.end(&running.remove(0));
        running.extend(std::iter::from_fn(|| stand.start(&ask)));
        assert_eq!(running.len(), 3, "with {left} left");
    }
}

#[test]
fn a_window_opens_when_its_oldest_start_leaves_it() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let rate = Some(Rate { limit: 2, period_ms: 1_000 });
    let gate = stand.gate("k", LimitNumbers { rate, ..LimitNumbers::default() });
    let tenant = stand.tenant("t", 1.0);
    let class = stand.class_with(queue, tenant, 0, Some(gate));
    stand.enter(class, 10);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    assert!(stand.start(&ask).is_some());
    stand.pass(400);
    assert!(stand.start(&ask).is_some() && stand.start(&ask).is_none());
    stand.pass(599);
    assert!(stand.start(&ask).is_none());
    assert_eq!(stand.scheduler.next_timer(), Some(1_000), "it says when to look again");
    stand.pass(1);
    assert!(stand.start(&ask).is_some() && stand.start(&ask).is_none());
}

#[test]
fn waiting_for_a_limit_is_said_once_and_so_is_its_end() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let gate = stand.gate("k", slots(1));
    let tenant = stand.tenant("t", 1.0);
    let class = stand.class_with(queue, tenant, 0, Some(gate));
    stand.enter(class, 5);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let first = stand.start(&ask).unwrap();
    (0..10).for_each(|_| assert!(stand.start(&ask).is_none()));
    let exceeded = |notice: &&Notice| matches!(notice, Notice::LimitExceeded { .. });
    assert_eq!(stand.notices().iter().filter(exceeded).count(), 1);
    stand.end(&first);
    stand.start(&ask).unwrap();
    let released = |notice: &&Notice| matches!(notice, Notice::LimitReleased { .. });
    assert_eq!(stand.notices().iter().filter(released).count(), 1);
}

#[test]
fn jobs_that_a_limit_holds_keep_nobody_else_waiting() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let gate = stand.gate("k", slots(0));
    let [held, free] = ["held", "free"].map(|id| stand.tenant(id, 1.0));
    let held = stand.class_with(queue, held, 50, Some(gate));
    let free = stand.class(queue, free);
    stand.enter(held, 1_000);
    stand.enter(free, 100);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let before = stand.scheduler.steps();
    assert!(stand.serve(&ask, 100).iter().all(|owner| *owner == "free"));
    let steps = stand.scheduler.steps() - before;
    assert!(steps < 2_000, "{steps} for 100 jobs");
}
