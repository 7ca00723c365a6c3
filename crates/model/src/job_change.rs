//! What a mutation means for the row of the job that it changes.

use crate::mutation::{Backoff, Claim, Finish, Mutation, Ready, Undo};
use crate::row::JobRow;
use crate::{ClassId, DeadRow, Done, JobId, Live, Millis, Seq, State};

/// A mutation reduced to what it changes in a job's row. Bodies and errors are not part of the row.
#[derive(Debug, Clone)]
pub enum JobChange {
    /// The job is new.
    Insert(JobId, Box<Live>),
    /// The job becomes active.
    Claim(Claim),
    /// The reservation of an active job is extended.
    Extend {
        /// The new wall-clock end of the reservation.
        due: Millis,
        /// The new length of the reservation, in milliseconds.
        reserved_ms: u64,
    },
    /// The worker of an active job is to cancel it.
    RequestCancel,
    /// The job becomes retryable.
    Backoff(Backoff),
    /// The job becomes scheduled because a limit is reached.
    Postpone {
        /// When it becomes available again.
        due: Millis,
    },
    /// The job becomes available.
    Ready(Ready),
    /// The job ends.
    Finish(Finish),
    /// The job enters the dead letter, or is replayed at another time.
    Bury(Box<DeadRow>),
    /// A finished job becomes available again.
    Revive {
        /// When it became available again.
        enqueued: Millis,
    },
    /// The job gets another class and body.
    Rewrite {
        /// The new class.
        class: ClassId,
        /// Size of the new body in bytes.
        bytes: u32,
    },
    /// The job is deleted.
    Delete,
}

impl JobChange {
    /// The job whose row the mutation changes, and how. `None` if it changes no row of a job.
    #[must_use]
    pub fn of(mutation: &Mutation) -> Option<(Seq, Self)> {
        Some(match mutation {
            Mutation::Insert(row, live) => (row.seq, Self::Insert(row.id, live.clone())),
            Mutation::Claim(claim) => (claim.seq, Self::Claim(claim.clone())),
            &Mutation::Extend { seq, due, reserved_ms } => (seq, Self::Extend { due, reserved_ms }),
            &Mutation::RequestCancel(seq) => (seq, Self::RequestCancel),
            Mutation::Backoff(backoff) => (backoff.seq, Self::Backoff(*backoff)),
            &Mutation::Postpone { seq, due } => (seq, Self::Postpone { due }),
            Mutation::Ready(ready) => (ready.seq, Self::Ready(*ready)),
            Mutation::Finish(finish) => (finish.seq, Self::Finish(finish.clone())),
            Mutation::Bury(seq, dead) => (*seq, Self::Bury(dead.clone())),
            Mutation::Rewrite(rewrite) => {
                let bytes = u32::try_from(rewrite.body.len()).unwrap_or(u32::MAX);
                (rewrite.seq, Self::Rewrite { class: rewrite.class, bytes })
            }
            &Mutation::Revive { seq, enqueued } => (seq, Self::Revive { enqueued }),
            &Mutation::Delete(seq) => (seq, Self::Delete),
            _ => return None,
        })
    }

    /// Changes a job's row; `None` is a job that does not exist. Returns false, and changes nothing, if the
    /// change does not fit the row: a live job cannot be revived, for example.
    pub fn apply(&self, row: &mut Option<JobRow>) -> bool {
        match (self, row) {
            (Self::Insert(_, live), row) => *row = Some(JobRow::Live(Live::clone(live))),
            (Self::Delete, row @ Some(_)) => *row = None,
            (Self::Finish(finish), row @ Some(JobRow::Live(_))) => {
                let Some(JobRow::Live(live)) = row.take() else { return false };
                *row = Some(JobRow::Done(finished(&live, finish)));
            }
            (Self::Revive { enqueued }, Some(row @ JobRow::Done(_))) => {
                let JobRow::Done(done) = &*row else { return false };
                *row = JobRow::Live(Live::ready(done.seq, done.class, *enqueued, done.bytes));
            }
            (Self::Bury(dead), Some(JobRow::Done(done))) => {
                done.dead = Some(DeadRow::clone(dead));
            }
            (change, Some(JobRow::Live(live))) => return change.apply_live(live),
            _ => return false,
        }
        true
    }

    /// Changes that leave a live job live.
    fn apply_live(&self, live: &mut Live) -> bool {
        match self {
            Self::Claim(claim) => {
                live.state = State::Active;
                live.attempt = claim.attempt;
                live.started = Some(claim.started);
                live.due = Some(claim.due);
                live.reserved_ms = claim.reserved_ms;
                live.worker.clone_from(&claim.worker);
                live.pool.clone_from(&claim.pool);
            }
            Self::Extend { due, reserved_ms } => {
                (live.due, live.reserved_ms) = (Some(*due), *reserved_ms);
            }
            Self::RequestCancel => live.marked = true,
            Self::Backoff(backoff) => {
                release(live, State::Retryable);
                live.due = Some(backoff.due);
                undo(live, backoff.undo);
            }
            Self::Postpone { due } => {
                (live.state, live.due, live.marked) = (State::Scheduled, Some(*due), true);
            }
            Self::Ready(ready) => {
                release(live, State::Available);
                live.due = None;
                (live.enqueued, live.marked) = (ready.enqueued, ready.held);
                undo(live, ready.undo);
            }
            Self::Rewrite { class, bytes } => (live.class, live.bytes) = (*class, *bytes),
            _ => return false,
        }
        true
    }
}

/// The job is no longer active.
fn release(live: &mut Live, state: State) {
    (live.state, live.worker, live.pool, live.reserved_ms) = (state, None, None, 0);
}

fn undo(live: &mut Live, undo: Option<Undo>) {
    if let Some(undo) = undo {
        (live.attempt, live.pauses) = (undo.attempt, undo.pauses);
    }
}

fn finished(live: &Live, finish: &Finish) -> Done {
    Done {
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
        result: finish.result.clone(),
        dead: None,
    }
}
