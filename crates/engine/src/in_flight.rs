//! Changes to jobs that are decided but not in the view yet.
//!
//! A view answers as of the last batch that it has applied. Applying the changes that are still on their way
//! gives a job's row as the engine sees it. Some time passes between a read of the view and the use of what
//! was read. A [`Pin`] keeps the changes of that time, even if the view has applied them since.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, VecDeque};

use ahash::RandomState;
use rota_model::mutation::{Finish, Mutation};
use rota_model::row::JobRow;
use rota_model::{JobChange, JobId, Seq};

use crate::hasher;

pub struct InFlight {
    batches: VecDeque<PendingBatch>,
    /// Client-chosen ids of these batches.
    ids: HashMap<JobId, (u64, Seq), RandomState>,
    hasher: RandomState,
    /// The view has the batches up to this one.
    applied: u64,
    /// The batches up to this one are no longer here.
    dropped: u64,
    /// How many reads rely on the batches after each of these.
    pins: BTreeMap<u64, usize>,
    /// How often everything was forgotten.
    resets: u64,
}

/// Keeps what a read of the view needs to be corrected by; see [`InFlight::pin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "what is pinned is kept until it is released"]
pub struct Pin {
    dropped: u64,
    resets: u64,
}

/// The changes of one batch. Few batches are ever asked about, so the index is made when the first job is looked
/// up; otherwise every job would pay for it.
#[derive(Default)]
struct PendingBatch {
    batch: u64,
    seqs: Vec<u64>,
    changes: Vec<JobChange>,
    /// The positions of each job's changes, in order.
    index: OnceCell<HashMap<u64, Vec<u32>, RandomState>>,
}

impl PendingBatch {
    fn push(&mut self, seq: Seq, change: JobChange) {
        let position = self.seqs.len() as u32;
        if let Some(index) = self.index.get_mut() {
            index.entry(seq.0).or_default().push(position);
        }
        self.seqs.push(seq.0);
        self.changes.push(change);
    }

