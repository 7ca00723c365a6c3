//! The reader threads: they serve reads from the store, so that reads do not hold up the engine.

use std::sync::Arc;
use std::time::Duration;

use rota_model::usage::{Usage, UsagePer};
use rota_model::{DeadShardId, JobId, Millis, Seq, TenantId};
use rota_store::{
    AuditPage, AuditQuery, Body, HistoryRow, ListPage, ListQuery, Period, Reader, Record,
    StoreError,
};
use tokio::runtime::Handle as Tokio;
use tokio::sync::oneshot;

use super::queue::{Popped, PushError, Queue};

type Responder<T> = oneshot::Sender<Result<T, StoreError>>;

/// One read, with the channel for its result.
pub(super) enum Read {
    Stop,
    Record(JobId, Responder<Option<Record>>),
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

/// The queue of reads for the reader threads.
#[derive(Clone)]
pub(super) struct Reads(pub Arc<Queue<Read>>);

impl Reads {
    /// Stops the reader threads once the reads before this one are done.
    pub fn stop(&self, readers: usize) {
        for _ in 0..readers {
            let _ = self.0.push(Read::Stop);
        }
    }

    pub async fn ask<T>(&self, make: impl FnOnce(Responder<T>) -> Read) -> Result<T, ReadError> {
        let (responder, answer) = oneshot::channel();
        match self.0.try_push(make(responder)) {
            Ok(()) => {}
            Err(PushError::Full) => return Err(ReadError::Busy),
            Err(PushError::Closed) => return Err(ReadError::ShuttingDown),
        }
        answer.await.map_err(|_| ReadError::ShuttingDown)?.map_err(ReadError::Store)
    }
}

/// Serves reads until [`Read::Stop`]. Calls `on_fatal` if the data turns out to be damaged.
pub(super) fn run<R: Reader>(
    mut reader: R,
    reads: &Queue<Read>,
    tokio: &Tokio,
    on_fatal: &dyn Fn(&str),
) {
    loop {
        match reads.pop(Duration::MAX) {
            Popped::Item(Read::Stop) | Popped::Closed => return,
            Popped::Item(read) => tokio.block_on(serve(&mut reader, read, on_fatal)),
            Popped::TimedOut => {}
        }
    }
}

async fn serve<R: Reader>(reader: &mut R, read: Read, on_fatal: &dyn Fn(&str)) {
    match read {
        Read::Stop => {}
        Read::Record(id, reply) => answer(reply, find(reader, id).await, on_fatal),
        Read::Records(seqs, max_bytes, reply) => {
            answer(reply, reader.records(&seqs, max_bytes).await, on_fatal);
        }
        Read::Bodies(seqs, max_bytes, reply) => {
            answer(reply, reader.bodies(&seqs, max_bytes).await, on_fatal);
        }
        Read::List(query, reply) => answer(reply, reader.list(&query).await, on_fatal),
        Read::OldestDead(shard, limit, reply) => {
            answer(reply, reader.oldest_dead(shard, limit).await, on_fatal);
        }
        Read::DeadSpan(shards, reply) => {
            answer(reply, reader.dead_span(shards.as_deref()).await, on_fatal);
        }
        Read::Audit(query, reply) => answer(reply, reader.audit(&query).await, on_fatal),
        Read::History { period, queue, since, until, reply } => {
            answer(reply, reader.history(period, &queue, since, until).await, on_fatal);
        }
        Read::Usage { per, tenant, since, until, reply } => {
            answer(reply, reader.usage(per, &tenant, since, until).await, on_fatal);
        }
    }
}

fn answer<T>(reply: Responder<T>, outcome: Result<T, StoreError>, on_fatal: &dyn Fn(&str)) {
    if let Err(error) = &outcome
        && error.damaged
    {
        on_fatal(&error.message);
    }
    // Fails if the client has gone.
    let _ = reply.send(outcome);
}

/// Reads a job by its id.
async fn find<R: Reader>(reader: &mut R, id: JobId) -> Result<Option<Record>, StoreError> {
    let found = reader.resolve(&[id]).await?.pop().flatten();
    match found {
        Some(found) => Ok(reader.records(&[found.seq], usize::MAX).await?.pop().flatten()),
        None => Ok(None),
    }
}
