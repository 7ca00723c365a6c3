//! A job's changing part, as it is kept on disk: narrow while it lives, written once when it ends.

use bytes::Bytes;

use crate::{ClassId, Millis, PoolName, Seq, State, WorkerId};

/// A job that has not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// The job's number.
    pub seq: Seq,
    /// What it shares with others of its lane.
    pub class: ClassId,
    /// One of the states that are not terminal.
    pub state: State,
    /// Executions begun so far.
    pub attempt: u32,
    /// When it last became ready to run; for a job not ready yet, when it was accepted.
    pub enqueued: Millis,
    /// When its timer fires: the start of a scheduled or retryable job, and the wall-clock end
    /// of an active job's reservation (for the next process; this one counts monotonic time).
    pub due: Option<Millis>,
    /// When the running or last execution began.
    pub started: Option<Millis>,
    /// The deadline after which it must not start.
    pub expires: Option<Millis>,
    /// Who holds it, while it is active and the holder has a name.
    pub worker: Option<WorkerId>,
    /// The pool that it was fetched for, while it is active.
    pub pool: Option<PoolName>,
    /// Its reservation in milliseconds, while it is active.
    pub reserved_ms: u64,
    /// Kept back. An available job waits until the previous run of its schedule has finished; a
    /// scheduled one was put off because a limit was reached.
    pub held: bool,
    /// The size of its body.
    pub bytes: u32,
    /// How often it has ended at a limit elsewhere, which is no attempt.
    pub pauses: u32,
}

impl Live {
    /// A job that is ready, and about which there is nothing else to say.
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
            held: false,
            bytes,
            pauses: 0,
        }
    }
}

/// A job that has finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The job's number.
    pub seq: Seq,
    /// What it shares with others of its lane.
    pub class: ClassId,
    /// The size of its body.
    pub bytes: u32,
    /// How it ended.
    pub ending: Ending,
    /// When it ended.
    pub at: Millis,
    /// Executions begun.
    pub attempt: u32,
    /// When it last became ready to run.
    pub enqueued: Millis,
    /// When its last execution began, if it had one.
    pub started: Option<Millis>,
    /// The deadline that it had.
    pub expires: Option<Millis>,
    /// When retention may remove it; `None` keeps it.
    pub purge_at: Option<Millis>,
    /// What its worker returned, as JSON.
    pub result: Option<Bytes>,
}

/// Where a job is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobRow {
    /// It has not ended.
    Live(Live),
    /// It has ended.
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

    /// The class of the job.
    #[must_use]
    pub fn class(&self) -> ClassId {
        match self {
            JobRow::Live(live) => live.class,
            JobRow::Done(done) => done.class,
        }
    }
}

/// What retention may remove.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overdue {
    /// The longest overdue first, results left out.
    pub jobs: Vec<Done>,
    /// When these are gone, nothing is left that was to go at or before this time.
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
    /// Failed for good, and listed in the dead letter.
    DeadLetter = 2,
    /// Failed for good, and by its own policy not listed in the dead letter.
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

    /// The state that clients see: three of the endings are `discarded` to them.
    #[must_use]
    pub fn state(self) -> State {
        match self {
            Ending::Completed => State::Completed,
            Ending::Cancelled => State::Cancelled,
            Ending::DeadLetter | Ending::Discarded | Ending::Expired => State::Discarded,
        }
    }

    /// The number that stands for it in a store. Never reused for another.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Reads a code; `None` if there is no such ending.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Ending> {
        Ending::ALL.get(usize::from(code)).copied()
    }
}

/// One failed execution, as JSON in the shape that clients see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorRow {
    /// The job.
    pub seq: Seq,
    /// The number of the execution that failed, counted from 1.
    pub attempt: u32,
    /// The error object of the nack, within `limits.error_bytes`.
    pub json: Bytes,
}
