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
        seq: Seq,
        due: Millis,
        reserved_ms: u64,
    },
    /// An active job failed and will be retried when it is due: it is retryable.
    Backoff(Backoff),
    /// A job that was available is put off because a limit is reached: it is scheduled and held. One that
    /// was put off comes back at another time. All else stays.
    Postpone {
        seq: Seq,
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
        seq: Seq,
        enqueued: Millis,
    },
    /// A job is gone, living or finished, with all that belongs to it.
    Delete(Seq),
    /// No job that retention may remove at or before this time is left.
    Swept(Millis),
    /// An execution failed.
    Error(ErrorRow),
    /// A small named thing was created or changed.
    Put(Kind, Arc<str>, Bytes),
    Remove(Kind, Arc<str>),
    /// An interval of statistics.
    History(HistoryRow),
    /// Of statistics that begin before this, at most so many intervals are gone, the oldest first.
    ForgetHistory {
        period: Period,
        before: Millis,
        most: u32,
    },
    /// All statistics of this queue are gone.
    ForgetHistoryOf(Arc<str>),
    /// Is added to what the tenant used in this hour, and in its day.
    AddUsage(UsageRow),
    /// Of usage that begins before this, at most so many periods are gone, the oldest first.
    ForgetUsage {
        per: UsagePer,
        before: Millis,
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
    pub seq: Seq,
    pub id: JobId,
    /// The client chose the id; otherwise it holds the number, sealed.
    pub given: bool,
    pub class: ClassId,
    pub created: Millis,
    /// JSON members without braces.
    pub body: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub seq: Seq,
    pub attempt: u32,
    pub started: Millis,
    pub due: Millis,
    pub reserved_ms: u64,
    pub worker: Option<WorkerId>,
    /// The pool that it was fetched for, whose concurrency it counts toward.
    pub pool: Option<PoolName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub seq: Seq,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    pub seq: Seq,
    pub enqueued: Millis,
    /// Set when an execution does not count.
    pub undo: Option<Undo>,
    /// Kept back until the previous run of its schedule has finished.
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    pub seq: Seq,
    pub ending: Ending,
    pub at: Millis,
    /// When retention may remove it; `None` keeps it.
    pub purge_at: Option<Millis>,
    pub result: Option<Bytes>,
}

/// How many finished jobs of a class are kept, by [`Ending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts(pub [u64; Ending::ALL.len()]);

impl Counts {
    #[must_use]
    pub fn get(&self, ending: Ending) -> u64 {
        self.0[usize::from(ending.code())]
    }

    pub fn get_mut(&mut self, ending: Ending) -> &mut u64 {
        &mut self.0[usize::from(ending.code())]
    }

    pub fn add(&mut self, other: &Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum += n);
    }

    #[must_use]
    pub fn of_state(&self, state: State) -> u64 {
        Ending::ALL.into_iter().filter(|e| e.state() == state).map(|e| self.get(e)).sum()
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Small named things, each a JSON document that only the engine reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    Queue = 0,
    Cron = 1,
    Worker = 2,
    Setting = 3,
    /// What an operator said about a tenant.
    Tenant = 4,
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

impl Kind {
    pub const ALL: [Kind; 12] = [
        Kind::Queue,
        Kind::Cron,
        Kind::Worker,
        Kind::Setting,
        Kind::Tenant,
        Kind::Pool,
        Kind::Limit,
        Kind::TenantState,
        Kind::LimitState,
        Kind::RotationState,
        Kind::CronRun,
        Kind::DispatchState,
    ];

    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    #[must_use]
    pub fn from_code(code: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(code)).copied()
    }
}

/// How long an interval of statistics is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Period {
    Minute = 0,
    Hour = 1,
}

impl Period {
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

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
}

/// One interval of one queue's statistics; writing it again replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    pub period: Period,
    /// The interval's beginning.
    pub at: Millis,
    pub queue: Arc<str>,
    /// JSON that only the engine reads.
    pub data: Bytes,
}
