//! The stored state of a job: a `Live` row while it is unfinished, a `Done` row afterwards.

use bytes::Bytes;

use crate::{ClassId, DeadRow, Millis, PoolName, Seq, State, WorkerId};

/// The state of an unfinished job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// The job's number.
    pub seq: Seq,
    /// The job's class.
    pub class: ClassId,
    /// A state that is not terminal.
    pub state: State,
    /// Number of executions started.
    pub attempt: u32,
    /// When the job last became available; before that, when it was accepted.
    pub enqueued: Millis,
    /// When the job's timer fires. For a scheduled or retryable job, this is when it becomes
    /// available. For an active job, it is the wall-clock end of the reservation, which only a
    /// restarted server uses: a running one counts monotonic time.
    pub due: Option<Millis>,
    /// When the current or last execution started.
    pub started: Option<Millis>,
    /// The deadline after which the job must not start.
    pub expires: Option<Millis>,
    /// The worker of an active job, if the fetch named one.
    pub worker: Option<WorkerId>,
    /// The pool that an active job was fetched for.
    pub pool: Option<PoolName>,
    /// Length of an active job's reservation, in milliseconds.
    pub reserved_ms: u64,
    /// A mark whose meaning depends on the state. Read it with [`Live::is_held`], [`Live::is_rescheduled`]
    /// and [`Live::is_cancel_requested`].
    pub marked: bool,
    /// Size of the body in bytes.
    pub bytes: u32,
    /// Number of executions that ended because of a rate limit outside Rota; these are not attempts.
    pub pauses: u32,
}

impl Live {
    /// Whether the job is available but must wait until the previous run of its schedule has finished.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.state == State::Available && self.marked
    }

    /// Whether the job is scheduled because a limit was reached.
    #[must_use]
    pub fn is_rescheduled(&self) -> bool {
        self.state == State::Scheduled && self.marked
    }

    /// Whether the job is active and its worker is asked to cancel it.
    #[must_use]
    pub fn is_cancel_requested(&self) -> bool {
        self.state == State::Active && self.marked
    }

    /// An available job with defaults for everything else.
    #[must_use]
    pub fn ready(seq: Seq, class: ClassId, enqueued: Millis, bytes: u32) -> Self {
        Self {
            seq,
            class,
            state: State::Available,
            attempt: 0,
            enqueued,
            due: None,
            started: None,
            expires: None,
            worker: None,
            pool: None,
            reserved_ms: 0,
            marked: false,
            bytes,
            pauses: 0,
        }
    }
}

/// The state of a finished job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The job's number.
    pub seq: Seq,
    /// The job's class.
    pub class: ClassId,
    /// Size of the body in bytes.
    pub bytes: u32,
    /// How the job ended.
    pub ending: Ending,
    /// When the job ended.
    pub at: Millis,
    /// Number of executions started.
    pub attempt: u32,
    /// When the job last became available.
    pub enqueued: Millis,
    /// When the last execution started, if there was one.
    pub started: Option<Millis>,
    /// The deadline after which the job must not have started.
    pub expires: Option<Millis>,
    /// When retention may delete the job; `None` keeps it forever.
    pub purge_at: Option<Millis>,
    /// The result that the worker returned, as JSON.
    pub result: Option<Bytes>,
    /// Present if the job is in the dead letter.
    pub dead: Option<DeadRow>,
}

/// The stored row of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobRow {
    /// The job is unfinished.
    Live(Live),
    /// The job has finished.
    Done(Done),
}

impl JobRow {
    /// The state that clients see.
    #[must_use]
    pub fn state(&self) -> State {
        match self {
            JobRow::Live(live) => live.state,
            JobRow::Done(done) => done.ending.state(),
        }
    }

    /// The job's class.
    #[must_use]
    pub fn class(&self) -> ClassId {
        match self {
            JobRow::Live(live) => live.class,
            JobRow::Done(done) => done.class,
        }
    }
}

/// Finished jobs that retention may delete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overdue {
    /// The jobs in order of purge time, without results.
    pub jobs: Vec<Done>,
    /// Once these jobs are deleted, no job with a purge time up to this one is left.
    pub through: Option<Millis>,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ending {
    /// A worker acknowledged it.
    Completed = 0,
    /// A client or an operator cancelled it.
    Cancelled = 1,
    /// It failed permanently and is listed in the dead letter.
    DeadLetter = 2,
    /// It failed permanently, and its policy keeps it out of the dead letter.
    Discarded = 3,
    /// Its deadline passed before it started.
    Expired = 4,
}

impl Ending {
    /// Every ending, in the order of the codes.
    pub const ALL: [Ending; 5] = [
        Ending::Completed,
        Ending::Cancelled,
        Ending::DeadLetter,
        Ending::Discarded,
        Ending::Expired,
    ];

    /// The state that clients see. Three of the endings are `discarded`.
    #[must_use]
    pub fn state(self) -> State {
        match self {
            Ending::Completed => State::Completed,
            Ending::Cancelled => State::Cancelled,
            Ending::DeadLetter | Ending::Discarded | Ending::Expired => State::Discarded,
        }
    }

    /// The stored number. Codes are never reused.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The ending with this code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Ending> {
        Ending::ALL.get(usize::from(code)).copied()
    }
}

/// The error of one failed execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorRow {
    /// The job.
    pub seq: Seq,
    /// Number of the failed execution, counted from 1.
    pub attempt: u32,
    /// The error object as clients see it, at most `limits.error_bytes` long.
    pub json: Bytes,
}
