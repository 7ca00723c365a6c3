//! Lists of few jobs beside very many others: what one class does is not felt in the lists of another.

use rota_model::{ClassId, Ending, Seq, State};

use super::Fixture;
use super::driver::Driver;
use super::sample::{everything, finish, insert_of};
use crate::{ListQuery, Mutation, Order, Selection};

const FLOOD: u32 = 1;
const QUIET: u32 = 2;
/// Far fewer rows than there are jobs.
const SCAN: usize = 2_000;

fn of(class: u32) -> ListQuery {
    ListQuery { classes: Some(vec![ClassId(class)]), scan: SCAN, ..everything() }
}

/// 100 jobs amid 20,000 of another class. Of both, some have completed and some are dead.
fn flooded<F: Fixture>(fixture: &F) -> Driver<'_, F> {
    let mut driver = Driver::open(fixture);
    for from in (0..20_100).step_by(2_010) {
        let class = |seq| if (7_000..7_100).contains(&seq) { QUIET } else { FLOOD };
        driver.commit((from..from + 2_010).map(|seq| insert_of(seq, class(seq))).collect());
    }
    driver.commit((0..4_000).map(|seq| finish(seq, Ending::Completed)).collect());
    driver.commit((4_000..5_000).map(|seq| finish(seq, Ending::DeadLetter)).collect());
    driver.commit((7_000..7_030).map(|seq| finish(seq, Ending::Completed)).collect());
    driver.commit((7_030..7_040).map(|seq| finish(seq, Ending::DeadLetter)).collect());
    driver.commit((9_000..16_000).map(|seq| finish(seq, Ending::Completed)).collect());
    driver.commit((16_000..19_000).map(|seq| finish(seq, Ending::DeadLetter)).collect());
    driver
}

/// Every page but the last is full, and together they are these jobs.
fn expect_full_pages<F: Fixture>(
    driver: &mut Driver<'_, F>,
    query: &ListQuery,
    expected: std::ops::Range<u64>,
) {
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let mut left: Vec<_> = expected.clone().collect();
        if order == Order::NewestFirst {
            left.reverse();
        }
        let mut query = ListQuery { order, limit: 20, ..query.clone() };
        while !left.is_empty() {
            let page = driver.list(&query);
            let wanted: Vec<_> = left.drain(..left.len().min(20)).collect();
            let seqs: Vec<_> = page.records.iter().map(|record| record.seq.0).collect();
            assert_eq!(seqs, wanted, "{query:?}");
            match page.next {
                Some(next) => query.after = Some(next),
                None => assert!(left.is_empty(), "{query:?} ends before {left:?}"),
            }
        }
        assert!(driver.list(&ListQuery { after: query.after, ..query }).records.len() <= 20);
    }
}

pub fn a_few_jobs_beside_a_flood_have_full_pages<F: Fixture>(fixture: &F) {
    let mut driver = flooded(fixture);
    for _ in 0..2 {
        for (select, expected) in [
            (Selection::ALL, 7_000..7_100),
            (Selection::state(State::Completed), 7_000..7_030),
            (Selection::state(State::Available), 7_040..7_100),
            (Selection::DEAD_LETTER, 7_030..7_040),
            (Selection::state(State::Scheduled), 0..0),
        ] {
            expect_full_pages(&mut driver, &ListQuery { select, ..of(QUIET) }, expected);
        }
        driver = driver.crash_and_reopen();
    }
}

/// Pages by number read from the beginning, and one job more tells whether another follows.
pub fn a_deep_page_beside_a_flood_is_read_at_once<F: Fixture>(fixture: &F) {
    let mut driver = flooded(fixture);
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let page = driver.list(&ListQuery { order, limit: 81, ..of(QUIET) });
        assert_eq!(page.records.len(), 81);
        assert!(page.next.is_some());
        let page = driver.list(&ListQuery { order, limit: 121, ..of(QUIET) });
        assert_eq!((page.records.len(), page.next), (100, None));
        let page = driver.list(&ListQuery { order, ..of(3) });
        assert_eq!((page.records.len(), page.next), (0, None), "nobody has jobs of this class");
    }
}

