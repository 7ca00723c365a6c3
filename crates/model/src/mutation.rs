//! The mutations that the engine emits and a store applies.
//!
//! A mutation contains only the columns that change. The engine keeps eight bytes of a waiting job in
//! memory, so it does not have the others.

use std::sync::Arc;

use bytes::Bytes;

use crate::audit::AuditRow;
use crate::usage::{UsagePer, UsageRow};
use crate::{
    Class, ClassId, DeadRow, Ending, ErrorRow, JobId, Live, Millis, PoolName, Seq, State, TenantId,
    WorkerId,
};

/// One change to be made durable.
#[derive(Debug, Clone)]
pub enum Mutation {
    /// Adds a class that jobs of this batch refer to.
    Class(ClassId, Arc<Class>),
    /// Deletes a class that no job refers to any more.
    DropClass(ClassId),
    /// Replaces a class's counts of finished jobs.
    Counts(ClassId, Counts),
    /// Inserts a new job. Boxed, because the row would double the size of every mutation.
    Insert(NewRow, Box<Live>),
    /// Makes an available job active: a worker has fetched it.
    Claim(Claim),
    /// Extends an active job's reservation.
    Extend {
        /// The active job.
        seq: Seq,
        /// The new wall-clock end of the reservation.
        due: Millis,
        /// The new length of the reservation, in milliseconds.
        reserved_ms: u64,
    },
    /// Records that the worker of an active job is to cancel it. The job is then `held`.
    RequestCancel(Seq),
    /// Makes an active job retryable: it has failed and will be retried when it is due.
    Backoff(Backoff),
    /// Reschedules an available job because a limit is reached, or changes the time of a rescheduled
    /// one. It becomes scheduled and `held`.
    Postpone {
        /// The job, which is available or was rescheduled before.
        seq: Seq,
        /// When it becomes available again.
        due: Millis,
    },
    /// Makes a job available. Keeps its attempt, start and deadline, and clears its timer, worker, pool
    /// and reservation.
    Ready(Ready),
    /// Finishes a live job. The store copies attempt, class, times and deadline from the live row.
    Finish(Finish),
    /// Adds a finished job to the dead letter, or changes when it is replayed.
    Bury(Seq, Box<DeadRow>),
    /// Makes a finished job available again, with 0 attempts. Clears its result, start and deadline, and
    /// takes it out of the dead letter. Its errors are kept.
    Revive {
        /// The finished job.
        seq: Seq,
        /// When it became available again.
        enqueued: Millis,
    },
    /// Replaces the class and the body of a waiting job. The new class is of the same tenant.
    Rewrite(Box<Rewrite>),
    /// Records how often a job was replayed, as JSON.
    Replayed(Seq, Bytes),
    /// Deletes a live or finished job with all of its rows.
    Delete(Seq),
    /// All finished jobs with a purge time up to this one have been deleted, so the store need not
    /// look for them again.
    Purged(Millis),
    /// Adds the error of a failed execution.
    Error(ErrorRow),
    /// Creates or replaces a named row.
    Put(RowKind, Arc<str>, Bytes),
    /// Deletes a named row.
    Remove(RowKind, Arc<str>),
    /// Creates or replaces one interval of statistics.
    History(HistoryRow),
    /// Deletes the oldest statistics.
    ForgetHistory {
        /// Length of the intervals to delete.
        period: Period,
        /// Only intervals that begin before this time are deleted.
        before: Millis,
        /// Maximum number of rows to delete, which bounds the duration of the commit.
        most: u32,
    },
    /// Deletes all statistics of a queue.
    ForgetHistoryOf(Arc<str>),
    /// Adds to a tenant's usage of an hour, and of the day of that hour.
    AddUsage(UsageRow),
    /// Deletes the oldest usage of all tenants.
    ForgetUsage {
        /// Length of the periods to delete.
        per: UsagePer,
        /// Only periods that begin before this time are deleted.
        before: Millis,
        /// Maximum number of rows to delete, which bounds the duration of the commit.
        most: u32,
    },
    /// Deletes all usage of a tenant.
    ForgetTenantUsage(TenantId),
    /// Adds the batch's journal entry: its changes to counters that are not stored with jobs.
    Journal(Bytes),
    /// Deletes the journal entries of batches before this one.
    TrimJournal(u64),
    /// Appends an entry to the audit log.
    Audit(Box<AuditRow>),
    /// Deletes the entries of the audit log up to this number.
    TrimAudit(u64),
}

/// The immutable part of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRow {
    /// The job's number, in the order of acceptance.
    pub seq: Seq,
    /// The job's public id.
    pub id: JobId,
    /// Whether the client chose the id. Otherwise, it contains the sealed sequence number.
    pub given: bool,
    /// The class, which an earlier mutation has added.
    pub class: ClassId,
    /// When the job was accepted.
    pub created: Millis,
    /// JSON members without braces.
    pub body: Bytes,
}

