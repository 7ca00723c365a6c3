//! Several mutations of the same job in one batch are applied in order.

use rota_model::{Ending, Live, Millis, Seq, State};

use super::Fixture;
use super::driver::Driver;
use super::sample::{back_off, claim, finish, insert, job, pool, postpone, ready};
use crate::{Claim, JobRow, Mutation, Undo};

pub fn one_batch_may_claim_postpone_and_undo<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..8).map(insert).collect());
    let undo = Some(Undo { attempt: 0, pauses: 1 });
    driver.commit(vec![
        claim(0),
        postpone(1, 501),
        claim(2),
        insert(8),
        postpone(8, 508),
        // Claimed, returned, then postponed.
        claim(3),
        ready(3, 30),
        postpone(3, 503),
        // Claimed, paused by a limit, ready again, then claimed again.
        claim(4),
        back_off(4, 504, undo),
        ready(4, 40),
        claim(4),
        // Postponed, then cancelled.
        postpone(5, 505),
        finish(5, Ending::Cancelled),
        // Finished, revived, then postponed.
        finish(6, Ending::DeadLetter),
        Mutation::Revive { seq: Seq(6), enqueued: Millis(60) },
        postpone(6, 506),
        // Postponed, then deleted.
        postpone(7, 507),
        Mutation::Delete(Seq(7)),
    ]);
    let mut driver = driver.crash_and_reopen();
    let active = |seq| {
        let Mutation::Claim(claim) = claim(seq) else { unreachable!("a claim claims") };
        Live {
            state: State::Active,
            attempt: claim.attempt,
            started: Some(claim.started),
            due: Some(claim.due),
            reserved_ms: claim.reserved_ms,
            worker: claim.worker,
            pool: claim.pool,
            ..job(seq).1
        }
    };
    let postponed = |seq| {
        let due = Some(Millis(500 + seq as i64));
        Live { state: State::Scheduled, due, marked: true, ..job(seq).1 }
    };
    let expected = [
        active(0),
        postponed(1),
        active(2),
        Live { attempt: 1, started: active(3).started, enqueued: Millis(30), ..postponed(3) },
        Live { pauses: 1, enqueued: Millis(40), ..active(4) },
        Live { enqueued: Millis(60), ..postponed(6) },
        postponed(8),
    ];
    assert_eq!(driver.load().live, expected);
    assert!(matches!(driver.record(5).row, JobRow::Done(_)));
    assert_eq!(driver.records(&[Seq(7)]), [None]);
}

/// A store may apply claims of consecutive jobs in one statement, but only within one pool.
pub fn jobs_claimed_in_one_batch_keep_their_own_pools<F: Fixture>(fixture: &F) {
    let pools = [Some("a"), Some("a"), None, None, Some("b"), Some("a")].map(|name| name.map(pool));
    let mut driver = Driver::open(fixture);
    driver.commit((0..6).map(insert).collect());
    let claims = (0..).zip(pools.clone()).map(|(seq, pool)| {
        let Mutation::Claim(first) = claim(0) else { unreachable!("a claim claims") };
        Mutation::Claim(Claim { seq: Seq(seq), pool, ..first })
    });
    driver.commit(claims.collect());
    let live = driver.crash_and_reopen().load().live;
    let stored: Vec<_> = live.into_iter().map(|live| live.pool).collect();
    assert_eq!(stored, pools);
}
