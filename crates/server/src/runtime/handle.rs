//! How requests reach the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rota_engine::{Command, Engine, Enqueue, Fetch, Reply, WaiterId};
use rota_model::envelope::NewJob;
use rota_model::usage::{Usage, UsagePer};
use rota_model::{JobId, Millis, Seq, TenantId};
use rota_store::{Body, HistoryRow, ListPage, ListQuery, Period, Record, StoreError};
use tokio::sync::oneshot;

use super::ask::{Answer, Ask, Delivery, Input, Unavailable};
use super::mailbox::Mailbox;
use super::queue::Refused;
use super::reader::{Read, ReadError, Reads};
use super::{Clock, Events};

/// Cheap to clone; every connection has one.
#[derive(Clone)]
pub struct Handle {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) reads: Reads,
    pub(super) events: Arc<Events>,
    pub(super) clock: Clock,
    pub(super) next_waiter: Arc<AtomicU64>,
}

impl Handle {
    /// Asks, and waits until the answer may be given: until what it says is committed.
    pub async fn ask(&self, ask: Ask) -> Answer {
        self.ask_as(None, ask).await
    }

    /// The same, for a tenant to whom jobs of others do not exist.
    pub async fn ask_as(&self, caller: Option<TenantId>, ask: Ask) -> Answer {
        let (responder, answer) = oneshot::channel();
        match self.mailbox.put(Input::Ask(ask, caller, responder)) {
            Ok(()) => answer.await.unwrap_or(Answer::Unavailable(Unavailable::ShuttingDown)),
            Err(Refused::Full) => Answer::Unavailable(Unavailable::Busy),
            Err(Refused::Closed) => Answer::Unavailable(Unavailable::ShuttingDown),
        }
    }

    /// A command whose answer is a reply, which excludes fetches.
    pub async fn command(&self, command: Command<JobId>) -> Result<Reply, Unavailable> {
        match self.ask(Ask::Command(command)).await {
            Answer::Reply(reply) => Ok(reply),
            Answer::Unavailable(why) => Err(why),
            Answer::Fetched(_) | Answer::Explained(_) => {
                unreachable!("a command is answered with a reply")
            }
        }
    }

    /// Fetches, and waits for the first job if `wait_ms` says so. When the caller goes away, the
    /// wait ends and nothing is handed out in its name.
    pub async fn fetch(&self, mut fetch: Fetch, wait_ms: u64) -> Result<Vec<Delivery>, Answer> {
        let mut guard = None;
        if wait_ms > 0 {
            let id = WaiterId(self.next_waiter.fetch_add(1, Ordering::Relaxed));
            fetch.wait = Some((id, wait_ms));
            guard = Some(StopWaiting { id, mailbox: self.mailbox.clone(), armed: true });
        }
        let answer = self.ask(Ask::Command(Command::Fetch(fetch))).await;
        if let Some(guard) = &mut guard {
            guard.armed = false;
        }
        match answer {
            Answer::Fetched(jobs) => Ok(jobs),
            other => Err(other),
        }
    }

    /// Enqueues, and waits for room if `wait_ms` says so.
    pub async fn enqueue(
        &self,
        jobs: Vec<NewJob>,
        caller: Option<TenantId>,
        wait_ms: u64,
    ) -> Answer {
        let mut enqueue = Enqueue { jobs, wait: None };
        let mut guard = None;
        if wait_ms > 0 {
            let id = WaiterId(self.next_waiter.fetch_add(1, Ordering::Relaxed));
            enqueue.wait = Some((id, wait_ms));
            guard = Some(StopWaiting { id, mailbox: self.mailbox.clone(), armed: true });
        }
        let answer = self.ask_as(caller, Ask::Command(Command::Enqueue(enqueue))).await;
        if let Some(guard) = &mut guard {
            guard.armed = false;
        }
        answer
    }

    /// Answers all waiting fetches; none can wait from now on.
    pub(crate) async fn release_waiting(&self) {
        if let Err(why) = self.command(Command::EndWaiting).await {
            tracing::warn!(?why, "waiting fetches could not be released; they end by themselves");
        }
    }

    /// Looks into the engine as it is now.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Engine) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let (responder, answer) = oneshot::channel();
        let boxed = Box::new(move |engine: &Engine| {
            // The asker may be gone; then nobody wants to know.
            let _ = responder.send(look(engine));
        });
        match self.mailbox.put(Input::Look(boxed)) {
            Ok(()) => answer.await.map_err(|_| Unavailable::ShuttingDown),
            Err(Refused::Full) => Err(Unavailable::Busy),
            Err(Refused::Closed) => Err(Unavailable::ShuttingDown),
        }
    }

    /// What active jobs are called, which was found out while their answer was put together: then
    /// the engine thread need not look them up when their worker speaks of them.
    pub fn tell_ids(&self, ids: Vec<(JobId, Seq)>) {
        if !ids.is_empty() {
            // A full mailbox is no harm: they will be looked up.
            let _ = self.mailbox.put(Input::Ids(ids));
        }
    }

    pub async fn records(&self, seqs: Vec<Seq>) -> Result<Vec<Option<Record>>, ReadError> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        self.reads.ask(|reply| Read::Records(seqs, reply)).await
    }

    pub async fn record(&self, id: JobId) -> Result<Option<Record>, ReadError> {
        self.reads.ask(|reply| Read::Record(id, reply)).await
    }

    pub async fn bodies(&self, seqs: Vec<Seq>) -> Result<Vec<Option<Body>>, ReadError> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        self.reads.ask(|reply| Read::Bodies(seqs, reply)).await
    }

    pub async fn list(&self, query: ListQuery) -> Result<ListPage, ReadError> {
        self.reads.ask(|reply| Read::List(query, reply)).await
    }

    pub async fn history(
        &self,
        period: Period,
        queue: String,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<HistoryRow>, ReadError> {
        self.reads.ask(|reply| Read::History { period, queue, since, until, reply }).await
    }

    /// What was written down of a tenant's usage; the engine has what was not yet.
    pub async fn usage(
        &self,
        per: UsagePer,
        tenant: TenantId,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<(Millis, Usage)>, ReadError> {
        self.reads.ask(|reply| Read::Usage { per, tenant, since, until, reply }).await
    }

    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Tells the engine when a waiting client has gone.
struct StopWaiting {
    id: WaiterId,
    mailbox: Arc<Mailbox>,
    armed: bool,
}

impl Drop for StopWaiting {
    fn drop(&mut self) {
        if self.armed {
            // A full mailbox is no harm: the wait ends by itself, and what is handed to it returns.
            let _ = self.mailbox.put(Input::Tell(Ask::Command(Command::StopWaiting(self.id))));
        }
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        ReadError::Store(error)
    }
}
