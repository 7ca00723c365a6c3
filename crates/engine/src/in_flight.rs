//! Changes to jobs that are decided but not in the view yet.
//!
//! A view answers as of the last batch that it has applied. Applying the changes that are still on their way
//! gives a job's row as the engine sees it.

use std::cell::OnceCell;
use std::collections::{HashMap, VecDeque};

use ahash::RandomState;
use rota_model::mutation::{Backoff, Claim, Finish, Mutation, Ready, Undo};
use rota_model::row::JobRow;
use rota_model::{ClassId, DeadRow, Done, JobId, Live, Millis, Seq, State};

use crate::hasher;

pub struct InFlight {
    batches: VecDeque<PendingBatch>,
    /// Client-chosen ids that are not in the view yet.
    ids: HashMap<JobId, (u64, Seq), RandomState>,
    hasher: RandomState,
}

/// The changes of one batch. Few batches are ever asked about, so the index is made when the first job is looked
/// up; otherwise every job would pay for it.
#[derive(Default)]
struct PendingBatch {
    batch: u64,
    seqs: Vec<u64>,
    changes: Vec<Change>,
    /// The positions of each job's changes, in order.
    index: OnceCell<HashMap<u64, Vec<u32>, RandomState>>,
}

impl PendingBatch {
    fn push(&mut self, seq: Seq, change: Change) {
        let position = self.seqs.len() as u32;
        if let Some(index) = self.index.get_mut() {
            index.entry(seq.0).or_default().push(position);
        }
        self.seqs.push(seq.0);
        self.changes.push(change);
    }

    fn changes_of(&self, seq: Seq, hasher: &RandomState) -> impl Iterator<Item = &Change> {
        let index = self.index.get_or_init(|| {
            let mut index: HashMap<u64, Vec<u32>, RandomState> =
                HashMap::with_hasher(hasher.clone());
            for (position, seq) in self.seqs.iter().enumerate() {
                index.entry(*seq).or_default().push(position as u32);
            }
            index
        });
        let positions = index.get(&seq.0).map_or(&[][..], Vec::as_slice);
        positions.iter().map(|position| &self.changes[*position as usize])
    }
}

enum Change {
    Insert(JobId, Live),
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
        let hasher = hasher::seeded(seed);
        Self { batches: VecDeque::new(), ids: HashMap::with_hasher(hasher.clone()), hasher }
    }

    /// Records the mutations of a batch, which must be the newest. Returns how many jobs they delete.
    pub fn note(&mut self, batch: u64, mutations: &[Mutation]) -> usize {
        if self.batches.back().is_none_or(|last| last.batch != batch) {
            self.batches.push_back(PendingBatch { batch, ..PendingBatch::default() });
        }
        let pending = self.batches.back_mut().expect("a batch was just made sure of");
        let mut deletions = 0;
        for mutation in mutations {
            if let Some((seq, change)) = change_of(mutation) {
                deletions += usize::from(matches!(change, Change::Delete));
                pending.push(seq, change);
            }
        }
        deletions
    }

    /// Records a client-chosen id of a batch.
    pub fn note_id(&mut self, batch: u64, id: JobId, seq: Seq) {
        self.ids.insert(id, (batch, seq));
    }

    /// Drops all batches up to this one, which the view has applied.
    pub fn applied(&mut self, batch: u64) {
        while self.batches.front().is_some_and(|pending| pending.batch <= batch) {
            self.batches.pop_front();
        }
        if !self.ids.is_empty() {
            self.ids.retain(|_, (id_batch, _)| *id_batch > batch);
        }
    }

    /// The job with this id, if it is not in the view yet. `sealed` is the number that the id would have if Rota
    /// had made it.
    #[must_use]
    pub fn seq_of(&self, id: JobId, sealed: Seq) -> Option<Seq> {
        let is_id =
            |change: &Change| matches!(change, Change::Insert(inserted, _) if *inserted == id);
        let chosen = self.ids.get(&id).map(|&(_, seq)| seq);
        chosen.or_else(|| self.changes_of(sealed).any(is_id).then_some(sealed))
    }

    /// Whether the view's row of this job is out of date.
    #[must_use]
    pub fn touches(&self, seq: Seq) -> bool {
        self.changes_of(seq).next().is_some()
    }

    /// A job's row, given what the view has. The view may already have some of these changes, if
    /// it was not reported yet. Applying a change twice does no harm, because changes
    /// set values instead of adding to them.
    #[must_use]
    pub fn current_row(&self, seq: Seq, stored: Option<JobRow>) -> Option<JobRow> {
        self.changes_of(seq).fold(stored, |row, change| change.apply(row))
    }

    fn changes_of(&self, seq: Seq) -> impl Iterator<Item = &Change> {
        self.batches.iter().flat_map(move |pending| pending.changes_of(seq, &self.hasher))
    }
}

fn change_of(mutation: &Mutation) -> Option<(Seq, Change)> {
    Some(match mutation {
        Mutation::Insert(row, live) => (row.seq, Change::Insert(row.id, Live::clone(live))),
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
            (Change::Insert(_, live), _) => return Some(JobRow::Live(live.clone())),
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
