//! What `min_dispatch_ratio` promises when fetches name only some of the queues, compared with the
//! best that could have been done by somebody who knew all fetches in advance.

use std::collections::HashSet;

use rota_model::{QueueStrategy, Starvation};

use super::harness::Stand;
use crate::queue::QueueIx;
use crate::scheduler::FetchRequest;

/// A dispatch, in millionths.
const ONE: i64 = 1_000_000;
const DISPATCHES: usize = 90;

/// What queues are owed after a dispatch from one of them: for each, the most that is missing from
/// `ratio` of the dispatches in any window that ends here. A queue gets `ratio * n` of n dispatches,
/// rounded down, less one, as long as this is below two dispatches.
fn owed_after(owed: &[i64], served: usize, ratio: i64) -> Vec<i64> {
    let one = |(queue, owed): (usize, &i64)| match queue == served {
        true => (owed + ratio - ONE).max(0),
        false => owed + ratio,
    };
    owed.iter().enumerate().map(one).collect()
}

/// Whether some order of service keeps the promise, for fetches that each name the queues in a mask.
fn is_possible(fetches: &[u32], queues: usize, ratio: i64) -> bool {
    let mut reachable = vec![vec![0; queues]];
    for mask in fetches {
        let named = |queue: &usize| mask & (1 << queue) != 0;
        let next = |owed: &Vec<i64>| {
            (0..queues).filter(named).map(|queue| owed_after(owed, queue, ratio)).collect()
        };
        let next: HashSet<Vec<i64>> = reachable.iter().flat_map::<Vec<_>, _>(next).collect();
        let mut next: Vec<_> =
            next.into_iter().filter(|owed| owed.iter().all(|one| *one < 2 * ONE)).collect();
        next.sort_unstable_by_key(|owed| (owed.iter().sum::<i64>(), owed.clone()));
        reachable.clear();
        for owed in next {
            let is_worse = |best: &Vec<i64>| best.iter().zip(&owed).all(|(best, one)| best <= one);
            if !reachable.iter().any(is_worse) {
                reachable.push(owed);
            }
        }
    }
    !reachable.is_empty()
}

/// Whether all queues are connected by these sets, so that their dispatches are counted together.
fn are_tied(sets: &[u32]) -> bool {
    let mut tied = sets[0];
    for _ in sets {
        tied = sets.iter().filter(|set| *set & tied != 0).fold(tied, |tied, set| tied | set);
    }
    sets.iter().all(|set| set & tied != 0)
}

/// How fetches name queues.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    /// They are of one pool.
    Pool,
    /// They have no pool.
    Set,
}

/// The most that a queue was owed, when queues always have jobs and the fetches name these.
fn most_owed(fetches: &[u32], queues: usize, ratio: i64, by: By, strategy: QueueStrategy) -> i64 {
    let mut stand = Stand::new();
    let tenant = stand.tenant("t", 1.0);
    let all: Vec<QueueIx> = (0..queues).map(|_| stand.queue()).collect();
    for &queue in &all {
        let class = stand.class(queue, tenant);
        stand.enter(class, fetches.len());
    }
    let starvation =
        Starvation { enabled: true, rotation_ms: u64::MAX, min_ratio: Some(ratio as u32) };
    let pool = stand.ask_with(&all, |rules| {
        (rules.strategy, rules.starvation) = (strategy, starvation);
    });
    let asks: Vec<FetchRequest> = (0..1 << queues)
        .map(|mask: u32| {
            let named: Vec<_> =
                all.iter().copied().filter(|queue| mask & (1 << queue.0) != 0).collect();
            match by {
                By::Pool => Stand::ask_some(&pool, &named),
                By::Set if fetches.contains(&mask) => stand.ask_set(mask, &named, |rules| {
                    (rules.strategy, rules.starvation) = (strategy, starvation);
                }),
                By::Set => pool.clone(),
            }
        })
        .collect();
    let (mut owed, mut most) = (vec![0; queues], 0);
    for mask in fetches {
        let pick = stand.start(&asks[*mask as usize]).expect("all queues have jobs");
        stand.end(&pick);
        assert!(mask & (1 << pick.queue.0) != 0, "{} of {mask:b}", pick.queue.0);
        owed = owed_after(&owed, pick.queue.0 as usize, ratio);
        most = most.max(owed.iter().copied().max().unwrap_or(0));
    }
    most
}

/// Three queues, each with three tenths. Only one fetch in three can serve `c`, and another queue
/// wants it as well, which others could serve.
#[test]
fn a_queue_that_few_fetches_can_serve_goes_before_one_that_others_can_serve() {
    let (a, b, c) = (1, 2, 4);
    let in_turn = [b | c, a | b, a];
    let fetches: Vec<u32> = (0..300).map(|n| in_turn[n % 3]).collect();
    for by in [By::Pool, By::Set] {
        let most = most_owed(&fetches, 3, 300_000, by, QueueStrategy::Strict);
        assert!(most < 2 * ONE, "{by:?}: {most}");
    }
}

/// Fetches that come in turn, over and over. Where the promise can be kept at all, it nearly always is.
/// Otherwise a queue is at most one job late if up to 0.8 of the dispatches are guaranteed, and two
/// beyond that.
#[test]
fn guarantees_hold_over_every_window_whatever_queues_recurring_fetches_name() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut possible, mut late) = ([0; 2], [0; 2]);
    for _ in 0..700 {
        let queues = random.usize(3..=4);
        let guaranteed = random.i64(6..=10);
        let ratio = guaranteed * ONE / 10 / queues as i64;
        let in_turn: Vec<u32> =
            (0..random.usize(2..=6)).map(|_| random.u32(1..1 << queues)).collect();
        let fetches: Vec<u32> = (0..DISPATCHES).map(|n| in_turn[n % in_turn.len()]).collect();
        if !is_possible(&fetches, queues, ratio) {
            continue;
        }
        let strategy =
            if random.bool() { QueueStrategy::Strict } else { QueueStrategy::RoundRobin };
        let by = if random.bool() && are_tied(&in_turn) { By::Set } else { By::Pool };
        let most = most_owed(&fetches, queues, ratio, by, strategy);
        let high = guaranteed > 8;
        let bound = if high { 4 } else { 3 };
        assert!(most < bound * ONE, "{in_turn:?} {ratio} {by:?} {strategy:?}: {most}");
        possible[usize::from(high)] += 1;
        late[usize::from(high)] += i32::from(most >= 2 * ONE);
    }
    assert!(possible[0] > 200 && possible[1] > 100, "{possible:?}");
    assert!(
        late[0] * 100 <= possible[0] && late[1] * 15 <= possible[1],
        "{late:?} of {possible:?}"
    );
}
