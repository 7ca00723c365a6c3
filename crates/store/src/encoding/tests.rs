use std::sync::Arc;

use bytes::Bytes;
use rota_model::audit::{AuditHash, AuditRow};
use rota_model::usage::{Usage, UsagePer, UsageRow};
use rota_model::{ClassId, DeadRow, DeadShardId, Ending, Millis, Seq, State, TenantId};

use super::{DecodeError, decode, decode_events, encode};
use crate::suite::sample;
use crate::{
    Backoff, Batch, Counts, Finish, HistoryRow, Mutation, Period, Ready, Rewrite, RowKind, Undo,
};

/// Every kind of mutation, with and without its optional members.
fn mutations() -> Vec<Mutation> {
    let tenant = || TenantId::default_tenant();
    let undo = Some(Undo { attempt: u32::MAX, pauses: 3 });
    let row = |tenant| AuditRow {
        number: u64::MAX,
        at: Millis(5),
        tenant,
        json: Bytes::from_static(b"{}"),
        hash: AuditHash::default().followed_by(b"x"),
    };
    let dead = |replay_at| DeadRow {
        shard: DeadShardId(u32::MAX),
        error: "timeout".into(),
        other: true,
        replay_at,
    };
    let usage = Usage {
        enqueued: 1,
        bytes: 2,
        started: -3,
        completed: 4,
        failed: 5,
        run_ms: u64::MAX,
        discarded: 7,
    };
    let (mut new, mut live) = sample::job(4);
    (new.given, new.created, live.bytes) = (false, Millis(i64::MIN), 0);
    vec![
        Mutation::Class(ClassId(u32::MAX), sample::class("q", 3)),
        Mutation::DropClass(ClassId(0)),
        Mutation::Counts(ClassId(1), Counts([0, 1, u64::MAX, 128, 127])),
        sample::insert(1),
        Mutation::Insert(new, live.into()),
        sample::insert_in(2, State::Scheduled),
        insert_with_everything(),
        sample::claim(3),
        claim_without_names(),
        Mutation::Extend { seq: Seq(u64::MAX), due: Millis(i64::MAX), reserved_ms: u64::MAX },
        Mutation::RequestCancel(Seq(0)),
        sample::back_off(1, -1, None),
        Mutation::Backoff(Backoff { seq: Seq(1), due: Millis(i64::MIN), undo }),
        sample::postpone(1, 0),
        sample::ready(1, 300),
        Mutation::Ready(Ready { seq: Seq(2), enqueued: Millis(1), undo, held: true }),
        sample::finish(1, Ending::Completed),
        Mutation::Finish(Finish {
            seq: Seq(1),
            ending: Ending::DeadLetter,
            at: Millis(1),
            purge_at: Some(Millis(2)),
            result: Some(Bytes::from_static(b"{\"a\":1}")),
        }),
        Mutation::Bury(Seq(1), Box::new(dead(None))),
        Mutation::Bury(Seq(1), Box::new(dead(Some(Millis(9))))),
        Mutation::Revive { seq: Seq(1), enqueued: Millis(1) },
        Mutation::Rewrite(Box::new(Rewrite {
            seq: Seq(1),
            class: ClassId(2),
            body: Bytes::from_static(b"\"a\":1"),
        })),
        Mutation::Replayed(Seq(1), Bytes::from_static(b"[]")),
        Mutation::Delete(Seq(300)),
        Mutation::Purged(Millis(1)),
        sample::error(1, 2),
        Mutation::Put(RowKind::ApiKey, "ä".into(), Bytes::new()),
        Mutation::Remove(RowKind::Queue, "".into()),
        Mutation::History(HistoryRow {
            period: Period::Hour,
            at: Millis(1),
            queue: Arc::from("q"),
            data: Bytes::from_static(b"{}"),
        }),
        Mutation::ForgetHistory { period: Period::Minute, before: Millis(1), most: u32::MAX },
        Mutation::ForgetHistoryOf("q".into()),
        Mutation::AddUsage(UsageRow { tenant: tenant(), at: Millis(1), usage }),
        Mutation::ForgetUsage { per: UsagePer::Day, before: Millis(1), most: 1 },
        Mutation::ForgetTenantUsage(tenant()),
        Mutation::Journal(Bytes::from_static(&[0, 255, 7])),
        Mutation::TrimJournal(u64::MAX),
        Mutation::Audit(Box::new(row(Some(tenant())))),
        Mutation::Audit(Box::new(row(None))),
        Mutation::TrimAudit(9),
    ]
}

fn insert_with_everything() -> Mutation {
    let (new, mut live) = sample::job(9);
    live.class = ClassId(77);
    live.state = State::Active;
    live.attempt = 2;
    live.enqueued = Millis(7);
    live.due = Some(Millis(8));
    live.started = Some(Millis(9));
    live.expires = Some(Millis(10));
    live.worker = Some(sample::worker("w"));
    live.pool = Some(sample::pool("p"));
    live.reserved_ms = u64::MAX;
    live.marked = true;
    live.bytes = u32::MAX;
    live.pauses = 4;
    Mutation::Insert(new, live.into())
}

fn claim_without_names() -> Mutation {
    let Mutation::Claim(mut claim) = sample::claim(3) else { unreachable!() };
    (claim.worker, claim.pool) = (None, None);
    Mutation::Claim(claim)
}

fn batch() -> Batch {
    let (now, next_seq) = (Millis(-5), Seq(1 << 40));
    Batch { number: 300, now, next_seq, event_count: 1 << 41, mutations: mutations() }
}

fn encoded(batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(batch, b"events", &mut bytes);
    bytes
}

#[test]
fn every_mutation_is_read_as_it_was_written() {
    let written = batch();
    let read = decode(encoded(&written).into()).unwrap();
    assert_eq!((read.number, read.now, read.next_seq), (300, Millis(-5), Seq(1 << 40)));
    assert_eq!(read.event_count, 1 << 41);
    assert_eq!(read.mutations.len(), written.mutations.len());
    for (read, written) in read.mutations.iter().zip(&written.mutations) {
        assert_eq!(format!("{read:?}"), format!("{written:?}"));
    }
}

#[test]
fn events_are_read_without_the_batch() {
    let read = decode_events(encoded(&batch()).into());
    assert_eq!(read, Ok((1 << 41, Bytes::from_static(b"events"))));
}

/// The compiler names this test when a mutation is added.
#[test]
fn the_sample_has_every_kind_of_mutation() {
    let mut codes: Vec<u8> = mutations().iter().map(code_of).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes, (1..=31).collect::<Vec<u8>>());
}

fn code_of(mutation: &Mutation) -> u8 {
    let empty = Batch { mutations: Vec::new(), ..Batch::default() };
    let one = Batch { mutations: vec![mutation.clone()], ..Batch::default() };
    encoded(&one)[encoded(&empty).len()]
}

#[test]
fn a_batch_that_was_cut_off_anywhere_is_rejected() {
    let bytes = encoded(&batch());
    for length in 0..bytes.len() {
        let cut = Bytes::copy_from_slice(&bytes[..length]);
        assert!(matches!(decode(cut), Err(DecodeError::Malformed(_))), "{length}");
    }
}

#[test]
fn changed_bytes_are_read_without_a_panic() {
    let bytes = encoded(&batch());
    for place in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[place] ^= flip;
            let _ = decode(changed.into());
        }
    }
}

#[test]
fn a_batch_of_a_newer_version_is_recognized() {
    let mut bytes = encoded(&batch());
    bytes[0] = 2;
    assert_eq!(decode(bytes.into()).unwrap_err(), DecodeError::Newer(2));
}
