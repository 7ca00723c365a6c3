//! What the engine changes, in the words that a store makes durable.
//!
//! Each variant names only the columns that it changes: the engine keeps eight bytes of a waiting
//! job in memory, so it could not repeat the rest, and need not.

use std::sync::Arc;

use bytes::Bytes;

use crate::usage::{UsagePer, UsageRow};
use crate::{
    Class, ClassId, Ending, ErrorRow, JobId, Live, Millis, PoolName, Seq, State, TenantId, WorkerId,
};

/// One change that a store makes durable. A mutation names only the columns that it changes.
#[derive(Debug, Clone)]
pub enum Mutation {
    /// A class that jobs of this batch refer to.
    Class(ClassId, Arc<Class>),
    /// A class that no job refers to any more.
    DropClass(ClassId),
    /// A class's finished jobs, counted anew.
    Counts(ClassId, Counts),
    /// A new job. The row is boxed because it would more than double the size of all mutations.
    Insert(NewRow, Box<Live>),
    /// A waiting job was given to a worker: it is active.
    Claim(Claim),
    /// An active job's reservation was extended.
    Extend {
        /// The active job.
        seq: Seq,
        /// The new wall-clock end of the reservation.
        due: Millis,
        /// The new length of the reservation, in milliseconds.
        reserved_ms: u64,
    },
    /// An active job failed and will be retried when it is due: it is retryable.
    Backoff(Backoff),
    /// A job that was available is put off because a limit is reached: it is scheduled and held. One that
    /// was put off comes back at another time. All else stays.
    Postpone {
        /// The job, which is available or was put off before.
        seq: Seq,
        /// When it becomes available again.
        due: Millis,
    },
    /// A job is ready to run: available. Its attempt, start and deadline stay; its timer, worker,
    /// pool and reservation are cleared.
    Ready(Ready),
    /// A living job ended. The store carries attempt, class, times and deadline over.
    Finish(Finish),
    /// A finished job is available again, with no attempts; its result, errors, start and deadline
    /// are forgotten.
    Revive {
        /// The finished job.
        seq: Seq,
        /// When it became available again.
        enqueued: Millis,
    },
    /// A job is gone, living or finished, with all that belongs to it.
    Delete(Seq),
    /// No job that retention may remove at or before this time is left.
    Purged(Millis),
    /// An execution failed.
    Error(ErrorRow),
    /// A small named thing was created or changed.
    Put(RowKind, Arc<str>, Bytes),
    /// A small named thing was deleted.
    Remove(RowKind, Arc<str>),
    /// An interval of statistics.
    History(HistoryRow),
    /// Of statistics that begin before this, at most so many intervals are gone, the oldest first.
    ForgetHistory {
        /// Whether intervals of a minute or an hour are removed.
        period: Period,
        /// Intervals that begin at or after this time stay.
        before: Millis,
        /// The most rows to remove, which bounds the length of the commit.
        most: u32,
    },
    /// All statistics of this queue are gone.
    ForgetHistoryOf(Arc<str>),
    /// Is added to what the tenant used in this hour, and in its day.
    AddUsage(UsageRow),
    /// Of usage that begins before this, at most so many periods are gone, the oldest first.
    ForgetUsage {
        /// Whether hours or days are removed.
        per: UsagePer,
        /// Periods that begin at or after this time stay.
        before: Millis,
        /// The most rows to remove, which bounds the length of the commit.
        most: u32,
    },
    /// All that a tenant used is gone.
    ForgetTenantUsage(TenantId),
    /// What this batch did to counters that are kept apart from the jobs: one entry, under the batch's number.
    Journal(Bytes),
    /// Entries of batches before this one are not needed any more.
    TrimJournal(u64),
}

/// The part of a job that is written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRow {
    /// The job's number, in the order of acceptance.
    pub seq: Seq,
    /// The job's public id.
    pub id: JobId,
    /// The client chose the id; otherwise it holds the number, sealed.
    pub given: bool,
    /// The class, which an earlier mutation has declared.
    pub class: ClassId,
    /// When the job was accepted.
    pub created: Millis,
    /// JSON members without braces.
    pub body: Bytes,
}

/// A job that was handed to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The job.
    pub seq: Seq,
    /// The number of this execution, counted from 1.
    pub attempt: u32,
    /// When it was handed out.
    pub started: Millis,
    /// The wall-clock end of its reservation.
    pub due: Millis,
    /// The length of its reservation, in milliseconds.
    pub reserved_ms: u64,
    /// Who fetched it, if the fetch named a worker.
    pub worker: Option<WorkerId>,
    /// The pool that it was fetched for, whose concurrency it counts toward.
    pub pool: Option<PoolName>,
}

/// A job that waits for its next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The job.
    pub seq: Seq,
    /// When it becomes available.
    pub due: Millis,
    /// Set when an execution does not count.
    pub undo: Option<Undo>,
}

