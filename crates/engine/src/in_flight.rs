//! Changes to jobs that are decided but not committed yet.
//!
//! A store answers as of its last commit. Applying the changes that are still on their way gives a
//! job's row as the engine sees it.

use std::collections::{HashMap, VecDeque};

use ahash::RandomState;
use rota_model::mutation::{Backoff, Claim, Finish, Mutation, Ready, Undo};
use rota_model::row::JobRow;
use rota_model::{ClassId, DeadRow, Done, JobId, Live, Millis, Seq, State};

use crate::hasher;

pub struct InFlight {
    batches: VecDeque<PendingBatch>,
    /// Client-chosen ids that are not in the store yet.
    ids: HashMap<JobId, (u64, Seq), RandomState>,
}

/// The changes of one batch. Lookups are rare and batches small, so scanning the sequence numbers
/// beats an index that every job would pay for.
#[derive(Default)]
struct PendingBatch {
    batch: u64,
    seqs: Vec<u64>,
    changes: Vec<Change>,
}

enum Change {
    Insert(Live),
    Claim(Claim),
    Extend { due: Millis, reserved_ms: u64 },
    RequestCancel,
    Backoff(Backoff),
    Postpone { due: Millis },
    Ready(Ready),
    Finish(Finish),
    Bury(Box<DeadRow>),
    Revive { enqueued: Millis },
    Rewrite { class: ClassId, bytes: u32 },
    Delete,
}

impl InFlight {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { batches: VecDeque::new(), ids: HashMap::with_hasher(hasher::seeded(seed)) }
    }

    /// Records the mutations of a batch, which must be the newest.
    pub fn note(&mut self, batch: u64, mutations: &[Mutation]) {
        if self.batches.back().is_none_or(|last| last.batch != batch) {
            self.batches.push_back(PendingBatch { batch, ..PendingBatch::default() });
        }
        let pending = self.batches.back_mut().expect("a batch was just made sure of");
        for mutation in mutations {
            if let Some((seq, change)) = change_of(mutation) {
                pending.seqs.push(seq.0);
                pending.changes.push(change);
            }
        }
    }

    /// Records a client-chosen id of a batch.
    pub fn note_id(&mut self, batch: u64, id: JobId, seq: Seq) {
        self.ids.insert(id, (batch, seq));
    }

    /// Drops all batches up to this one, which the store has committed.
    pub fn committed(&mut self, batch: u64) {
        while self.batches.front().is_some_and(|pending| pending.batch <= batch) {
            self.batches.pop_front();
        }
        if !self.ids.is_empty() {
            self.ids.retain(|_, (id_batch, _)| *id_batch > batch);
        }
    }

    /// The job with a client-chosen id that is not in the store yet.
    #[must_use]
    pub fn seq_of(&self, id: JobId) -> Option<Seq> {
        self.ids.get(&id).map(|&(_, seq)| seq)
    }

    /// Whether the store's row of this job is out of date.
    #[must_use]
    pub fn touches(&self, seq: Seq) -> bool {
        self.batches.iter().any(|pending| pending.seqs.contains(&seq.0))
    }

    /// A job's row, given what the store has. The store may already have some of these changes, if
    /// its last commit was not reported yet. Applying a change twice does no harm, because changes
    /// set values instead of adding to them.
    #[must_use]
    pub fn current_row(&self, seq: Seq, stored: Option<JobRow>) -> Option<JobRow> {
        let mut row = stored;
        for pending in &self.batches {
            for (i, _) in pending.seqs.iter().enumerate().filter(|(_, s)| **s == seq.0) {
                row = pending.changes[i].apply(row);
            }
        }
        row
    }
}