    fn changes_of(&self, seq: Seq, hasher: &RandomState) -> impl Iterator<Item = &JobChange> {
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

impl InFlight {
    /// Nothing is in flight: the view has all batches, up to this one.
    #[must_use]
    pub fn new(seed: u64, applied: u64) -> Self {
        let hasher = hasher::seeded(seed);
        Self {
            batches: VecDeque::new(),
            ids: HashMap::with_hasher(hasher.clone()),
            hasher,
            applied,
            dropped: applied,
            pins: BTreeMap::new(),
            resets: 0,
        }
    }

    /// Forgets everything, because the engine was built again from a view that has all batches up to this one.
    pub fn reset(&mut self, applied: u64) {
        self.batches.clear();
        self.ids.clear();
        self.pins.clear();
        (self.applied, self.dropped) = (applied, applied);
        self.resets += 1;
    }

    /// Records the mutations of a batch, which must be the newest. Returns how many jobs they delete.
    pub fn note(&mut self, batch: u64, mutations: &[Mutation]) -> usize {
        if self.batches.back().is_none_or(|last| last.batch != batch) {
            self.batches.push_back(PendingBatch { batch, ..PendingBatch::default() });
        }
        let pending = self.batches.back_mut().expect("a batch was just made sure of");
        let mut deletions = 0;
        for mutation in mutations {
            if let Some((seq, change)) = JobChange::of(mutation) {
                deletions += usize::from(matches!(change, JobChange::Delete));
                pending.push(seq, without_result(change));
            }
        }
        deletions
    }

    /// Records a client-chosen id of a batch.
    pub fn note_id(&mut self, batch: u64, id: JobId, seq: Seq) {
        self.ids.insert(id, (batch, seq));
    }

    /// The view has applied all batches up to this one. Drops those that no read relies on.
    pub fn applied(&mut self, batch: u64) {
        self.applied = self.applied.max(batch);
        self.drop_applied();
    }

    /// Keeps all batches that the view may not have at this moment, so that what is read of it from now on can be
    /// corrected until the pin is released.
    pub fn pin(&mut self) -> Pin {
        *self.pins.entry(self.dropped).or_default() += 1;
        Pin { dropped: self.dropped, resets: self.resets }
    }

    /// Whether what was read under this pin can be corrected. After a reset it cannot, and must be read again.
    #[must_use]
    pub fn covers(&self, pin: Pin) -> bool {
        pin.resets == self.resets
    }

    /// What was read under this pin is no longer needed.
    pub fn release(&mut self, pin: Pin) {
        if !self.covers(pin) {
            return;
        }
        if let Some(reads) = self.pins.get_mut(&pin.dropped) {
            *reads -= 1;
            if *reads == 0 {
                self.pins.remove(&pin.dropped);
                self.drop_applied();
            }
        }
    }

    /// The job with this id, if it is new in these batches. `sealed` is the number that the id would have if Rota
    /// had made it.
    #[must_use]
    pub fn seq_of(&self, id: JobId, sealed: Seq) -> Option<Seq> {
        let is_id = |change: &JobChange| matches!(change, JobChange::Insert(inserted, _) if *inserted == id);
        let chosen = self.ids.get(&id).map(|&(_, seq)| seq);
        chosen.or_else(|| self.changes_of(sealed).any(is_id).then_some(sealed))
    }

    /// Whether the view's row of this job may be out of date.
    #[must_use]
    pub fn touches(&self, seq: Seq) -> bool {
        self.changes_of(seq).next().is_some()
    }

    /// A job's row, given what the view has. The view may already have some of these changes. Applying a
    /// change twice does no harm if those after it are applied again, too, because changes set values instead of
    /// adding to them.
    #[must_use]
    pub fn current_row(&self, seq: Seq, mut stored: Option<JobRow>) -> Option<JobRow> {
        self.changes_of(seq).for_each(|change| {
            change.apply(&mut stored);
        });
        stored
    }

    fn changes_of(&self, seq: Seq) -> impl Iterator<Item = &JobChange> {
        self.batches.iter().flat_map(move |pending| pending.changes_of(seq, &self.hasher))
    }

    fn drop_applied(&mut self) {
        let through = self.pins.first_key_value().map_or(self.applied, |(pin, _)| *pin);
        let through = through.min(self.applied);
        if through <= self.dropped {
            return;
        }
        self.dropped = through;
        while self.batches.front().is_some_and(|pending| pending.batch <= through) {
            self.batches.pop_front();
        }
        if !self.ids.is_empty() {
            self.ids.retain(|_, (batch, _)| *batch > through);
        }
    }
}

/// Nothing is decided by a result, which may be large.
fn without_result(change: JobChange) -> JobChange {
    match change {
        JobChange::Finish(finish) => JobChange::Finish(Finish { result: None, ..finish }),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use rota_model::mutation::{Claim, NewRow, Ready, Rewrite};
    use rota_model::{ClassId, DeadRow, DeadShardId, Ending, Live, Millis, SplitMix64};

    use super::*;

    const SEQ: Seq = Seq(1);

    /// A change that fits the row.
    fn next(row: &Option<JobRow>, rng: &mut SplitMix64) -> Mutation {
        let number = rng.next_u64();
        let at = Millis((number >> 32) as i64);
        let class = ClassId((number >> 40) as u32 % 3);
        let ending = Ending::ALL[(number >> 8) as usize % Ending::ALL.len()];
        match row {
            None => {
                let new = NewRow {
                    seq: SEQ,
                    id: JobId::v7(1, 1),
                    given: true,
                    class,
                    created: at,
                    body: bytes::Bytes::new(),
                };
                Mutation::Insert(new, Box::new(Live::ready(SEQ, class, at, 0)))
            }
            Some(JobRow::Live(live)) => match number % 9 {
                0 | 1 => Mutation::Finish(Finish {
                    seq: SEQ,
                    ending,
                    at,
                    purge_at: Some(at),
                    result: None,
                }),
                2 => Mutation::Claim(Claim {
                    seq: SEQ,
                    attempt: live.attempt + 1,
                    started: at,
                    due: at,
                    reserved_ms: number >> 50,
                    worker: None,
                    pool: None,
                }),
                3 => Mutation::Extend { seq: SEQ, due: at, reserved_ms: number >> 50 },
                4 => Mutation::RequestCancel(SEQ),
                5 => Mutation::Postpone { seq: SEQ, due: at },
                6 => Mutation::Rewrite(Box::new(Rewrite {
                    seq: SEQ,
                    class,
                    body: vec![0; (number >> 56) as usize].into(),
                })),
                _ => Mutation::Ready(Ready {
                    seq: SEQ,
                    enqueued: at,
                    undo: (number & 512 != 0).then_some(rota_model::mutation::Undo {
                        attempt: 0,
                        pauses: (number >> 60) as u32,
                    }),
                    held: number & 1024 != 0,
                }),
            },
            Some(JobRow::Done(_)) => match number % 4 {
                0 => Mutation::Delete(SEQ),
                1 => {
                    let dead = DeadRow {
                        shard: DeadShardId((number >> 40) as u32),
                        error: "e".into(),
                        other: false,
                        replay_at: Some(at),
                    };
                    Mutation::Bury(SEQ, Box::new(dead))
                }
                _ => Mutation::Revive { seq: SEQ, enqueued: at },
            },
        }
    }

    #[test]
    fn a_row_of_any_moment_is_brought_up_to_date_while_it_is_pinned() {
        for seed in 0..2_000 {
            let mut rng = SplitMix64(seed);
            let mut in_flight = InFlight::new(seed, 0);
            let mut row = None;
            let mut deleted = false;
            let mut pin = None;
            let mut read = Vec::new();
            for batch in 1..=12 {
                if batch == 4 {
                    // From here on the view may be read, at whatever batch it is.
                    in_flight.applied(2);
                    pin = Some(in_flight.pin());
                }
                if batch >= 4 {
                    read.push(row.clone());
                }
                if deleted {
                    break;
                }
                let mutation = next(&row, &mut rng);
                deleted = matches!(mutation, Mutation::Delete(_));
                in_flight.note(batch, std::slice::from_ref(&mutation));
                let (_, change) = JobChange::of(&mutation).expect("it is about the job");
                assert!(change.apply(&mut row), "{mutation:?} fits");
                if batch > 4 {
                    in_flight.applied(batch);
                }
            }
            for stored in read {
                assert_eq!(in_flight.current_row(SEQ, stored), row, "seed {seed}");
            }
            if let Some(pin) = pin {
                in_flight.release(pin);
            }
        }
    }

    #[test]
    fn what_the_view_has_is_dropped_when_the_last_read_has_ended() {
        let mut in_flight = InFlight::new(1, 7);
        let touched = Mutation::RequestCancel(SEQ);
        in_flight.note(8, std::slice::from_ref(&touched));
        let first = in_flight.pin();
        in_flight.applied(8);
        let second = in_flight.pin();
        assert!(in_flight.touches(SEQ), "the first read may have been before it");
        in_flight.release(first);
        assert!(in_flight.touches(SEQ), "the second relies on the same batches");
        in_flight.release(second);
        assert!(!in_flight.touches(SEQ));
        let third = in_flight.pin();
        in_flight.note(9, std::slice::from_ref(&touched));
        in_flight.applied(9);
        in_flight.reset(9);
        assert!(!in_flight.covers(third), "what it relies on is gone");
        in_flight.release(third);
        let fourth = in_flight.pin();
        in_flight.release(third);
        in_flight.note(10, std::slice::from_ref(&touched));
        in_flight.applied(10);
        assert!(in_flight.touches(SEQ), "a pin from before a reset releases nothing");
        in_flight.release(fourth);
    }
}
