//! The reader threads: they serve reads from the view, so that reads do not hold up the engine. A read waits until
//! the view has everything that was answered before.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rota_model::usage::{Usage, UsagePer};
use rota_model::{DeadShardId, JobId, Millis, Seq, TenantId};
use rota_store::{
    AuditPage, AuditQuery, Body, Found, HistoryRow, ListPage, ListQuery, Period, Reader, Record,
    StoreError,
};
use tokio::runtime::Handle as Tokio;
use tokio::sync::oneshot;

use super::Health;
use super::fair_queue::{Bounds, FairQueue, Full};
use super::lookups::Lookups;
use super::queue::PushError;
use super::source::Source;
use super::view_position::ViewPosition;

type Responder<T> = oneshot::Sender<Result<T, StoreError>>;

/// One read, with the channel for its result.
pub(super) enum Read {
    /// The job with this id: its number and its row.
    Resolve(JobId, Responder<Option<Found>>),
    /// Up to so many bytes of jobs.
    Records(Vec<Seq>, usize, Responder<Vec<Option<Record>>>),
    Bodies(Vec<Seq>, usize, Responder<Vec<Option<Body>>>),
    List(ListQuery, Responder<ListPage>),
    OldestDead(DeadShardId, usize, Responder<Vec<(Seq, Millis)>>),
    DeadSpan(Option<Vec<DeadShardId>>, Responder<Option<(Millis, Millis)>>),
    Audit(AuditQuery, Responder<AuditPage>),
    History {
        period: Period,
        queue: String,
        since: Millis,
        until: Millis,
        reply: Responder<Vec<HistoryRow>>,
    },
    Usage {
        per: UsagePer,
        tenant: TenantId,
        since: Millis,
        until: Millis,
        reply: Responder<Vec<(Millis, Usage)>>,
    },
}

/// Why a read failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    #[error("too many reads are waiting")]
    Busy,
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error(transparent)]
    Store(StoreError),
}

impl ReadError {
    /// Whether what was to be read is damaged.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Store(error) if error.damaged)
    }
}

/// The reads that wait for the reader threads, served fairly.
pub(super) struct FairReads {
    state: Mutex<State>,
    filled: Condvar,
    lookups: Arc<Lookups>,
    position: Arc<ViewPosition>,
}

/// A read, and the batch that the view must have applied before: the last one that was committed when the read
/// was asked for.
struct Queued {
    read: Read,
    after: u64,
}

struct State {
    reads: FairQueue<Queued>,
    /// Reader threads are to stop when they have served all reads.
    stop: bool,
}

/// The most reads that may wait, and the most bytes that they may cost.
const BOUNDS: Bounds = Bounds { items: 4096, bytes: usize::MAX, common: 0 };
/// What reading a page costs, compared to reading one job: it may visit many rows.
const PAGE_COST: usize = 16 << 10;
const JOB_COST: usize = 256;

impl Read {
    /// What the read costs, roughly, in bytes.
    fn cost(&self) -> usize {
        match self {
            Self::Records(seqs, ..) | Self::Bodies(seqs, ..) => seqs.len() * JOB_COST,
            Self::Resolve(..) => JOB_COST,
            _ => PAGE_COST,
        }
    }
}

impl FairReads {
    pub fn new(lookups: Arc<Lookups>, position: Arc<ViewPosition>) -> Self {
        let state = State { reads: FairQueue::new(BOUNDS), stop: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), lookups, position }
    }

    fn push(&self, source: Source, read: Read) -> Result<(), PushError> {
        self.lookups.count_store(&source);
        let mut state = self.lock();
        if state.stop {
            return Err(PushError::Closed);
        }
        let cost = read.cost();
        let queued = Queued { read, after: self.position.committed() };
        state.reads.push(source, queued, cost).map_err(|Full| PushError::Full)?;
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// The next read; `None` if there will be no more.
    fn next(&self) -> Option<Queued> {
        let mut state = self.lock();
        loop {
            if let Some(read) = state.reads.pop() {
                return Some(read);
            }
            if state.stop {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue of reads for the reader threads.
#[derive(Clone)]
pub(super) struct Reads(pub Arc<FairReads>);

impl Reads {
    /// Stops the reader threads once the reads before this one are done.
    pub fn stop(&self) {
        self.0.lock().stop = true;
        self.0.filled.notify_all();
    }

    pub async fn ask<T>(
        &self,
        source: Source,
        make: impl FnOnce(Responder<T>) -> Read,
    ) -> Result<T, ReadError> {
        let (responder, answer) = oneshot::channel();
        match self.0.push(source, make(responder)) {
            Ok(()) => {}
            Err(PushError::Full) => return Err(ReadError::Busy),
            Err(PushError::Closed) => return Err(ReadError::ShuttingDown),
        }
        answer.await.map_err(|_| ReadError::ShuttingDown)?.map_err(ReadError::Store)
    }
}

/// Serves reads until the readers are to stop. A read that meets damage fails; others go on.
pub(super) fn run<R: Reader>(mut reader: R, reads: &FairReads, tokio: &Tokio, health: &Health) {
    while let Some(Queued { read, after }) = reads.next() {
        // If the view has stopped, dropping the read tells whoever asked that the server shuts down.
        if reads.position.wait_until_applied(after) {
            tokio.block_on(serve(&mut reader, read, health));
        }
    }
}

async fn serve<R: Reader>(reader: &mut R, read: Read, health: &Health) {
    match read {
        Read::Resolve(id, reply) => {
            let found = reader.resolve(&[id]).await.map(|mut found| found.pop().flatten());
            answer(reply, found, health);
        }
        Read::Records(seqs, max_bytes, reply) => {
            answer(reply, reader.records(&seqs, max_bytes).await, health);
        }
        Read::Bodies(seqs, max_bytes, reply) => {
            answer(reply, reader.bodies(&seqs, max_bytes).await, health);
        }
        Read::List(query, reply) => answer(reply, reader.list(&query).await, health),
        Read::OldestDead(shard, limit, reply) => {
            answer(reply, reader.oldest_dead(shard, limit).await, health);
        }
        Read::DeadSpan(shards, reply) => {
            answer(reply, reader.dead_span(shards.as_deref()).await, health);
        }
        Read::Audit(query, reply) => answer(reply, reader.audit(&query).await, health),
        Read::History { period, queue, since, until, reply } => {
            answer(reply, reader.history(period, &queue, since, until).await, health);
        }
        Read::Usage { per, tenant, since, until, reply } => {
            answer(reply, reader.usage(per, &tenant, since, until).await, health);
        }
    }
}

fn answer<T>(reply: Responder<T>, outcome: Result<T, StoreError>, health: &Health) {
    if let Err(error) = &outcome
        && error.damaged
    {
        health.count_damaged_read();
        tracing::error!(
            cause = error.message,
            "damage in the database: a read failed; run `rota doctor`"
        );
    }
    // Fails if the client has gone.
    let _ = reply.send(outcome);
}
