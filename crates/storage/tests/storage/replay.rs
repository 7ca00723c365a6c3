//! What the view lacks is applied when the directory is opened.

use rota_log::Log;
use rota_storage::{Progress, open, snapshot};

use crate::directory::{Directory, OPTIONS, batch, close, commit, ready, traces};
use rota_store::View;

#[test]
fn a_view_that_is_behind_is_brought_up_to_date() {
    for applied in [0, 1, 7, 40] {
        let directory = Directory::new();
        directory.commit_and_crash(1..=40, applied);
        assert_eq!(directory.applied(), applied);
        let mut last = None;
        let storage =
            open(directory.path(), &OPTIONS, &mut |progress| last = Some(progress)).unwrap();
        assert_eq!(last, Some(Progress { applied: 40, last: 40 }));
        assert_eq!((storage.log.tip().index, directory.applied()), (40, 40));
        assert_eq!(traces(&directory), 40, "each record once");
        drop(storage);
    }
}

#[test]
fn a_directory_goes_on_where_it_was() {
    let directory = Directory::new();
    directory.commit_and_close(1..=3);
    directory.commit_and_crash(4..=6, 4);
    directory.commit_and_close(7..=9);
    assert_eq!((directory.applied(), traces(&directory)), (9, 9));
}

#[test]
fn the_log_keeps_what_a_power_cut_could_take_from_the_view() {
    let directory = Directory::new();
    let mut storage = directory.open();
    commit(&mut storage, 1..=5, 5);
    let durable = storage.view.durable();
    assert!(durable < 5, "nothing was checkpointed yet");
    close(storage);
    let storage = directory.open();
    assert_eq!(storage.view.durable(), 5, "closing in order makes everything durable");
}

#[test]
fn a_snapshot_has_everything_that_was_committed() {
    let directory = Directory::new();
    directory.commit_and_crash(1..=20, 3);
    let snapshot = snapshot(directory.path()).unwrap();
    assert_eq!(snapshot.loaded().number, 20, "the server was killed, so the rest is applied");
}

#[test]
fn a_snapshot_of_a_running_server_waits_for_its_view() {
    let directory = Directory::new();
    let mut storage = directory.open();
    commit(&mut storage, 1..=20, 3);
    let path = directory.path().to_owned();
    let waiting = std::thread::spawn(move || snapshot(&path).unwrap().loaded().number);
    for number in 4..=20 {
        ready(storage.view.apply(&[batch(number)])).unwrap();
    }
    assert_eq!(waiting.join().unwrap(), 20);
}
