//! Sample jobs, classes and mutations for the scenarios.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::{
    Class, ClassId, Ending, ErrorRow, JobId, JobType, LimitKey, LimitNumbers, Live, Millis,
    OnLimit, Policy, PoolName, QueueName, Rate, RateLimit, RetryPolicy, Scope, Seq, State,
    TenantId, WorkerId,
};

use crate::{Backoff, Claim, Finish, ListQuery, Mutation, NewRow, Order, Ready, Selection, Undo};

/// Creation time of sample job 0, in milliseconds. Each further job is one millisecond later.
pub(crate) const EPOCH: i64 = 1_700_000_000_000;

pub(crate) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub(crate) fn id(seq: u64) -> JobId {
    JobId::v7(EPOCH + seq as i64, u128::from(seq) * 0x9e37_79b9_7f4a_7c15)
}

pub(crate) fn created(seq: u64) -> Millis {
    Millis(EPOCH + seq as i64)
}

pub(crate) fn worker(name: &str) -> WorkerId {
    WorkerId::parse(name).expect("the name of a sample worker is valid")
}

pub(crate) fn pool(name: &str) -> PoolName {
    PoolName::parse(name).expect("the name of a sample pool is valid")
}

pub(crate) fn size(body: &Bytes) -> u32 {
    body.len().try_into().expect("a sample body is short")
}

/// An available job of class 1.
pub(crate) fn job(seq: u64) -> (NewRow, Live) {
    job_of(seq, 1)
}

pub(crate) fn job_of(seq: u64, class: u32) -> (NewRow, Live) {
    let new = NewRow {
        seq: Seq(seq),
        id: id(seq),
        given: true,
        class: ClassId(class),
        created: created(seq),
        body: bytes(&format!(r#""type":"sample.job","args":[{seq}]"#)),
    };
    let live = Live::ready(Seq(seq), ClassId(class), created(seq), size(&new.body));
    (new, live)
}

pub(crate) fn insert(seq: u64) -> Mutation {
    insert_of(seq, 1)
}

pub(crate) fn insert_of(seq: u64, class: u32) -> Mutation {
    let (new, live) = job_of(seq, class);
    Mutation::Insert(new, live.into())
}

pub(crate) fn insert_in(seq: u64, state: State) -> Mutation {
    let (new, mut live) = job(seq);
    live.state = state;
    if matches!(state, State::Scheduled | State::Retryable | State::Active) {
        live.due = Some(created(seq + 60_000));
    }
    Mutation::Insert(new, live.into())
}

pub(crate) fn claim(seq: u64) -> Mutation {
    Mutation::Claim(Claim {
        seq: Seq(seq),
        attempt: 1,
        started: created(seq + 10),
        due: created(seq + 30_010),
        reserved_ms: 30_000,
        worker: Some(worker("worker-1")),
        pool: Some(pool("pool-1")),
    })
}

pub(crate) fn ready(seq: u64, enqueued: i64) -> Mutation {
    Mutation::Ready(Ready { seq: Seq(seq), enqueued: Millis(enqueued), undo: None, held: false })
}

pub(crate) fn postpone(seq: u64, due: i64) -> Mutation {
    Mutation::Postpone { seq: Seq(seq), due: Millis(due) }
}

pub(crate) fn back_off(seq: u64, due: i64, undo: Option<Undo>) -> Mutation {
    Mutation::Backoff(Backoff { seq: Seq(seq), due: Millis(due), undo })
}

pub(crate) fn finish(seq: u64, ending: Ending) -> Mutation {
    finish_until(seq, ending, None)
}

pub(crate) fn finish_until(seq: u64, ending: Ending, purge_at: Option<i64>) -> Mutation {
    Mutation::Finish(Finish {
        seq: Seq(seq),
        ending,
        at: created(seq + 20),
        purge_at: purge_at.map(Millis),
        result: None,
    })
}

pub(crate) fn error(seq: u64, attempt: u32) -> Mutation {
    Mutation::Error(ErrorRow { seq: Seq(seq), attempt, json: error_json(attempt) })
}

pub(crate) fn error_json(attempt: u32) -> Bytes {
    bytes(&format!(r#"{{"code":"sample","attempt":{attempt}}}"#))
}

pub(crate) fn class(queue: &str, max_attempts: u32) -> Arc<Class> {
    let retry = RetryPolicy {
        max_attempts,
        non_retryable: ["auth.*".into()].into(),
        ..RetryPolicy::default()
    };
    Arc::new(Class {
        queue: QueueName::parse(queue).expect("the name of a sample queue is valid"),
        kind: JobType::parse("sample.job").expect("the sample type is valid"),
        tenant: TenantId::parse("Acme_1").expect("the sample tenant is valid"),
        priority: -7,
        policy: Arc::new(Policy {
            retry,
            timeout_ms: Some(u64::MAX),
            limit: Some(limit()),
            ..Policy::default()
        }),
    })
}

fn limit() -> RateLimit {
    let rate = Rate { limit: u32::MAX, period_ms: u64::MAX };
    RateLimit {
        key: LimitKey::parse("sample-key").expect("the sample key is valid"),
        numbers: LimitNumbers { concurrency: Some(0), rate: Some(rate), throttle: None },
        on_limit: OnLimit::Reschedule,
        scope: Scope::Tenant,
    }
}

/// Lists all jobs, oldest first, in pages of 1,000.
pub(crate) fn everything() -> ListQuery {
    ListQuery {
        select: Selection::ALL,
        classes: None,
        since: None,
        until: None,
        dead: None,
        after: None,
        order: Order::OldestFirst,
        skip: 0,
        limit: 1000,
        max_bytes: usize::MAX,
        scan: 100_000,
    }
}
