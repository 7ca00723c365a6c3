//! How far back the log is kept, and for whom.

use std::path::Path;
use std::time::Duration;

use rota_log::{Entry, Log};
use rota_storage::{
    BackupRecord, KeepOptions, KeepRule, LogKeeper, Options, Storage, log_directory, open,
};
use rota_store::encoding;

use crate::directory::{Directory, OPTIONS, batch, ready};

/// A log of many segments.
fn with_segments(directory: &Directory, options: &Options, segments: usize) -> Storage {
    let mut storage = open(directory.path(), options, &mut |_| ()).unwrap();
    while directory.segments().len() < segments {
        let number = storage.log.tip().index + 1;
        let mut payload = Vec::new();
        encoding::encode(&batch(number), &[], &mut payload);
        // Nobody decodes it here.
        payload.resize(200 << 10, 0);
        let entry = Entry { index: number, term: storage.term, time: 0, payload: payload.into() };
        ready(storage.log.append(&entry)).unwrap();
    }
    storage
}

fn keeper(
    directory: &Directory,
    storage: &Storage,
    keep_bytes: u64,
    archive: Option<&Path>,
) -> LogKeeper {
    LogKeeper::start(KeepOptions {
        dir: directory.path().to_owned(),
        archive: archive.map(Path::to_owned),
        interval: Duration::from_millis(1),
        keep_bytes,
        committed: storage.log.tip().index,
    })
    .unwrap()
}

/// Waits until the rule says this.
fn wait_for(rule: &KeepRule, expected: impl Fn(u64) -> bool) {
    for _ in 0..3_000 {
        if expected(rule.keep_from()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the log is kept from {}", rule.keep_from());
}

fn recorded(index: u64) -> BackupRecord {
    BackupRecord { file: "/backup/rota.db".into(), index, term: 1, checksum: 7, made: 0 }
}

#[test]
fn the_log_is_kept_back_to_the_newest_backup_and_no_further_than_allowed() {
    let directory = Directory::new();
    let storage = with_segments(&directory, &OPTIONS, 12);
    let bytes: u64 = storage.log.segments().iter().map(|segment| segment.bytes).sum();
    let middle = storage.log.segments()[6].first;
    let rule = |keep_bytes| keeper(&directory, &storage, keep_bytes, None);

    // Without a backup, the log alone is enough as long as it goes back to the first record.
    let kept = rule(bytes);
    wait_for(&kept.rule(), |from| from == 1);
    // The newest backup decides, also one that is made later.
    recorded(middle - 1).write(directory.path()).unwrap();
    wait_for(&kept.rule(), |from| from == middle);
    // On a full disk, nothing is kept for it.
    assert!(kept.rule().set_short_of_space(true), "something was kept");
    assert_eq!(kept.rule().keep_from(), u64::MAX);
    kept.rule().set_short_of_space(false);
    assert_eq!(kept.rule().keep_from(), middle);
    kept.stop();

    // What would be too much is given up, a few segments at a time.
    let last = storage.log.segments()[11].bytes;
    let some = rule(last * 2);
    wait_for(&some.rule(), |from| from > middle);
    some.stop();
    let none = rule(0);
    wait_for(&none.rule(), |from| from > 1);
    none.stop();
}

#[test]
fn what_is_not_archived_is_kept() {
    let directory = Directory::new();
    let archive = directory.file("archive");
    let options = Options { archive: Some(archive.clone()), ..OPTIONS };
    let storage = with_segments(&directory, &options, 4);
    let last = storage.log.tip().index;
    // No copy can take its name.
    std::fs::remove_dir_all(&archive).unwrap();
    let keeping = keeper(&directory, &storage, 0, Some(&archive));
    let rule = keeping.rule();
    for _ in 0..3_000 {
        if rule.archive_status().unwrap().failure.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = rule.archive_status().unwrap();
    assert!(status.failure.is_some() && status.behind() == last, "{status:?}");
    assert_eq!(rule.keep_from(), 1);
    rule.set_short_of_space(true);
    assert_eq!(rule.keep_from(), 1, "not even a full disk may leave a gap");
    std::fs::create_dir(&archive).unwrap();
    wait_for(&rule, |from| from == last + 1);
    assert_eq!(rule.archive_status().unwrap().failure, None);
    keeping.stop();
    assert!(log_directory(directory.path()).exists());
}