fn change_of(mutation: &Mutation) -> Option<(Seq, Change)> {
    Some(match mutation {
        Mutation::Insert(row, live) => (row.seq, Change::Insert(Live::clone(live))),
        Mutation::Claim(claim) => (claim.seq, Change::Claim(claim.clone())),
        &Mutation::Extend { seq, due, reserved_ms } => (seq, Change::Extend { due, reserved_ms }),
        &Mutation::RequestCancel(seq) => (seq, Change::RequestCancel),
        Mutation::Backoff(backoff) => (backoff.seq, Change::Backoff(*backoff)),
        &Mutation::Postpone { seq, due } => (seq, Change::Postpone { due }),
        Mutation::Ready(ready) => (ready.seq, Change::Ready(*ready)),
        Mutation::Finish(finish) => {
            (finish.seq, Change::Finish(Finish { result: None, ..finish.clone() }))
        }
        Mutation::Bury(seq, dead) => (*seq, Change::Bury(dead.clone())),
        Mutation::Rewrite(rewrite) => {
            let bytes = u32::try_from(rewrite.body.len()).unwrap_or(u32::MAX);
            (rewrite.seq, Change::Rewrite { class: rewrite.class, bytes })
        }
        &Mutation::Revive { seq, enqueued } => (seq, Change::Revive { enqueued }),
        &Mutation::Delete(seq) => (seq, Change::Delete),
        _ => return None,
    })
}

impl Change {
    fn apply(&self, row: Option<JobRow>) -> Option<JobRow> {
        let mut row = match (self, row) {
            (Change::Insert(live), _) => return Some(JobRow::Live(live.clone())),
            (Change::Delete, _) | (_, None) => return None,
            (_, Some(row)) => row,
        };
        match (self, &mut row) {
            (Change::Claim(claim), JobRow::Live(live)) => {
                live.state = State::Active;
                live.attempt = claim.attempt;
                live.started = Some(claim.started);
                live.due = Some(claim.due);
                live.reserved_ms = claim.reserved_ms;
                live.worker.clone_from(&claim.worker);
                live.pool.clone_from(&claim.pool);
            }
            (Change::Extend { due, reserved_ms }, JobRow::Live(live)) => {
                (live.due, live.reserved_ms) = (Some(*due), *reserved_ms);
            }
            (Change::RequestCancel, JobRow::Live(live)) => live.marked = true,
            (Change::Backoff(backoff), JobRow::Live(live)) => {
                (live.state, live.due, live.worker) = (State::Retryable, Some(backoff.due), None);
                (live.pool, live.reserved_ms) = (None, 0);
                undo(live, backoff.undo);
            }
            (Change::Postpone { due }, JobRow::Live(live)) => {
                (live.state, live.due, live.marked) = (State::Scheduled, Some(*due), true);
            }
            (Change::Ready(ready), JobRow::Live(live)) => {
                (live.state, live.due, live.worker) = (State::Available, None, None);
                (live.enqueued, live.marked) = (ready.enqueued, ready.held);
                (live.pool, live.reserved_ms) = (None, 0);
                undo(live, ready.undo);
            }
            (Change::Finish(finish), JobRow::Live(live)) => return Some(done_row(live, finish)),
            (Change::Bury(dead), JobRow::Done(done)) => done.dead = Some(DeadRow::clone(dead)),
            (Change::Rewrite { class, bytes }, JobRow::Live(live)) => {
                (live.class, live.bytes) = (*class, *bytes);
            }
            (Change::Revive { enqueued }, JobRow::Done(done)) => {
                return Some(JobRow::Live(Live::ready(
                    done.seq, done.class, *enqueued, done.bytes,
                )));
            }
            _ => {}
        }
        Some(row)
    }
}

fn undo(live: &mut Live, undo: Option<Undo>) {
    if let Some(undo) = undo {
        (live.attempt, live.pauses) = (undo.attempt, undo.pauses);
    }
}

fn done_row(live: &Live, finish: &Finish) -> JobRow {
    JobRow::Done(Done {
        seq: live.seq,
        class: live.class,
        bytes: live.bytes,
        ending: finish.ending,
        at: finish.at,
        attempt: live.attempt,
        enqueued: live.enqueued,
        started: live.started,
        expires: live.expires,
        purge_at: finish.purge_at,
        result: None,
        dead: None,
    })
}
