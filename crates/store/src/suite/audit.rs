//! The audit log: appended, listed by page and by filter, and trimmed from its beginning.

use bytes::Bytes;
use rota_model::audit::{AuditHash, AuditOutcome, AuditRow};
use rota_model::{Millis, TenantId};

use super::Fixture;
use super::driver::Driver;
use crate::{AuditQuery, Mutation, Order};

fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).expect("a tenant's id")
}

/// Entry `number`, written at `number` times 10 ms. Every third is tenant a's, every fourth a failure.
fn row(number: u64) -> AuditRow {
    let by_tenant = number.is_multiple_of(3);
    let (event, outcome) = match number % 4 {
        0 => ("auth.permission_denied", "failure"),
        1 => ("queue.pause", "success"),
        _ => ("queue.purge", "success"),
    };
    let principal = if by_tenant { "a" } else { "operator" };
    let json = format!(
        r#"{{"event_type":"{event}","number":{number},"outcome":"{outcome}","principal":"{principal}"}}"#
    );
    AuditRow {
        number,
        at: Millis(10 * number as i64),
        tenant: by_tenant.then(|| tenant("a")),
        hash: AuditHash::default().followed_by(json.as_bytes()),
        json: Bytes::from(json),
    }
}

fn write(driver: &mut Driver<'_, impl Fixture>, numbers: std::ops::RangeInclusive<u64>) {
    driver.commit(numbers.map(|number| Mutation::Audit(Box::new(row(number)))).collect());
}

pub fn audit_entries_are_listed_in_pages_from_either_end<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    write(&mut driver, 1..=10);
    let mut driver = driver.crash_and_reopen();
    let page = driver.audit(&AuditQuery::all(Order::OldestFirst, 4));
    assert_eq!(page.rows, (1..=4).map(row).collect::<Vec<_>>());
    assert_eq!(page.next, Some(4));
    let oldest = driver.audit_all(&AuditQuery::all(Order::OldestFirst, 4));
    assert_eq!(oldest, (1..=10).collect::<Vec<_>>());
    let newest = driver.audit_all(&AuditQuery::all(Order::NewestFirst, 3));
    assert_eq!(newest, (1..=10).rev().collect::<Vec<_>>());
    let page = driver.audit(&AuditQuery::all(Order::NewestFirst, 10));
    assert_eq!(page.next, None, "a page that reaches the end has no cursor");
}

pub fn audit_entries_are_filtered<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    write(&mut driver, 1..=20);
    let all = AuditQuery { scan: 100, ..AuditQuery::all(Order::OldestFirst, 100) };
    let mut numbers = |query: AuditQuery| driver.audit_all(&query);
    let of_tenant = AuditQuery { tenant: Some(tenant("a")), ..all.clone() };
    assert_eq!(numbers(of_tenant.clone()), [3, 6, 9, 12, 15, 18]);
    assert_eq!(numbers(AuditQuery { tenant: Some(tenant("b")), ..all.clone() }), [0; 0]);
    assert_eq!(
        numbers(AuditQuery { subject: Some("a".into()), ..all.clone() }),
        [3, 6, 9, 12, 15, 18]
    );
    let of_queue = AuditQuery { action: Some("queue".into()), ..all.clone() };
    assert_eq!(numbers(of_queue).len(), 15);
    for none in ["que", "pause", "queue.pause.x"] {
        assert_eq!(numbers(AuditQuery { action: Some(none.into()), ..all.clone() }), [0; 0]);
    }
    let failures = AuditQuery { outcome: Some(AuditOutcome::Failure), ..all.clone() };
    assert_eq!(numbers(failures.clone()), [4, 8, 12, 16, 20]);
    let both = AuditQuery { tenant: Some(tenant("a")), ..failures };
    assert_eq!(numbers(both), [12]);
    let between = AuditQuery { since: Some(Millis(45)), until: Some(Millis(80)), ..all.clone() };
    assert_eq!(numbers(between.clone()), [5, 6, 7]);
    assert_eq!(numbers(AuditQuery { order: Order::NewestFirst, ..between }), [7, 6, 5]);
    assert_eq!(numbers(AuditQuery { since: Some(Millis(201)), ..all.clone() }), [0; 0]);
    assert_eq!(numbers(AuditQuery { until: Some(Millis(10)), ..all }), [0; 0]);
    let pages = AuditQuery { limit: 2, since: Some(Millis(60)), ..of_tenant };
    assert_eq!(numbers(pages), [6, 9, 12, 15, 18]);
}

pub fn a_page_of_the_audit_log_reads_a_bounded_number_of_entries<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    write(&mut driver, 1..=20);
    let query = AuditQuery {
        outcome: Some(AuditOutcome::Failure),
        scan: 3,
        ..AuditQuery::all(Order::OldestFirst, 100)
    };
    let page = driver.audit(&query);
    assert_eq!((page.rows.len(), page.next), (0, Some(3)), "an empty page with a cursor");
    assert_eq!(driver.audit_all(&query), [4, 8, 12, 16, 20]);
    // Entries of others are not read.
    let query = AuditQuery { tenant: Some(tenant("a")), scan: 2, outcome: None, ..query };
    let page = driver.audit(&query);
    assert_eq!(page.rows.iter().map(|row| row.number).collect::<Vec<_>>(), [3, 6]);
}

pub fn the_audit_log_is_trimmed_from_its_beginning<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    write(&mut driver, 1..=10);
    let oldest = driver.oldest_audit(3);
    let expected: Vec<_> = (1..=3).map(row).map(|row| (row.number, row.at, row.hash)).collect();
    assert_eq!(
        oldest.iter().map(|stub| (stub.number, stub.at, stub.hash)).collect::<Vec<_>>(),
        expected
    );
    driver.commit(vec![Mutation::TrimAudit(7)]);
    assert_eq!(driver.audit_all(&AuditQuery::all(Order::OldestFirst, 4)), [8, 9, 10]);
    assert_eq!(driver.oldest_audit(1)[0].number, 8);
    driver.commit(vec![Mutation::TrimAudit(10)]);
    assert!(driver.oldest_audit(1).is_empty());
    let batch = driver.next_batch([11, 11].map(|n| Mutation::Audit(Box::new(row(n)))).to_vec());
    driver.try_commit(&batch).expect_err("a number is used once");
}
