//! A random sequence of small batches, applied to the store and to the oracle and compared.

use std::collections::BTreeMap;

use rota_model::{ClassId, DeadRow, DeadShardId, Ending, ErrorRow, Millis, Seq, State, TenantId};

use super::Fixture;
use super::driver::Driver;
use super::oracle::Oracle;
use super::sample::{bytes, created, everything, insert_of, pool, size, worker};
use super::stored_bytes::{class_of, tenant};
use crate::{
    Backoff, Claim, DeadFilter, Finish, JobRow, ListQuery, Mutation, Order, Ready, Rewrite,
    Selection, Undo,
};

const SEED: u64 = 0x0b5e_55ed;
const BATCHES: usize = 300;
const CLASSES: u32 = 4;

pub fn random_walks_match_the_oracle<F: Fixture>(fixture: &F) {
    walk(fixture, Dice(SEED), 1);
}

pub fn random_walks_in_portions_match_the_oracle<F: Fixture>(fixture: &F) {
    walk(fixture, Dice(SEED + 1), 6);
}

/// Applies up to `most` batches at once.
fn walk<F: Fixture>(fixture: &F, mut dice: Dice, most: u64) {
    eprintln!("seed {:#x}", dice.0);
    let mut driver = Driver::open(fixture);
    let mut oracle = Oracle::default();
    let mut next_seq = 1;
    driver.commit((0..CLASSES).map(|id| class_of(id, owner(id))).collect());
    oracle.begin_batch();
    // Counted as an engine counts: it knows what it writes, and learns from commits what they removed.
    let mut stored = BTreeMap::new();
    for _ in 0..BATCHES {
        let number = oracle.begin_batch();
        let mut mutations = Vec::new();
        let (length, entry) = (dice.below(12), dice.below(12));
        for n in 0..length {
            let mutation = match n == entry {
                true => Mutation::Journal(bytes(&dice.below(1_000_000).to_string())),
                false => step(&mut dice, &oracle, &mut next_seq, number),
            };
            oracle.apply(&mutation);
            if let Some((class, bytes)) = oracle.written_by(&mutation) {
                *stored.entry(tenant(owner(class.0))).or_default() += bytes;
            }
            mutations.push(mutation);
        }
        driver.gather(mutations);
        if number % 20 != 1 && dice.below(most) > 0 {
            continue;
        }
        for (tenant, bytes) in driver.apply_gathered().freed {
            *stored.get_mut(&tenant).expect("its bytes were counted") -= bytes;
        }
        if number % 20 == 1 {
            driver = match dice.below(3) {
                0 => driver.close_and_reopen(),
                1 => driver.crash_and_reopen(),
                _ => driver,
            };
            expect_agreement(&mut driver, &oracle, &mut dice, next_seq);
            assert_eq!(driver.load().stored, present(&stored));
        }
    }
    for (tenant, bytes) in driver.apply_gathered().freed {
        *stored.get_mut(&tenant).expect("its bytes were counted") -= bytes;
    }
    expect_agreement(&mut driver, &oracle, &mut dice, next_seq);
    assert_eq!(driver.load().stored, present(&stored));
}

/// The classes of even numbers belong to one tenant, the others to another.
fn owner(class: u32) -> &'static str {
    ["acme", "globex"][class as usize % 2]
}

fn present(stored: &BTreeMap<TenantId, u64>) -> Vec<(TenantId, u64)> {
    stored.iter().filter(|(_, bytes)| **bytes > 0).map(|(id, bytes)| (id.clone(), *bytes)).collect()
}

/// A random mutation that is valid in the current state.
fn step(dice: &mut Dice, oracle: &Oracle, next_seq: &mut u64, number: u64) -> Mutation {
    let (live, done) = (oracle.live(), oracle.done());
    if dice.below(100) == 0 {
        return Mutation::TrimJournal(number.saturating_sub(dice.below(10)));
    }
    if dice.below(3) == 0 || live.is_empty() {
        let Mutation::Insert(mut new, mut live) =
            insert_of(*next_seq, dice.below(CLASSES.into()) as u32)
        else {
            unreachable!("insert_of returns an insertion")
        };
        *next_seq += 1 + dice.below(3);
        let states = [State::Available, State::Scheduled, State::Pending];
        live.state = states[dice.below(3) as usize];
        new.body = bytes(&"x".repeat(dice.below(400) as usize));
        live.bytes = size(&new.body);
        live.expires = (dice.below(4) == 0).then(|| Millis(dice.below(1000) as i64));
        return Mutation::Insert(new, live);
    }
    if let Some(done) = dice.one_of(&done)
        && dice.below(6) == 0
    {
        return match dice.below(4) {
            0 | 1 if done.ending == Ending::DeadLetter => Mutation::Bury(
                done.seq,
                Box::new(DeadRow {
                    shard: DeadShardId(dice.below(3) as u32),
                    error: ["Timeout", "Refused"][dice.below(2) as usize].into(),
                    other: dice.below(2) == 0,
                    replay_at: (dice.below(2) == 0).then(|| Millis(dice.below(1000) as i64)),
                }),
            ),
            0 => Mutation::Revive { seq: done.seq, enqueued: Millis(dice.below(1000) as i64) },
            _ => Mutation::Delete(done.seq),
        };
    }
    let job = dice.one_of(&live).expect("there is a live job");
    let seq = job.seq;
    let time = Millis(dice.below(100_000) as i64);
    match dice.below(11) {
        0 | 1 => Mutation::Claim(Claim {
            seq,
            attempt: dice.below(20) as u32,
            started: time,
            due: time.saturating_add_ms(30),
            reserved_ms: dice.below(u64::MAX),
            worker: (dice.below(2) == 0).then(|| worker("worker-1")),
            pool: (dice.below(2) == 0).then(|| pool("pool-1")),
        }),
        2 => Mutation::Extend { seq, due: time, reserved_ms: dice.below(1000) },
        3 => Mutation::Backoff(Backoff { seq, due: time, undo: undo(dice) }),
        4 => Mutation::Ready(Ready {
            seq,
            enqueued: time,
            undo: undo(dice),
            held: dice.below(2) == 0,
        }),
        5 => Mutation::Error(ErrorRow { seq, attempt: 1, json: bytes(&time.0.to_string()) }),
        6 if dice.below(4) == 0 => Mutation::Delete(seq),
        7 if job.state == State::Available => Mutation::Postpone { seq, due: time },
        8 => Mutation::Rewrite(Box::new(Rewrite {
            seq,
            class: ClassId(job.class.0 % 2 + 2 * dice.below(2) as u32),
            body: bytes(&"y".repeat(dice.below(400) as usize)),
        })),
        9 => Mutation::Replayed(seq, bytes(&time.0.to_string())),
        _ => Mutation::Finish(Finish {
            seq,
            ending: Ending::ALL[dice.below(5) as usize],
            at: created(*next_seq + time.0 as u64),
            purge_at: (dice.below(2) == 0).then_some(time),
            result: (dice.below(2) == 0).then(|| bytes(&time.0.to_string())),
        }),
    }
}