/// A job that was changed when it was retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The job.
    pub seq: Seq,
    /// The new class, which an earlier mutation may have added.
    pub class: ClassId,
    /// JSON members without braces.
    pub body: Bytes,
}

/// A job that a worker has fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The job.
    pub seq: Seq,
    /// Number of this execution, counted from 1.
    pub attempt: u32,
    /// When the execution started.
    pub started: Millis,
    /// The wall-clock end of the reservation.
    pub due: Millis,
    /// Length of the reservation, in milliseconds.
    pub reserved_ms: u64,
    /// The worker, if the fetch named one.
    pub worker: Option<WorkerId>,
    /// The pool that the job was fetched for, and counts toward.
    pub pool: Option<PoolName>,
}

/// A job that will be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The job.
    pub seq: Seq,
    /// When the job becomes available.
    pub due: Millis,
    /// Set if the execution does not count as an attempt.
    pub undo: Option<Undo>,
}

/// Takes back an execution that does not count, because the job never reached its worker or met a rate
/// limit outside Rota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undo {
    /// Number of attempts without this execution.
    pub attempt: u32,
    /// Number of executions that ended because of a rate limit outside Rota.
    pub pauses: u32,
}

/// A job that becomes available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The job.
    pub seq: Seq,
    /// When the job became available, from which its waiting time is measured.
    pub enqueued: Millis,
    /// Set if the execution does not count as an attempt.
    pub undo: Option<Undo>,
    /// Whether the job must wait until the previous run of its schedule has finished.
    pub held: bool,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// The job.
    pub seq: Seq,
    /// How the job ended.
    pub ending: Ending,
    /// When the job ended.
    pub at: Millis,
    /// When retention may delete the job; `None` keeps it forever.
    pub purge_at: Option<Millis>,
    /// The result that the worker returned, as JSON.
    pub result: Option<Bytes>,
}

/// Number of stored finished jobs of a class, by [`Ending`].
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

    /// Adds `other` counter by counter.
    pub fn add(&mut self, other: &Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum += n);
    }

    /// Finished jobs in this state. Expired jobs and those in the dead letter count as discarded.
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

/// The kind of a named row. Each row is a JSON document that only the engine reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RowKind {
    /// The configuration of a queue, and whether it is paused.
    Queue = 0,
    /// What a recurring schedule was registered with.
    Cron = 1,
    /// A registered worker.
    Worker = 2,
    /// A setting that can be changed at run time, such as maintenance mode.
    Setting = 3,
    /// The configuration of a tenant.
    Tenant = 4,
    /// The configuration of a pool.
    Pool = 5,
    /// The configuration of a limit, by an operator or a handler.
    Limit = 6,
    /// A tenant's counters when they were last written.
    TenantState = 7,
    /// A limit's counters when they were last written.
    LimitState = 8,
    /// The rotation of a pool's queues, or of a set's.
    RotationState = 9,
    /// An unfinished run of a schedule: the job's sequence number and the schedule's name.
    CronRun = 10,
    /// The dispatches of a queue or a pool in the last minute, when they were last written.
    DispatchState = 11,
    /// The dead letter of a tenant in a queue.
    DeadShard = 12,
    /// Number of jobs in a dead letter with the same type of error.
    DeadErrors = 13,
    /// The record of an API key.
    ApiKey = 14,
    /// When a recurring schedule runs next, whether it is enabled, its counters and its recent history.
    CronState = 15,
}

impl RowKind {
    /// Every kind, in the order of the codes.
    pub const ALL: [RowKind; 16] = [
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
        RowKind::DeadShard,
        RowKind::DeadErrors,
        RowKind::ApiKey,
        RowKind::CronState,
    ];

    /// The stored number. Codes are never reused.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this code; `None` if it is unknown to this version.
    #[must_use]
    pub fn from_code(code: u8) -> Option<RowKind> {
        RowKind::ALL.get(usize::from(code)).copied()
    }
}

/// The length of an interval of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Period {
    /// One minute; kept for 25 hours.
    Minute = 0,
    /// One hour; kept for 31 days.
    Hour = 1,
}

impl Period {
    /// The stored number.
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

    /// The start of the interval that contains this time.
    #[must_use]
    pub fn start_of(self, time: Millis) -> Millis {
        Millis(time.0 - time.0.rem_euclid(self.ms()))
    }

    /// The first minute to load at startup: the start of the hour of the last commit, or of the hour
    /// before if that may not have been closed yet.
    #[must_use]
    pub fn first_read(last_commit: Millis) -> Millis {
        Period::Hour.start_of(last_commit.saturating_sub_ms(CLOSING_MS))
    }
}

/// Upper bound on the time it takes to close the minutes and hours of all queues.
const CLOSING_MS: i64 = 600_000;

/// One interval of one queue's statistics; writing it again replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// Length of the interval.
    pub period: Period,
    /// Start of the interval.
    pub at: Millis,
    /// The queue's name; empty for the sum of all queues.
    pub queue: Arc<str>,
    /// JSON that only the engine reads.
    pub data: Bytes,
}
