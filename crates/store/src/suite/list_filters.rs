//! Lists filtered by state, ending, class or creation time.

use rota_model::{ClassId, Ending, State};

use super::Fixture;
use super::driver::Driver;
use super::sample::{created, everything, finish, insert, insert_in, insert_of};
use crate::{ListQuery, Order, Selection};

const LIVE_STATES: [State; 5] =
    [State::Scheduled, State::Available, State::Pending, State::Active, State::Retryable];

/// Jobs 0 to 39. In each group of ten, the first five have one of the live states each, and the
/// other five have one of the endings each.
fn open_with_mixed_jobs<F: Fixture>(fixture: &F) -> Driver<'_, F> {
    let mut driver = Driver::open(fixture);
    driver.commit((0..40).map(|seq| insert_in(seq, LIVE_STATES[seq as usize % 5])).collect());
    let finished = (0..40).filter(|seq| seq / 5 % 2 == 1);
    driver.commit(finished.map(|seq| finish(seq, Ending::ALL[seq as usize % 5])).collect());
    driver
}

fn expect_selection<F: Fixture>(driver: &mut Driver<'_, F>, select: Selection, expected: &[u64]) {
    // The jobs are the same for any page size and scan bound, in either order.
    for (limit, scan) in [(100, 100), (1, 100), (100, 1), (3, 2)] {
        let query = ListQuery { select, limit, scan, ..everything() };
        assert_eq!(driver.list_all(&query), expected, "{select:?} by {limit}/{scan}");
        let query = ListQuery { order: Order::NewestFirst, ..query };
        let reversed: Vec<_> = expected.iter().rev().copied().collect();
        assert_eq!(driver.list_all(&query), reversed, "{select:?} by {limit}/{scan}");
    }
}

pub fn lists_select_by_state<F: Fixture>(fixture: &F) {
    let mut driver = open_with_mixed_jobs(fixture);
    for (n, state) in (0..).zip(LIVE_STATES) {
        expect_selection(&mut driver, Selection::state(state), &[n, n + 10, n + 20, n + 30]);
    }
    let rare = Selection::state(State::Retryable).with(State::Scheduled);
    expect_selection(&mut driver, rare, &[0, 4, 10, 14, 20, 24, 30, 34]);
    let mixed = Selection::state(State::Active).with(State::Scheduled);
    expect_selection(&mut driver, mixed, &[0, 3, 10, 13, 20, 23, 30, 33]);
    expect_selection(&mut driver, Selection::NONE, &[]);
}

pub fn lists_select_by_ending<F: Fixture>(fixture: &F) {
    let mut driver = open_with_mixed_jobs(fixture);
    expect_selection(&mut driver, Selection::state(State::Completed), &[5, 15, 25, 35]);
    expect_selection(&mut driver, Selection::state(State::Cancelled), &[6, 16, 26, 36]);
    let discarded = [7, 8, 9, 17, 18, 19, 27, 28, 29, 37, 38, 39];
    expect_selection(&mut driver, Selection::state(State::Discarded), &discarded);
    let both = Selection::state(State::Completed).with(State::Cancelled);
    expect_selection(&mut driver, both, &[5, 6, 15, 16, 25, 26, 35, 36]);
}

pub fn lists_select_the_dead_letter<F: Fixture>(fixture: &F) {
    let mut driver = open_with_mixed_jobs(fixture);
    expect_selection(&mut driver, Selection::DEAD_LETTER, &[7, 17, 27, 37]);
}

pub fn lists_merge_live_and_finished_jobs_in_order<F: Fixture>(fixture: &F) {
    let mut driver = open_with_mixed_jobs(fixture);
    expect_selection(&mut driver, Selection::ALL, &(0..40).collect::<Vec<_>>());
    let rare = Selection::state(State::Cancelled).with(State::Pending);
    expect_selection(&mut driver, rare, &[2, 6, 12, 16, 22, 26, 32, 36]);
    let page = driver.list(&everything());
    assert_eq!(page.next, None);
    for record in page.records {
        assert_eq!(record, driver.record(record.seq.0), "a page holds whole records");
    }
}

pub fn lists_select_by_class<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..30).map(|seq| insert_of(seq, seq as u32 % 3)).collect());
    driver.commit((0..15).map(|seq| finish(seq, Ending::Completed)).collect());
    let mut of = |classes: &[u32], select| {
        let classes = Some(classes.iter().copied().map(ClassId).collect());
        driver.list_all(&ListQuery { classes, select, limit: 4, ..everything() })
    };
    let every_third = |from, to| (from..to).step_by(3).collect::<Vec<u64>>();
    assert_eq!(of(&[1], Selection::ALL), every_third(1, 30));
    assert_eq!(of(&[2], Selection::state(State::Completed)), every_third(2, 15));
    assert_eq!(of(&[0, 1, 2], Selection::ALL), (0..30).collect::<Vec<_>>());
    assert_eq!(of(&[0, 7], Selection::state(State::Available)), every_third(15, 30));
    assert!(of(&[], Selection::ALL).is_empty());
    assert!(of(&[7], Selection::ALL).is_empty());
}

pub fn lists_select_by_creation<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    // Sequence numbers have gaps, and jobs share creation times: 10, 10, 20, 20, 30, 30, ...
    let jobs = (1..=20).map(|n| {
        let crate::Mutation::Insert(mut new, live) = insert(n * 100) else { unreachable!() };
        new.created = created(n.div_ceil(2) * 10);
        crate::Mutation::Insert(new, live)
    });
    driver.commit(jobs.collect());
    driver.commit((1..=10).map(|n| finish(n * 200, Ending::Completed)).collect());
    let mut between = |since: Option<u64>, until: Option<u64>| {
        let (since, until) = (since.map(created), until.map(created));
        let query = ListQuery { since, until, limit: 3, ..everything() };
        let oldest_first = driver.list_all(&query);
        let mut newest_first = driver.list_all(&ListQuery { order: Order::NewestFirst, ..query });
        newest_first.reverse();
        assert_eq!(oldest_first, newest_first);
        oldest_first.iter().map(|seq| seq / 100).collect::<Vec<_>>()
    };
    assert_eq!(between(Some(20), Some(40)), [3, 4, 5, 6]);
    assert_eq!(between(Some(15), Some(31)), [3, 4, 5, 6]);
    assert_eq!(between(None, Some(11)), [1, 2]);
    assert_eq!(between(Some(95), None), [19, 20]);
    assert_eq!(between(Some(0), Some(1000)), (1..=20).collect::<Vec<_>>());
    for (since, until) in
        [(Some(101), None), (None, Some(10)), (Some(40), Some(40)), (Some(50), Some(20))]
    {
        assert!(between(since, until).is_empty(), "{since:?} to {until:?}");
    }
}
