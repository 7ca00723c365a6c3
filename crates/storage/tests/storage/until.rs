//! Restores to random moments of a recorded history, parts of which earlier restores have abandoned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rota_log::{ArchiveWriter, Entry, HistoryError, Log};
use rota_model::{Millis, Seq};
use rota_storage::{
    IdentityError, Moment, Options, RestoreError, RestoredTo, Storage, backup_source,
    log_directory, open, restore_to,
};
use rota_store::{Batch, Mutation, RowKind, View, encoding};
use rota_store_sqlite::{CopyError, backup};
use tempfile::TempDir;

use crate::directory::{OPTIONS, close, ready};

/// Rows by name, as of a moment.
type Rows = BTreeMap<String, String>;

/// A server's data and everything that it ever was, in the newest history.
struct Recorded {
    home: TempDir,
    rng: fastrand::Rng,
    /// The time and the rows after each record.
    moments: Vec<(i64, Rows)>,
    /// Backups of the newest history, and their last record.
    backups: Vec<(PathBuf, u64)>,
    abandoned_backups: Vec<PathBuf>,
    backups_made: u32,
}

impl Recorded {
    fn new(seed: u64) -> Self {
        Self {
            home: TempDir::new().unwrap(),
            rng: fastrand::Rng::with_seed(seed),
            moments: Vec::new(),
            backups: Vec::new(),
            abandoned_backups: Vec::new(),
            backups_made: 0,
        }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn archive(&self) -> PathBuf {
        self.home.path().join("archive")
    }

    fn options(&self) -> Options {
        Options { archive: Some(self.archive()), ..OPTIONS }
    }

    /// A server runs for a while. It ends in order, or is killed.
    fn live(&mut self) {
        let mut storage = open(&self.data(), &self.options(), &mut |_| ()).unwrap();
        let mut archive = ArchiveWriter::new(&log_directory(&self.data()), &self.archive());
        for _ in 0..self.rng.u32(1..25) {
            self.commit(&mut storage);
            let last = storage.log.tip().index;
            if self.rng.u8(..4) == 0 {
                let archived = archive.advance(last, self.rng.bool()).unwrap();
                let below = archived.min(storage.view.durable() + 1);
                ready(storage.log.truncate(below)).unwrap();
            }
        }
        archive.advance(storage.log.tip().index, true).unwrap();
        if self.rng.bool() {
            close(storage);
        }
    }

    fn commit(&mut self, storage: &mut Storage) {
        let (mut now, mut rows) = self.moments.last().cloned().unwrap_or_default();
        now += self.rng.i64(0..3);
        let mut mutations = Vec::new();
        for _ in 0..self.rng.u8(..4) {
            let name = format!("row-{}", self.rng.u8(..20));
            let large = "x".repeat(self.rng.usize(..60_000));
            let value = format!("{{\"{large}\":{}}}", self.rng.u32(..));
            mutations.push(Mutation::Put(
                RowKind::Setting,
                name.as_str().into(),
                value.clone().into(),
            ));
            rows.insert(name, value);
        }
        let number = storage.log.tip().index + 1;
        let batch = Batch { number, now: Millis(now), next_seq: Seq(0), event_count: 0, mutations };
        let mut payload = Vec::new();
        encoding::encode(&batch, &[], &mut payload);
        let entry = Entry { index: number, term: storage.term, time: now, payload: payload.into() };
        ready(storage.log.append(&entry)).unwrap();
        if self.rng.u8(..8) > 0 && ready(storage.view.applied()).unwrap() + 1 == number {
            ready(storage.view.apply(&[batch])).unwrap();
        }
        self.moments.push((now, rows));
    }

    fn back_up(&mut self) {
        self.backups_made += 1;
        let file = self.home.path().join(format!("backup-{}.db", self.backups_made));
        let data = self.data();
        let source = || backup_source(&data).map_err(|error| CopyError::Storage(error.to_string()));
        let copied = backup(&data, &file, false, source, &mut |_| ()).unwrap();
        self.backups.push((file, copied.commit));
    }

    /// A random backup, or none, and a time at or after it.
    fn random_moment(&mut self) -> Moment {
        let at = self.rng.usize(..=self.backups.len());
        let backup = self.backups.get(at).cloned();
        let from = backup.as_ref().map_or(0, |(_, index)| (*index as usize).saturating_sub(1));
        let at = self.rng.usize(from..=self.moments.len());
        let until = self.moments.get(at).map(|(time, _)| Millis(*time));
        Moment {
            backup: backup.map(|(file, _)| file),
            archive: Some(self.archive()),
            until,
            up_to_damage: false,
        }
    }

    fn restore(&self, moment: &Moment, to: &Path) -> Result<RestoredTo, RestoreError> {
        restore_to(moment, to, true, &mut |_| ())
    }

    /// The last record that was committed at or before a time.
    fn last_at(&self, until: Option<Millis>) -> u64 {
        let is_later = |(time, _): &(i64, Rows)| until.is_some_and(|until| *time > until.0);
        self.moments.iter().position(is_later).unwrap_or(self.moments.len()) as u64
    }

    #[track_caller]
    fn check(&self, moment: &Moment, reached: &RestoredTo, dir: &Path, context: &str) {
        let expected = self.last_at(moment.until);
        assert_eq!(reached.last.index, expected, "{context}: {moment:?}");
        assert_eq!(reached.is_newest, expected == self.moments.len() as u64, "{context}");
        let rows = match expected.checked_sub(1) {
            Some(at) => self.moments[at as usize].1.clone(),
            None => Rows::new(),
        };
        assert!(rows == rows_of(dir), "{context}: {moment:?} has other rows");
    }
}

fn rows_of(dir: &Path) -> Rows {
    let conn = crate::directory::database(dir);
    let mut rows = conn.prepare("SELECT name, json FROM named").unwrap();
    let rows = rows.query_map([], |row| {
        Ok((row.get(0)?, String::from_utf8(row.get::<_, Vec<u8>>(1)?).unwrap()))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn any_moment_of_the_newest_history_can_be_restored() {
    let (mut elsewhere, mut in_place) = (0, 0);
    for seed in 0..5 {
        let mut world = Recorded::new(seed);
        for life in 0..6 {
            world.live();
            if world.rng.bool() {
                world.back_up();
            }
            let context = format!("seed {seed}, life {life}");
            for _ in 0..2 {
                let moment = world.random_moment();
                let to = TempDir::new().unwrap();
                let reached = world
                    .restore(&moment, to.path())
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
                world.check(&moment, &reached, to.path(), &context);
                elsewhere += 1;
            }
            for file in &world.abandoned_backups {
                let moment = Moment {
                    backup: Some(file.clone()),
                    until: None,
                    up_to_damage: false,
                    archive: Some(world.archive()),
                };
                let refused = world.restore(&moment, TempDir::new().unwrap().path());
                assert!(
                    matches!(
                        refused,
                        Err(RestoreError::History { cause: HistoryError::Abandoned { .. }, .. })
                    ),
                    "{context}: {refused:?}"
                );
            }
            if world.rng.u8(..3) == 0 {
                let moment = world.random_moment();
                let reached = world.restore(&moment, &world.data()).unwrap();
                world.check(&moment, &reached, &world.data(), &context);
                let last = reached.last.index;
                world.moments.truncate(last as usize);
                let (kept, gone) = world.backups.drain(..).partition(|(_, index)| *index <= last);
                world.backups = kept;
                let gone: Vec<(PathBuf, u64)> = gone;
                world.abandoned_backups.extend(gone.into_iter().map(|(file, _)| file));
                // Its records show that the others are abandoned.
                world.live();
                in_place += 1;
            }
        }
    }
    assert!(elsewhere == 60 && in_place > 3, "{elsewhere} {in_place}");
}

/// Without an archive, the log that is still in the directory continues the backup.
#[test]
fn the_log_of_the_directory_continues_a_backup() {
    let mut world = Recorded::new(77);
    world.live();
    world.back_up();
    let mut storage = open(&world.data(), &OPTIONS, &mut |_| ()).unwrap();
    (0..30).for_each(|_| world.commit(&mut storage));
    drop(storage);
    let (file, index) = world.backups[0].clone();
    let until = Some(Millis(world.moments[index as usize + 10].0));
    let moment = Moment { backup: Some(file), archive: None, until, up_to_damage: false };
    let reached = world.restore(&moment, &world.data()).unwrap();
    world.check(&moment, &reached, &world.data(), "in place");
}

#[test]
fn what_does_not_belong_together_is_refused_and_changes_nothing() {
    let mut world = Recorded::new(78);
    (0..4).for_each(|_| world.live());
    world.back_up();
    world.live();
    let mut other = Recorded::new(79);
    other.live();
    other.back_up();
    let before = rows_of(&world.data());
    let file = world.backups[0].0.clone();
    let moment = |backup: &Path, archive: PathBuf, until| Moment {
        backup: Some(backup.to_owned()),
        archive: Some(archive),
        until,
        up_to_damage: false,
    };
    let refused = world.restore(&moment(&file, other.archive(), None), &world.data());
    assert!(
        matches!(refused, Err(RestoreError::Identity(IdentityError::Foreign { .. }))),
        "{refused:?}"
    );
    let refused = world.restore(&moment(&other.backups[0].0, world.archive(), None), &world.data());
    assert!(matches!(refused, Err(RestoreError::Identity(_))), "{refused:?}");
    let refused = world.restore(&moment(&file, world.archive(), Some(Millis(-1))), &world.data());
    assert!(matches!(refused, Err(RestoreError::BackupIsLater { .. })), "{refused:?}");
    let refused = world.restore(&moment(&file, "/no/such".into(), None), &world.data());
    assert!(matches!(refused, Err(RestoreError::NoArchive { .. })), "{refused:?}");
    assert_eq!(rows_of(&world.data()), before);
}

/// The first start under an archive that another server has written to.
#[test]
fn the_archive_of_another_server_is_refused_at_the_start() {
    let mut world = Recorded::new(80);
    world.live();
    let other = TempDir::new().unwrap();
    let error = open(other.path(), &world.options(), &mut |_| ()).err().unwrap();
    assert!(error.to_string().contains("of another server"), "{error}");
}
