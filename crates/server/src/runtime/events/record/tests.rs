use rota_engine::{JobRef, LimitKind, Throttle};
use rota_model::{JobId, QueueName, Seq, State, TenantId, Weight, WorkerId};

use super::*;

fn class(tenant: &str) -> Arc<Class> {
    Arc::new(Class {
        queue: QueueName::parse("q").unwrap(),
        kind: "a.b".parse().unwrap(),
        tenant: TenantId::parse(tenant).unwrap(),
        priority: -7,
        policy: Arc::default(),
    })
}

fn job(seq: u64, class: &Arc<Class>) -> JobRef {
    JobRef {
        seq: Seq(seq),
        id: seq.is_multiple_of(2).then(|| JobId::v7(1, 2)),
        class: class.clone(),
    }
}

/// Events with fields of all types.
fn events() -> Vec<Event> {
    let [a, b] = ["a", "b"].map(class);
    let worker = || WorkerId::parse("w").unwrap();
    let error = Bytes::from_static(b"\"type\":\"x\"");
    let throttle = Throttle {
        reason: "r".into(),
        original: Weight::default(),
        effective: Weight::default(),
        concurrency: Some((3, 2)),
        since: Millis(1),
        until: Millis(2),
    };
    let kinds = vec![
        EventKind::Enqueued { job: job(1, &a), from: None },
        EventKind::Enqueued { job: job(2, &b), from: Some(State::Pending) },
        EventKind::Started { job: job(1 << 40, &a), attempt: 3, worker: Some(worker()) },
        EventKind::Discarded {
            job: job(4, &b),
            attempt: u32::MAX,
            reason: "rate_limited",
            error,
            from: State::Active,
        },
        EventKind::PriorityChanged { job: job(5, &b), previous: -100 },
        EventKind::WorkerBeat { worker: worker(), active: 9, queues: vec![a.queue.clone()].into() },
        EventKind::TenantThrottled { tenant: a.tenant.clone(), reason: "noisy", throttle },
        EventKind::LimitExceeded {
            key: "k".parse().unwrap(),
            tenant: None,
            class: b,
            strategy: LimitKind::Rate,
            limit: 1,
            current: u64::MAX,
        },
    ];
    (0..).zip(kinds).map(|(n, kind)| Event { at: Millis(1_000 - 300 * n), kind }).collect()
}

#[test]
fn events_are_read_as_they_were_written() {
    let mut encoder = EventEncoder::default();
    for _ in 0..2 {
        let written = events();
        let read = decode(Bytes::copy_from_slice(encoder.encode(&written))).unwrap();
        assert_eq!(format!("{read:?}"), format!("{written:?}"));
    }
    assert!(encoder.encode(&[]).is_empty());
}

#[test]
fn a_class_is_written_once_in_a_batch() {
    let class = class("a");
    let of = |count: u64| -> Vec<Event> {
        let kind = |seq| EventKind::DeadLetterDeleted { job: job(2 * seq + 1, &class) };
        (0..count).map(|seq| Event { at: Millis(1), kind: kind(seq) }).collect()
    };
    let mut encoder = EventEncoder::default();
    let one = encoder.encode(&of(1)).len();
    let ten = encoder.encode(&of(10)).len();
    assert_eq!(ten - one, 9 * 5, "time, code, number, id, class");
}

#[test]
fn events_that_were_cut_off_or_changed_are_read_without_a_panic() {
    let bytes = EventEncoder::default().encode(&events()).to_vec();
    for place in 0..bytes.len() {
        let _ = decode(Bytes::copy_from_slice(&bytes[..place]));
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[place] ^= flip;
            let _ = decode(changed.into());
        }
    }
}

#[test]
fn words_are_kept_once_and_not_without_end() {
    let mut words = Words::default();
    assert!(std::ptr::eq(words.keep("a"), words.keep("a")));
    for n in 0..Words::MOST {
        words.keep(&n.to_string());
    }
    assert_eq!((words.keep("a"), words.keep("one more")), ("a", "other"));
}
