//! Pages stay consistent while jobs are inserted, finished and deleted between them.

use rota_model::{Ending, Seq, State};

use super::Fixture;
use super::driver::Driver;
use super::sample::{claim, everything, finish, insert};
use crate::{ListQuery, Mutation, Order, Record, Selection};

/// Jobs that exist from the first page to the last are listed exactly once.
pub fn pages_list_every_job_once_while_jobs_change<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let mut next_seq = 0;
    for order in [Order::OldestFirst, Order::NewestFirst] {
        for scan in [5, 1000] {
            let first = next_seq;
            driver.commit((first..first + 60).map(insert).collect());
            next_seq += 60;
            list_while_changing(
                &mut driver,
                &mut next_seq,
                ListQuery { order, scan, limit: 7, ..everything() },
            );
        }
    }
}

fn list_while_changing<F: Fixture>(
    driver: &mut Driver<'_, F>,
    next_seq: &mut u64,
    mut query: ListQuery,
) {
    let before = driver.list_all(&everything());
    let mut deleted = Vec::new();
    let mut seen = Vec::new();
    for step in 0.. {
        let page = driver.list(&query);
        seen.extend(page.records.iter().map(|record| record.seq.0));
        let Some(next) = page.next else { break };
        query.after = Some(next);
        change_jobs(driver, next_seq, next.0, &mut deleted, step);
    }
    let mut ordered = seen.clone();
    ordered.sort_unstable();
    if query.order == Order::NewestFirst {
        seen.reverse();
    }
    assert_eq!(seen, ordered, "pages come in order");
    ordered.dedup();
    assert_eq!(seen.len(), ordered.len(), "no job is seen twice");
    let missing: Vec<_> =
        before.iter().filter(|seq| !deleted.contains(*seq) && !seen.contains(seq)).collect();
    assert!(missing.is_empty(), "{missing:?} were not seen");
}

/// Finishes jobs on both sides of the cursor, deletes one and inserts two.
fn change_jobs<F: Fixture>(
    driver: &mut Driver<'_, F>,
    next_seq: &mut u64,
    cursor: u64,
    deleted: &mut Vec<u64>,
    step: u64,
) {
    if step > 200 {
        return;
    }
    let live = driver.load().live;
    let behind = live.partition_point(|live| live.seq.0 < cursor);
    let near: Vec<_> =
        live[behind.saturating_sub(2)..].iter().take(4).map(|live| live.seq.0).collect();
    let mut mutations: Vec<_> = near
        .iter()
        .flat_map(|&seq| [claim(seq), finish(seq, Ending::ALL[seq as usize % 5])])
        .collect();
    if let Some(&last) = near.last() {
        mutations.push(Mutation::Delete(Seq(last)));
        deleted.push(last);
    }
    mutations.extend([insert(*next_seq), insert(*next_seq + 1)]);
    *next_seq += 2;
    driver.commit(mutations);
}

/// A page that is cut by bytes has the cursor of its last job.
pub fn pages_end_at_their_bytes<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..10).map(insert).collect());
    driver.commit((0..5).map(|seq| finish(seq, Ending::Completed)).collect());
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let query = ListQuery { order, ..everything() };
        let all = driver.list(&query).records;
        for max_bytes in [0, 1, all[0].bytes() * 3, usize::MAX] {
            let query = ListQuery { max_bytes, ..query.clone() };
            let seqs: Vec<_> = all.iter().map(|record| record.seq.0).collect();
            assert_eq!(driver.list_all(&query), seqs);
            let page = driver.list(&query);
            let bytes: usize = page.records.iter().map(Record::bytes).sum();
            assert!(bytes <= max_bytes || page.records.len() == 1);
            let last = page.records.last().map(|record| record.seq);
            assert_eq!(page.next, last.filter(|_| page.records.len() < all.len()));
        }
        let page = driver.list(&ListQuery { skip: 4, limit: 3, ..query.clone() });
        assert_eq!((&*page.records, page.next), (&all[4..7], Some(all[6].seq)));
        let page = driver.list(&ListQuery { skip: 8, limit: 3, ..query.clone() });
        assert_eq!((&*page.records, page.next), (&all[8..], None));
        let page = driver.list(&ListQuery { skip: 11, ..query });
        assert_eq!((&*page.records, page.next), (&[][..], None));
    }
}

pub fn pages_end_at_the_limit<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..10).map(insert).collect());
    driver.commit((0..5).map(|seq| finish(seq, Ending::Completed)).collect());
    let mut page_of = |limit, after: Option<u64>, order| {
        let page = driver.list(&ListQuery { limit, after: after.map(Seq), order, ..everything() });
        let seqs: Vec<_> = page.records.iter().map(|record| record.seq.0).collect();
        (seqs, page.next.map(|seq| seq.0))
    };
    let (oldest, newest) = (Order::OldestFirst, Order::NewestFirst);
    assert_eq!(page_of(3, None, oldest), (vec![0, 1, 2], Some(2)));
    assert_eq!(page_of(3, Some(2), oldest), (vec![3, 4, 5], Some(5)));
    assert_eq!(page_of(9, None, oldest), ((0..9).collect(), Some(8)));
    assert_eq!(page_of(10, None, oldest), ((0..10).collect(), None));
    assert_eq!(page_of(5, Some(4), oldest), ((5..10).collect(), None));
    assert_eq!(page_of(5, Some(9), oldest), (vec![], None));
    assert_eq!(page_of(2, None, newest), (vec![9, 8], Some(8)));
    assert_eq!(page_of(5, Some(5), newest), (vec![4, 3, 2, 1, 0], None));
    assert_eq!(page_of(5, Some(0), newest), (vec![], None));

    let select = Selection::state(State::Available);
    let page = driver.list(&ListQuery { select, limit: 2, ..everything() });
    assert_eq!(page.next, Some(Seq(6)));
}
