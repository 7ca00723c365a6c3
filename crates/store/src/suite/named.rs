//! Small named things.

use std::sync::Arc;

use bytes::Bytes;

use super::Fixture;
use super::driver::Driver;
use super::sample::bytes;
use crate::{Mutation, RowKind};

pub fn named_things_of_each_kind_are_kept_apart<F: Fixture>(fixture: &F) {
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

    let thing = |kind, name: &str, json: &str| -> (RowKind, Arc<str>, Bytes) {
        (kind, name.into(), bytes(json))
    };
    // Those that came later, and that nothing was done to.
    let untouched = RowKind::ALL[4..].iter().flat_map(|kind| {
        let json = format!(r#"{{"kind":{}}}"#, kind.code());
        [thing(*kind, "same", &json), thing(*kind, "Ünï / 名", "{}")]
    });
    let expected = [
        thing(RowKind::Queue, "same", r#"{"kind":0}"#),
        thing(RowKind::Queue, "Ünï / 名", "{}"),
        thing(RowKind::Cron, "same", "2"),
        thing(RowKind::Cron, "Ünï / 名", "{}"),
        thing(RowKind::Worker, "Ünï / 名", "{}"),
        thing(RowKind::Setting, "same", r#"{"kind":3}"#),
        thing(RowKind::Setting, "Ünï / 名", "{}"),
    ];
    let expected: Vec<_> = expected.into_iter().chain(untouched).collect();
    assert_eq!(driver.load().named, expected);
    assert_eq!(driver.crash_and_reopen().load().named, expected);
}