pub fn jobs_that_trickle_in_beside_a_flood_have_full_pages<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    for from in (0..20_000).step_by(2_000) {
        let class = |seq| if seq % 1_000 == 500 { QUIET } else { FLOOD };
        driver.commit((from..from + 2_000).map(|seq| insert_of(seq, class(seq))).collect());
    }
    driver.commit((0..10_000).map(|seq| finish(seq, Ending::Completed)).collect());
    let mut expected: Vec<u64> = (0..20).map(|n| n * 1_000 + 500).collect();
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let page = driver.list(&ListQuery { order, scan: 6_000, ..of(QUIET) });
        let seqs: Vec<_> = page.records.iter().map(|record| record.seq.0).collect();
        assert_eq!((seqs, page.next), (expected.clone(), None));
        expected.reverse();
    }
}

pub fn one_of_thousands_of_classes_has_full_pages<F: Fixture>(fixture: &F) {
    const CLASSES: u64 = 4_999;
    let mut driver = Driver::open(fixture);
    for from in (0..20_000).step_by(2_000) {
        let class = |seq| (seq % CLASSES) as u32;
        driver.commit((from..from + 2_000).map(|seq| insert_of(seq, class(seq))).collect());
    }
    for class in [0, 1, 63, 64, 2_500, 4_998] {
        let expected: Vec<_> = (0..20_000).filter(|seq| seq % CLASSES == class).collect();
        let page = driver.list(&of(class as u32));
        let seqs: Vec<_> = page.records.iter().map(|record| record.seq.0).collect();
        assert_eq!((seqs, page.next), (expected, None));
    }
    // And many of them at once, as a tenant with many keys has.
    let classes = (0..CLASSES as u32).step_by(2).map(ClassId).collect();
    let query = ListQuery { classes: Some(classes), scan: SCAN, ..everything() };
    let expected: Vec<_> = (0..20_000).filter(|seq| (seq % CLASSES).is_multiple_of(2)).collect();
    assert_eq!(driver.list_all(&query), expected);
}

/// Deleting what was there, of either class, leaves the rest where it is found.
pub fn a_class_is_listed_while_jobs_around_it_are_deleted<F: Fixture>(fixture: &F) {
    let mut driver = flooded(fixture);
    let delete = |range: std::ops::Range<u64>| range.map(|seq| Mutation::Delete(Seq(seq)));
    driver.commit(delete(0..6_500).collect());
    driver.commit(delete(7_050..19_500).collect());
    for _ in 0..2 {
        expect_full_pages(&mut driver, &of(QUIET), 7_000..7_050);
        let flood = driver.list_all(&of(FLOOD));
        assert_eq!(flood, (6_500..7_000).chain(19_500..20_100).collect::<Vec<_>>());
        driver = driver.close_and_reopen();
    }
    driver.commit(delete(6_500..7_050).chain(delete(19_500..20_100)).collect());
    driver.commit(vec![insert_of(30_000, QUIET), insert_of(30_001, FLOOD)]);
    assert_eq!(driver.list_all(&of(QUIET)), [30_000]);
    assert_eq!(driver.list_all(&of(FLOOD)), [30_001]);
}

/// Nobody is served so, but a store keeps what it is given.
pub fn a_class_is_listed_whatever_the_order_of_its_numbers<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let seqs = [9_000, 5, 700_000, 10, 8_990, 699_990, 64, 1_000_000, 300_000];
    for seq in seqs {
        driver.commit(vec![insert_of(seq, QUIET), insert_of(seq + 1, FLOOD)]);
    }
    let mut expected = seqs.to_vec();
    for _ in 0..2 {
        expected.sort_unstable();
        assert_eq!(driver.list_all(&of(QUIET)), expected);
        expected.reverse();
        let newest_first = ListQuery { order: Order::NewestFirst, scan: 1, ..of(QUIET) };
        assert_eq!(driver.list_all(&newest_first), expected);
        driver = driver.crash_and_reopen();
    }
}