/// An execution that does not count, because it was never delivered or ended at a limit elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undo {
    /// The attempts that are left without it.
    pub attempt: u32,
    /// How often the job has ended at a limit elsewhere.
    pub pauses: u32,
}

/// A job that becomes available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The job.
    pub seq: Seq,
    /// When it became available, which is where its wait is measured from.
    pub enqueued: Millis,
    /// Set when an execution does not count.
    pub undo: Option<Undo>,
    /// Kept back until the previous run of its schedule has finished.
    pub held: bool,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// The job.
    pub seq: Seq,
    /// How it ended.
    pub ending: Ending,
    /// When it ended.
    pub at: Millis,
    /// When retention may remove it; `None` keeps it.
    pub purge_at: Option<Millis>,
    /// What the worker returned, as JSON.
    pub result: Option<Bytes>,
}

/// How many finished jobs of a class are kept, by [`Ending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts(pub [u64; Ending::ALL.len()]);

impl Counts {
    /// Finished jobs with this ending.
    #[must_use]
    pub fn get(&self, ending: Ending) -> u64 {
        self.0[usize::from(ending.code())]
    }

    /// The counter of this ending.
    pub fn get_mut(&mut self, ending: Ending) -> &mut u64 {
        &mut self.0[usize::from(ending.code())]
    }

    /// Adds each counter of `other`.
    pub fn add(&mut self, other: &Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum += n);
    }

    /// Finished jobs in this state: expired jobs count as discarded, as those in the dead letter
    /// do.
    #[must_use]
    pub fn of_state(&self, state: State) -> u64 {
        Ending::ALL.into_iter().filter(|e| e.state() == state).map(|e| self.get(e)).sum()
    }

    /// All finished jobs of the class.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Small named things, each a JSON document that only the engine reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RowKind {
    /// What an operator configured for a queue, and whether it is paused.
    Queue = 0,
    /// A recurring schedule with its counts.
    Cron = 1,
    /// A registered worker.
    Worker = 2,
    /// A setting that is changed at run time, such as maintenance mode.
    Setting = 3,
    /// What an operator said about a tenant.
    Tenant = 4,
    /// What an operator said about a pool.
    Pool = 5,
    /// What an operator or a handler said about a limit.
    Limit = 6,
    /// What a tenant's counters were when they were last written out.
    TenantState = 7,
    /// The same of a limit.
    LimitState = 8,
    /// How queues take turns, for a pool or for fetches that name the same queues.
    RotationState = 9,
    /// An unfinished run of a schedule: the job's number, and the schedule's name.
    CronRun = 10,
    /// What a queue or a pool handed out in the last minute, when it was last written out.
    DispatchState = 11,
}

impl RowKind {
    /// Every kind, in the order of the codes.
    pub const ALL: [RowKind; 12] = [
        RowKind::Queue,
        RowKind::Cron,
        RowKind::Worker,
        RowKind::Setting,
        RowKind::Tenant,
        RowKind::Pool,
        RowKind::Limit,
        RowKind::TenantState,
        RowKind::LimitState,
        RowKind::RotationState,
        RowKind::CronRun,
        RowKind::DispatchState,
    ];

    /// The number that stands for it in a store. Never reused for something else.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Reads a code; `None` for one that a newer version may have written.
    #[must_use]
    pub fn from_code(code: u8) -> Option<RowKind> {
        RowKind::ALL.get(usize::from(code)).copied()
    }
}

/// How long an interval of statistics is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Period {
    /// Kept for 25 hours.
    Minute = 0,
    /// Kept for 31 days.
    Hour = 1,
}

impl Period {
    /// The number that stands for it in a store.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The length in milliseconds.
    #[must_use]
    pub fn ms(self) -> i64 {
        match self {
            Period::Minute => 60_000,
            Period::Hour => 3_600_000,
        }
    }

    /// The beginning of the interval that this moment belongs to.
    #[must_use]
    pub fn start_of(self, at: Millis) -> Millis {
        Millis(at.0 - at.0.rem_euclid(self.ms()))
    }

    /// From where on a start reads minutes, if the last commit was at this time: those of the same hour, and
    /// of the one before while that may not have been closed.
    #[must_use]
    pub fn first_read(last_commit: Millis) -> Millis {
        Period::Hour.start_of(last_commit.saturating_sub_ms(CLOSING_MS))
    }
}

/// Closing the minutes and hours of all queues takes less than this.
const CLOSING_MS: i64 = 600_000;

/// One interval of one queue's statistics; writing it again replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// How long the interval is.
    pub period: Period,
    /// The interval's beginning.
    pub at: Millis,
    /// The queue's name; empty for all queues together.
    pub queue: Arc<str>,
    /// JSON that only the engine reads.
    pub data: Bytes,
}
