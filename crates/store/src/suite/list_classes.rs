//! Lists of a class with few jobs do not become slower when another class has very many.

use rota_model::{ClassId, Ending, Seq, State};

use super::Fixture;
use super::driver::Driver;
use super::sample::{everything, finish, insert_of};
use crate::{ListQuery, Mutation, Order, Selection};

const LARGE: u32 = 1;
const SMALL: u32 = 2;
/// Far smaller than the number of jobs, so reading every row would leave pages short.
const SCAN: usize = 2_000;

fn of(class: u32) -> ListQuery {
    ListQuery { classes: Some(vec![ClassId(class)]), scan: SCAN, ..everything() }
}

/// 100 jobs of the small class among 20,000 of the large one. Both have live jobs, completed jobs
/// and jobs in the dead letter.
fn open_with_large_class<F: Fixture>(fixture: &F) -> Driver<'_, F> {
    let mut driver = Driver::open(fixture);
    for from in (0..20_100).step_by(2_010) {
        let class = |seq| if (7_000..7_100).contains(&seq) { SMALL } else { LARGE };
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

/// Checks that every page but the last is full, and that together they list the expected jobs.
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

pub fn a_small_class_beside_a_large_one_has_full_pages<F: Fixture>(fixture: &F) {
    let mut driver = open_with_large_class(fixture);
    for _ in 0..2 {
        for (select, expected) in [
            (Selection::ALL, 7_000..7_100),
            (Selection::state(State::Completed), 7_000..7_030),
            (Selection::state(State::Available), 7_040..7_100),
            (Selection::DEAD_LETTER, 7_030..7_040),
            (Selection::state(State::Scheduled), 0..0),
        ] {
            expect_full_pages(&mut driver, &ListQuery { select, ..of(SMALL) }, expected);
        }
        driver = driver.crash_and_reopen();
    }
}

/// The server reads page n by listing all jobs up to it, plus one to know whether a page follows.
pub fn a_deep_page_beside_a_large_class_is_one_read<F: Fixture>(fixture: &F) {
    let mut driver = open_with_large_class(fixture);
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let page = driver.list(&ListQuery { order, limit: 81, ..of(SMALL) });
        assert_eq!(page.records.len(), 81);
        assert!(page.next.is_some());
        let page = driver.list(&ListQuery { order, limit: 121, ..of(SMALL) });
        assert_eq!((page.records.len(), page.next), (100, None));
        let page = driver.list(&ListQuery { order, ..of(3) });
        assert_eq!((page.records.len(), page.next), (0, None), "no job has this class");
    }
}

pub fn sparse_jobs_beside_a_large_class_have_full_pages<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    for from in (0..20_000).step_by(2_000) {
        let class = |seq| if seq % 1_000 == 500 { SMALL } else { LARGE };
        driver.commit((from..from + 2_000).map(|seq| insert_of(seq, class(seq))).collect());
    }
    driver.commit((0..10_000).map(|seq| finish(seq, Ending::Completed)).collect());
    let mut expected: Vec<u64> = (0..20).map(|n| n * 1_000 + 500).collect();
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let page = driver.list(&ListQuery { order, scan: 6_000, ..of(SMALL) });
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
    // A tenant with many limit keys has many classes, all listed at once.
    let classes = (0..CLASSES as u32).step_by(2).map(ClassId).collect();
    let query = ListQuery { classes: Some(classes), scan: SCAN, ..everything() };
    let expected: Vec<_> = (0..20_000).filter(|seq| (seq % CLASSES).is_multiple_of(2)).collect();
    assert_eq!(driver.list_all(&query), expected);
}

/// Deleting jobs of both classes does not hide the remaining ones.
pub fn a_class_is_listed_while_jobs_around_it_are_deleted<F: Fixture>(fixture: &F) {
    let mut driver = open_with_large_class(fixture);
    let delete = |range: std::ops::Range<u64>| range.map(|seq| Mutation::Delete(Seq(seq)));
    driver.commit(delete(0..6_500).collect());
    driver.commit(delete(7_050..19_500).collect());
    for _ in 0..2 {
        expect_full_pages(&mut driver, &of(SMALL), 7_000..7_050);
        let large = driver.list_all(&of(LARGE));
        assert_eq!(large, (6_500..7_000).chain(19_500..20_100).collect::<Vec<_>>());
        driver = driver.close_and_reopen();
    }
    driver.commit(delete(6_500..7_050).chain(delete(19_500..20_100)).collect());
    driver.commit(vec![insert_of(30_000, SMALL), insert_of(30_001, LARGE)]);
    assert_eq!(driver.list_all(&of(SMALL)), [30_000]);
    assert_eq!(driver.list_all(&of(LARGE)), [30_001]);
}

/// The engine assigns sequence numbers in order, but a store must not depend on it.
pub fn a_class_is_listed_when_sequence_numbers_are_out_of_order<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let seqs = [9_000, 5, 700_000, 10, 8_990, 699_990, 64, 1_000_000, 300_000];
    for seq in seqs {
        driver.commit(vec![insert_of(seq, SMALL), insert_of(seq + 1, LARGE)]);
    }
    let mut expected = seqs.to_vec();
    for _ in 0..2 {
        expected.sort_unstable();
        assert_eq!(driver.list_all(&of(SMALL)), expected);
        expected.reverse();
        let newest_first = ListQuery { order: Order::NewestFirst, scan: 1, ..of(SMALL) };
        assert_eq!(driver.list_all(&newest_first), expected);
        driver = driver.crash_and_reopen();
    }
}
