//! Named JSON rows: queues, schedules, workers, settings and so on.

use std::sync::Arc;

use bytes::Bytes;

use super::Fixture;
use super::driver::Driver;
use super::sample::bytes;
use crate::{Mutation, RowKind};

pub fn named_rows_of_different_kinds_are_separate<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let put = |kind, name: &str, json: &str| Mutation::Put(kind, name.into(), bytes(json));
    let mut first = Vec::new();
    for kind in RowKind::ALL {
        let json = format!(r#"{{"kind":{}}}"#, kind.code());
        first.extend([
            put(kind, "same", &json),
            put(kind, "Ünï / 名", "{}"),
            put(kind, "gone", "1"),
        ]);
    }
    driver.commit(first);
    driver.commit(vec![
        put(RowKind::Cron, "same", "2"),
        Mutation::Remove(RowKind::Worker, "same".into()),
    ]);
    driver.commit(RowKind::ALL.map(|kind| Mutation::Remove(kind, "gone".into())).to_vec());
    driver.commit(vec![Mutation::Remove(RowKind::Queue, "never there".into())]);

    let row = |kind, name: &str, json: &str| -> (RowKind, Arc<str>, Bytes) {
        (kind, name.into(), bytes(json))
    };
    // The kinds that no mutation above has changed.
    let untouched = RowKind::ALL[4..].iter().flat_map(|kind| {
        let json = format!(r#"{{"kind":{}}}"#, kind.code());
        [row(*kind, "same", &json), row(*kind, "Ünï / 名", "{}")]
    });
    let expected = [
        row(RowKind::Queue, "same", r#"{"kind":0}"#),
        row(RowKind::Queue, "Ünï / 名", "{}"),
        row(RowKind::Cron, "same", "2"),
        row(RowKind::Cron, "Ünï / 名", "{}"),
        row(RowKind::Worker, "Ünï / 名", "{}"),
        row(RowKind::Setting, "same", r#"{"kind":3}"#),
        row(RowKind::Setting, "Ünï / 名", "{}"),
    ];
    let expected: Vec<_> = expected.into_iter().chain(untouched).collect();
    assert_eq!(driver.load().named, expected);
    assert_eq!(driver.crash_and_reopen().load().named, expected);
}
