//! When zone rows are written and deleted.

use crate::directory::{Directory, block_on, connect};
use crate::filled;
use rota_model::{ClassId, Millis, Seq};
use rota_store::suite::Fixture;
use rota_store::{Batch, Mutation, View};
use rota_store_sqlite::check::{Depth, check};
use rota_store_sqlite::{Snapshot, SqliteView};

struct Filling {
    directory: Directory,
    store: SqliteView,
    number: u64,
    next_seq: u64,
}

impl Filling {
    fn new() -> Self {
        let directory = Directory::new();
        let store = directory.open();
        let mut filling = Self { directory, store, number: 0, next_seq: 0 };
        let classes = [(1, "mail"), (2, "files")];
        let classes = classes.map(|(id, queue)| Mutation::Class(ClassId(id), filled::class(queue)));
        filling.commit(classes.into()).unwrap();
        filling
    }

    fn commit(&mut self, mutations: Vec<Mutation>) -> Result<(), rota_store::ApplyError> {
        let now = Millis(1_700_000_000_000);
        let number = self.number + 1;
        let batch = Batch { number, now, next_seq: Seq(self.next_seq), event_count: 0, mutations };
        block_on(self.store.apply(&[batch]))?;
        self.number = number;
        Ok(())
    }

    fn insert(&mut self, count: u64) {
        let first = self.next_seq;
        self.next_seq += count;
        let mutations = (first..self.next_seq).map(|seq| filled::insert_sized(seq, 20)).collect();
        self.commit(mutations).unwrap();
    }

    fn delete(&mut self, seqs: impl Iterator<Item = u64>) {
        self.commit(seqs.map(|seq| Mutation::Delete(Seq(seq))).collect()).unwrap();
    }

    /// Number of zone rows of each level.
    fn zones(&self) -> [i64; 4] {
        let conn = connect(&self.directory.file("rota.db"));
        let sql = "SELECT count(*) FROM zones WHERE level = ?1";
        [0, 1, 2, 3].map(|level| conn.query_row(sql, [level], |row| row.get(0)).unwrap())
    }

    fn expect_sound(&self) {
        let snapshot = Snapshot::of_directory(self.directory.path()).unwrap();
        assert_eq!(check(&snapshot, Depth::Quick).damages, []);
    }
}

#[test]
fn many_jobs_share_a_zone_row() {
    let mut filling = Filling::new();
    filling.insert(127);
    assert_eq!(filling.zones(), [0, 0, 0, 0]);
    filling.insert(1);
    assert_eq!(filling.zones(), [1, 0, 0, 0]);
    for _ in 0..8 {
        filling.insert(1_111);
    }
    assert_eq!(filling.zones(), [70, 1, 0, 0]);
    filling.expect_sound();
}

#[test]
fn zones_are_deleted_with_their_last_jobs() {
    let mut filling = Filling::new();
    filling.insert(20_000);
    assert_eq!(filling.zones(), [156, 2, 0, 0]);
    filling.delete((0..8_192).filter(|seq| *seq != 7));
    assert_eq!(filling.zones(), [156, 2, 0, 0], "one job is left");
    filling.expect_sound();
    filling.delete([7].into_iter());
    assert_eq!(filling.zones(), [156 - 64, 1, 0, 0]);
    filling.delete(8_192..20_000);
    assert_eq!(filling.zones(), [156 - 128, 0, 0, 0], "these may still get company");
    // Jobs that are deleted before their zone is complete leave no rows.
    for _ in 0..40 {
        let from = filling.next_seq;
        filling.insert(500);
        filling.delete(from..from + 500);
    }
    assert_eq!(filling.zones(), [56, 0, 0, 0]);
    filling.expect_sound();
}

/// Changes of a failed batch to the zones in memory must be discarded.
#[test]
fn a_failed_batch_does_not_change_the_zones() {
    let mut filling = Filling::new();
    filling.insert(100);
    let mut bad: Vec<_> = (100..300).map(|seq| filled::insert_sized(seq, 20)).collect();
    bad.push(Mutation::Delete(Seq(999)));
    filling.commit(bad).expect_err("there is no such job");
    assert_eq!(filling.zones(), [0, 0, 0, 0]);
    filling.insert(200);
    assert_eq!(filling.zones(), [2, 0, 0, 0]);
    filling.expect_sound();
}

#[test]
fn a_restart_continues_incomplete_zones() {
    let mut filling = Filling::new();
    for n in 1..60 {
        filling.insert(n * 11);
        filling = match n % 3 {
            0 => {
                let Filling { directory, store, number, next_seq } = filling;
                drop(store);
                let store = directory.open();
                Filling { directory, store, number, next_seq }
            }
            _ => filling,
        };
    }
    assert_eq!(filling.next_seq, 19_470);
    assert_eq!(filling.zones(), [152, 2, 0, 0]);
    filling.expect_sound();
}

#[test]
fn migration_builds_the_zones() {
    let mut filling = Filling::new();
    filling.insert(30_000);
    filling.delete(8_192..16_384);
    let expected = rows(&filling.directory);
    let Filling { directory, store, .. } = filling;
    block_on(store.close()).unwrap();
    let conn = connect(&directory.file("rota.db"));
    conn.execute_batch(
        "DROP TABLE zones; DROP TABLE usage; DROP TABLE dead; DROP TABLE replays; DROP TABLE audit; ALTER TABLE live DROP COLUMN pool; \
         ALTER TABLE meta DROP COLUMN term; ALTER TABLE meta DROP COLUMN log_base; \
         ALTER TABLE meta DROP COLUMN event_count; \
         PRAGMA user_version = 4",
    )
    .unwrap();
    drop(conn);
    drop(directory.open());
    assert_eq!(rows(&directory), expected);
}

fn rows(directory: &Directory) -> Vec<(i64, i64, Option<Vec<u8>>)> {
    let conn = connect(&directory.file("rota.db"));
    let mut statement =
        conn.prepare("SELECT level, zone, classes FROM zones ORDER BY level, zone").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}
