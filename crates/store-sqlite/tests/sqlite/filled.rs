//! An undamaged database with rows in every table.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::audit::{
    AuditActor, AuditDetail, AuditHash, AuditHead, AuditNote, AuditOutcome, AuditRow,
};
use rota_model::{
    Class, ClassId, DeadRow, DeadShardId, Ending, ErrorRow, JobId, JobType, Live, Millis, Policy,
    QueueName, Seq, State, TenantId,
};
use rota_store::suite::Fixture;
use rota_store::{
    Batch, Claim, Counts, Finish, HistoryRow, Mutation, NewRow, Period, RowKind, View,
};
use rota_store_sqlite::SqliteView;
use rusqlite::Params;

use crate::directory::{Directory, block_on, connect};

pub const JOBS: u64 = 400;

/// The directory of a store that was closed cleanly.
pub fn closed() -> Directory {
    let directory = Directory::new();
    block_on(fill(&directory).close()).expect("the store closes");
    directory
}

/// An open store.
pub fn fill(directory: &Directory) -> SqliteView {
    let mut store = directory.open();
    let mut mutations = vec![
        Mutation::Class(ClassId(1), class("mail")),
        Mutation::Class(ClassId(2), class("files")),
        Mutation::Put(RowKind::Queue, "mail".into(), Bytes::from_static(b"{}")),
        Mutation::Put(RowKind::LimitState, "a limit".into(), Bytes::from_static(b"{}")),
        Mutation::History(HistoryRow {
            period: Period::Minute,
            at: Millis(1_699_999_980_000),
            queue: "mail".into(),
            data: Bytes::from_static(b"{\"n\":1}"),
        }),
    ];
    mutations.extend((0..JOBS).map(insert));
    mutations.extend((0..60).map(finish));
    mutations.extend((0..60).filter(|seq| ending(*seq) == Ending::DeadLetter).map(bury));
    let dead = (0..60).filter(|seq| ending(*seq) == Ending::DeadLetter).count();
    mutations.push(Mutation::Put(RowKind::DeadShard, "0".into(), Bytes::from_static(b"{}")));
    let count = Bytes::from(dead.to_string());
    mutations.push(Mutation::Put(RowKind::DeadErrors, "0:Timeout".into(), count));
    mutations.extend((60..80).map(claim));
    mutations.extend((100..105).map(|seq| {
        Mutation::Error(ErrorRow { seq: Seq(seq), attempt: 1, json: Bytes::from_static(b"{}") })
    }));
    mutations.extend(counts());
    mutations.push(Mutation::Journal(Bytes::from_static(b"entry")));
    mutations.extend(audit_log());
    block_on(store.apply(&[batch(1, mutations)])).expect("the batch commits");
    store
}

/// Entries 3 and 4; those before were deleted.
fn audit_log() -> Vec<Mutation> {
    let anchor = AuditHash::default().followed_by(b"deleted");
    let (mut last, mut mutations) = (anchor, Vec::new());
    for number in 3..5 {
        let note = AuditNote {
            event: "queue.pause".into(),
            outcome: AuditOutcome::Success,
            actor: AuditActor {
                principal: "acme".into(),
                method: "none".into(),
                tenant: TenantId::parse("acme").ok(),
                address: None,
            },
            request: None,
            detail: AuditDetail::new(),
        };
        let at = Millis(1_699_999_980_000);
        let json = note.canonical(number, at);
        last = last.followed_by(&json);
        let row = AuditRow { number, at, tenant: note.actor.tenant, json, hash: last };
        mutations.push(Mutation::Audit(Box::new(row)));
    }
    let head = AuditHead { first: 3, anchor, next: 5, last };
    let json = serde_json::to_vec(&head).unwrap();
    mutations.push(Mutation::Put(RowKind::Setting, AuditHead::ROW.into(), json.into()));
    mutations
}

pub fn batch(number: u64, mutations: Vec<Mutation>) -> Batch {
    Batch {
        number,
        now: Millis(1_700_000_000_000),
        next_seq: Seq(JOBS + 1000),
        event_count: 0,
        mutations,
    }
}

pub fn insert(seq: u64) -> Mutation {
    insert_sized(seq, 200)
}

pub fn insert_sized(seq: u64, bytes: usize) -> Mutation {
    let class = class_of(seq);
    let new = NewRow {
        seq: Seq(seq),
        id: JobId::v7(seq as i64, u128::from(seq)),
        given: true,
        class,
        created: Millis(seq as i64),
        body: Bytes::from(vec![b'x'; bytes]),
    };
    let scheduled = (200..210).contains(&seq);
    let live = Live {
        state: if scheduled { State::Scheduled } else { State::Available },
        due: scheduled.then_some(Millis(1)),
        ..Live::ready(Seq(seq), class, Millis(seq as i64), bytes as u32)
    };
    Mutation::Insert(new, live.into())
}

/// Runs several statements on a closed database.
pub fn run(directory: &Directory, sql: &str) {
    let conn = connect(&directory.file("rota.db"));
    conn.execute_batch(sql).unwrap();
}

/// Changes a closed database directly.
pub fn tamper(directory: &Directory, sql: &str, params: impl Params) {
    let conn = connect(&directory.file("rota.db"));
    assert!(conn.execute(sql, params).unwrap() > 0, "{sql} changes something");
}

fn class_of(seq: u64) -> ClassId {
    ClassId(1 + (seq % 2) as u32)
}

pub fn class(queue: &str) -> Arc<Class> {
    Arc::new(Class {
        queue: QueueName::parse(queue).unwrap(),
        kind: JobType::parse("sample.job").unwrap(),
        tenant: TenantId::default_tenant(),
        priority: 0,
        policy: Arc::new(Policy::default()),
    })
}

fn ending(seq: u64) -> Ending {
    Ending::ALL[(seq % 5) as usize]
}

fn finish(seq: u64) -> Mutation {
    Mutation::Finish(Finish {
        seq: Seq(seq),
        ending: ending(seq),
        at: Millis(1),
        purge_at: None,
        result: None,
    })
}

fn bury(seq: u64) -> Mutation {
    let (shard, error) = (DeadShardId(0), "Timeout".into());
    let dead = DeadRow { shard, error, other: false, replay_at: None };
    Mutation::Bury(Seq(seq), Box::new(dead))
}

fn claim(seq: u64) -> Mutation {
    Mutation::Claim(Claim {
        seq: Seq(seq),
        attempt: 1,
        started: Millis(1),
        due: Millis(2),
        reserved_ms: 1,
        worker: None,
        pool: None,
    })
}

fn counts() -> [Mutation; 2] {
    [1, 2].map(|class| {
        let mut counts = Counts::default();
        for seq in (0..60).filter(|seq| class_of(*seq) == ClassId(class)) {
            *counts.get_mut(ending(seq)) += 1;
        }
        Mutation::Counts(ClassId(class), counts)
    })
}
