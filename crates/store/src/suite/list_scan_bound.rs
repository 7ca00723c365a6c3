//! The bound on the rows read for one page.

use rota_model::{ClassId, Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{everything, finish, insert_of};
use crate::{ListQuery, Order};

pub fn pages_end_at_the_scan_bound<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    // One job in a hundred is of class 2.
    driver.commit((0..1000).map(|seq| insert_of(seq, 1 + u32::from(seq % 100 == 50))).collect());
    driver.commit((0..500).map(|seq| finish(seq, Ending::Completed)).collect());
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let query = ListQuery {
            classes: Some(vec![ClassId(2)]),
            order,
            limit: 10,
            scan: 30,
            ..everything()
        };
        let page = driver.list(&query);
        assert!(page.records.is_empty(), "no match among the first thirty");
        let cursor = page.next.expect("the empty page has a cursor");
        match order {
            Order::OldestFirst => assert!(cursor < Seq(50), "{cursor}"),
            Order::NewestFirst => assert!(cursor > Seq(950), "{cursor}"),
        }
        let mut all = driver.list_all(&query);
        if order == Order::NewestFirst {
            all.reverse();
        }
        assert_eq!(all, (0..10).map(|n| n * 100 + 50).collect::<Vec<_>>());

        // With a bound as large as the table, one page finds every match.
        let page = driver.list(&ListQuery { scan: 1000, limit: 100, ..query.clone() });
        assert_eq!((page.records.len(), page.next), (10, None));
    }
}