fn undo(dice: &mut Dice) -> Option<Undo> {
    let undo = Undo { attempt: dice.below(20) as u32, pauses: dice.below(5) as u32 };
    (dice.below(2) == 0).then_some(undo)
}

fn expect_agreement<F: Fixture>(
    driver: &mut Driver<'_, F>,
    oracle: &Oracle,
    dice: &mut Dice,
    next_seq: u64,
) {
    let image = driver.load();
    assert_eq!((image.live, image.journal), (oracle.live(), oracle.journal()));
    assert_eq!(image.stored, present(&oracle.stored(|class| tenant(owner(class.0)))));
    let seqs: Vec<_> = (0..next_seq).map(Seq).collect();
    let expected: Vec<_> = seqs.iter().map(|seq| oracle.record(*seq)).collect();
    assert_eq!(driver.records(&seqs), expected);
    let ids: Vec<_> = expected.iter().flatten().map(|record| record.body.id).collect();
    for (found, record) in driver.resolve(&ids).iter().zip(expected.iter().flatten()) {
        let found = found.as_ref().expect("a job that exists is found");
        assert_eq!(found.seq, record.seq);
        assert_eq!(found.row, without_result(record.row.clone()));
    }
    for _ in 0..20 {
        let query = random_query(dice, next_seq);
        assert_eq!(driver.list_all(&query), oracle.list(&query), "{query:?}");
    }
    let now = Millis(dice.below(100_000) as i64);
    let mut overdue = oracle.done();
    // Retention does not look at the dead letter, which has its own.
    overdue.iter_mut().for_each(|done| done.dead = None);
    overdue.retain(|done| done.purge_at.is_some_and(|purge_at| purge_at <= now));
    overdue.sort_by_key(|done| (done.purge_at, done.seq));
    overdue.truncate(10);
    overdue.iter_mut().for_each(|done| done.result = None);
    assert_eq!(driver.overdue(now, 10), overdue);
}

fn without_result(mut row: JobRow) -> JobRow {
    if let JobRow::Done(done) = &mut row {
        done.result = None;
    }
    row
}

fn random_query(dice: &mut Dice, next_seq: u64) -> ListQuery {
    let mut select = Selection::NONE;
    for state in State::ALL {
        if dice.below(3) == 0 {
            select = select.with(state);
        }
    }
    if dice.below(5) == 0 {
        select = Selection::DEAD_LETTER;
    }
    let dead = (select == Selection::DEAD_LETTER && dice.below(2) == 0).then(|| DeadFilter {
        error_type: (dice.below(2) == 0).then(|| "Timeout".into()),
        since: (dice.below(3) == 0).then(|| created(dice.below(100_000))),
        until: (dice.below(3) == 0).then(|| created(dice.below(100_000))),
    });
    let classes = (0..4).filter(|_| dice.below(2) == 0).map(ClassId).collect();
    ListQuery {
        select,
        dead,
        classes: (dice.below(2) == 0).then_some(classes),
        since: (dice.below(3) == 0).then(|| created(dice.below(next_seq + 2))),
        until: (dice.below(3) == 0).then(|| created(dice.below(next_seq + 2))),
        order: if dice.below(2) == 0 { Order::OldestFirst } else { Order::NewestFirst },
        limit: 1 + dice.below(50) as usize,
        scan: 1 + dice.below(100) as usize,
        max_bytes: if dice.below(2) == 0 { usize::MAX } else { dice.below(2_000) as usize },
        ..everything()
    }
}

/// A xorshift generator, so that the sequence is the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { all.get(self.below(all.len() as u64) as usize) }
    }
}
