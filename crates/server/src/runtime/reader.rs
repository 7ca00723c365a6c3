//! Threads that read from the store, so that neither requests nor the engine wait for each other.

use crossbeam_channel::{Receiver, Sender, TrySendError};
use rota_model::{JobId, Millis, Seq};
use rota_store::{Body, HistoryRow, ListPage, ListQuery, Period, Reader, Record, StoreError};
use tokio::runtime::Handle as Tokio;
use tokio::sync::oneshot;

type Responder<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) enum Read {
    Record(JobId, Responder<Option<Record>>),
    Records(Vec<Seq>, Responder<Vec<Option<Record>>>),
    Bodies(Vec<Seq>, Responder<Vec<Option<Body>>>),
    List(ListQuery, Responder<ListPage>),
    History {
        period: Period,
        queue: String,
        since: Millis,
        until: Millis,
        reply: Responder<Vec<HistoryRow>>,
    },
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    #[error("too many reads are waiting")]
    Busy,
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error(transparent)]
    Store(StoreError),
}

/// Where reads are handed in.
#[derive(Clone)]
pub(super) struct Reads(pub Sender<Read>);

impl Reads {
    pub async fn ask<T>(&self, make: impl FnOnce(Responder<T>) -> Read) -> Result<T, ReadError> {
        let (responder, answer) = oneshot::channel();
        match self.0.try_send(make(responder)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(ReadError::Busy),
            Err(TrySendError::Disconnected(_)) => return Err(ReadError::ShuttingDown),
        }
        answer.await.map_err(|_| ReadError::ShuttingDown)?.map_err(ReadError::Store)
    }
}

/// Serves reads until nobody can hand any in.
pub(super) fn run<R: Reader>(mut reader: R, reads: &Receiver<Read>, tokio: &Tokio) {
    for read in reads {
        tokio.block_on(serve(&mut reader, read));
    }
}

/// An answer that nobody waits for any more is dropped.
async fn serve<R: Reader>(reader: &mut R, read: Read) {
    match read {
        Read::Record(id, reply) => {
            let _ = reply.send(find(reader, id).await);
        }
        Read::Records(seqs, reply) => {
            let _ = reply.send(reader.records(&seqs).await);
        }
        Read::Bodies(seqs, reply) => {
            let _ = reply.send(reader.bodies(&seqs).await);
        }
        Read::List(query, reply) => {
            let _ = reply.send(reader.list(&query).await);
        }
        Read::History { period, queue, since, until, reply } => {
            let _ = reply.send(reader.history(period, &queue, since, until).await);
        }
    }
}

async fn find<R: Reader>(reader: &mut R, id: JobId) -> Result<Option<Record>, StoreError> {
    let found = reader.resolve(&[id]).await?.pop().flatten();
    match found {
        Some(found) => Ok(reader.records(&[found.seq]).await?.pop().flatten()),
        None => Ok(None),
    }
}
