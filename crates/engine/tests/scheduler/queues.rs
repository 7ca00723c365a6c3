use rota_model::{QueueStrategy, Starvation};

use super::harness::{Stand, count};
use crate::queue::QueueIx;
use crate::scheduler::Reconfigured;

fn three_queues(stand: &mut Stand) -> Vec<QueueIx> {
    let queues: Vec<_> = (0..3).map(|_| stand.queue()).collect();
    for (id, queue) in ["a", "b", "c"].into_iter().zip(&queues) {
        let tenant = stand.tenant(id, 1.0);
        let class = stand.class(*queue, tenant);
        stand.enter(class, 200);
    }
    queues
}

#[test]
fn queues_go_in_order_or_in_turn() {
    let mut stand = Stand::new();
    let queues = three_queues(&mut stand);
    let strict = stand.ask(&queues, QueueStrategy::Strict);
    assert_eq!(stand.serve(&strict, 10), ["a"; 10]);
    let in_turn = stand.ask(&queues, QueueStrategy::RoundRobin);
    let served = stand.serve(&in_turn, 30);
    assert!(["a", "b", "c"].iter().all(|id| count(&served, id) == 10), "{served:?}");
}

#[test]
fn a_queue_gets_its_guaranteed_part_of_every_run() {
    let mut stand = Stand::new();
    let queues = three_queues(&mut stand);
    let starvation = Starvation { enabled: true, rotation_ms: u64::MAX, min_ratio: Some(200_000) };
    let ask = stand.ask_with(&queues, |rules| rules.starvation = starvation);
    let served = stand.serve(&ask, 200);
    for n in [10, 25, 60] {
        for run in served.windows(n) {
            let least = ["b", "c"].map(|id| count(run, id)).into_iter().min().unwrap();
            assert!(least + 1 >= n / 5, "{least} of {n}");
        }
    }
    assert!(count(&served, "a") >= 115, "the rest is for the first queue");
}

#[test]
fn over_all_queues_a_tenant_in_many_gets_no_more_than_one_in_one() {
    let mut stand = Stand::new();
    let queues: Vec<_> = (0..5).map(|_| stand.queue()).collect();
    let [one, many] = ["one", "many"].map(|id| stand.tenant(id, 1.0));
    let class = stand.class(queues[4], one);
    stand.enter(class, 200);
    for &queue in &queues {
        let class = stand.class(queue, many);
        stand.enter(class, 100);
    }
    let ask = stand.ask_with(&queues, |rules| {
        (rules.strategy, rules.shared) = (QueueStrategy::RoundRobin, true);
    });
    let served = stand.serve(&ask, 200);
    for n in 1..=served.len() {
        assert!(count(&served[..n], "one").abs_diff(count(&served[..n], "many")) <= 1, "{n}");
    }
}

#[test]
fn a_paused_queue_gives_nothing_until_it_goes_on() {
    let mut stand = Stand::new();
    let queues = three_queues(&mut stand);
    let pause =
        |queue, paused| Reconfigured::Queue { queue, paused, cap: None, drops_oldest: false };
    stand.scheduler.reconfigured(pause(queues[0], true));
    let ask = stand.ask(&queues, QueueStrategy::Strict);
    assert_eq!(stand.serve(&ask, 5), ["b"; 5]);
    stand.scheduler.reconfigured(pause(queues[0], false));
    assert_eq!(stand.serve(&ask, 5), ["a"; 5]);
}
