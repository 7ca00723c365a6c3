//! Mutations that contradict the stored state are rejected; the engine never emits them.

use rota_model::{Ending, Millis, Seq, State};

use super::Fixture;
use super::driver::Driver;
use super::sample::{back_off, claim, finish, insert, insert_in, job, postpone, ready};
use crate::{ApplyError, Mutation};

pub fn contradictory_mutations_are_rejected<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1), insert(2), finish(2, Ending::Completed)]);
    driver.commit(vec![insert_in(3, State::Scheduled), insert_in(4, State::Active)]);
    let before = driver.load();
    let same_id = {
        let (mut new, mut live) = job(1);
        (new.seq, live.seq) = (Seq(8), Seq(8));
        Mutation::Insert(new, live.into())
    };
    let same_seq = {
        let (mut new, live) = job(1);
        new.id = super::sample::id(99);
        Mutation::Insert(new, live.into())
    };
    let now = Millis(1);
    let contradictions = [
        ("an id that exists", same_id),
        ("a sequence number that exists", same_seq),
        ("claiming an unknown job", claim(9)),
        ("claiming a finished job", claim(2)),
        ("cancelling an unknown job", Mutation::RequestCancel(Seq(9))),
        ("extending an unknown job", Mutation::Extend { seq: Seq(9), due: now, reserved_ms: 1 }),
        ("backing off a finished job", back_off(2, 1, None)),
        ("postponing an unknown job", postpone(9, 1)),
        ("postponing a finished job", postpone(2, 1)),
        ("postponing a job that is scheduled", postpone(3, 1)),
        ("postponing a job that is active", postpone(4, 1)),
        ("readying a finished job", ready(2, 1)),
        ("finishing an unknown job", finish(9, Ending::Completed)),
        ("finishing a finished job", finish(2, Ending::Completed)),
        ("reviving a living job", Mutation::Revive { seq: Seq(1), enqueued: now }),
        ("deleting an unknown job", Mutation::Delete(Seq(9))),
    ];
    for (what, mutation) in contradictions {
        let batch = driver.next_batch(vec![mutation]);
        let result = driver.try_commit(&batch);
        assert!(matches!(result, Err(ApplyError::Fatal(_))), "{what}: {result:?}");
        assert_eq!(driver.load(), before, "{what}");
    }
}
