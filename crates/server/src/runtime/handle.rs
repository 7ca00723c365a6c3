//! The handle through which HTTP handlers reach the engine, the store and the events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rota_engine::{Command, Engine, Enqueue, Fetch, Reply, WaiterId};
use rota_model::envelope::NewJob;
use rota_model::usage::{Usage, UsagePer};
use rota_model::{DeadShardId, JobId, Millis, Seq, TenantId};
use rota_storage::{ArchiveStatus, KeepRule};
use rota_store::{
    AuditPage, AuditQuery, Body, Found, HistoryRow, ListPage, ListQuery, Period, Record, StoreError,
};
use tokio::sync::oneshot;

use super::ask::{Answer, Ask, CallerScope, Delivery, Input, Request, Unavailable};
use super::lookups::{LookupCounts, Lookups};
use super::mailbox::Mailbox;
use super::queue::PushError;
use super::reader::{Read, ReadError, Reads};
use super::source::Source;
use super::view_position::{ViewLag, ViewPosition};
use super::view_queue::ViewQueue;
use super::{Clock, Events, StreamTurns, release};
use crate::identity::KeyTable;
use crate::request_limits::TenantRequestLimits;

/// The most bytes of jobs that are read at once where few of them are needed at a time.
pub(super) const SLICE_BYTES: usize = 4 << 20;

/// Access to the runtime. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) reads: Reads,
    pub(super) events: Arc<Events>,
    pub(super) turns: Arc<StreamTurns>,
    pub(super) clock: Clock,
    pub(super) keys: Arc<KeyTable>,
    pub(super) request_limits: Arc<TenantRequestLimits>,
    pub(super) next_waiter: Arc<AtomicU64>,
    pub(super) lookups: Arc<Lookups>,
    pub(super) position: Arc<ViewPosition>,
    pub(super) view_queue: Arc<ViewQueue>,
    pub(super) keep: KeepRule,
}

impl Handle {
    /// Sends a request of the server itself to the engine. The answer arrives after the commit it depends
    /// on.
    pub async fn ask(&self, ask: Ask) -> Answer {
        self.send(Source::Server, CallerScope::default(), ask).await
    }

    /// Sends a request on behalf of a caller. Jobs of others are treated as unknown.
    pub async fn ask_as(&self, caller: CallerScope, ask: Ask) -> Answer {
        self.send(Source::of(caller.tenant.as_ref()), caller, ask).await
    }

    async fn send(&self, source: Source, caller: CallerScope, ask: Ask) -> Answer {
        self.lookups.count_engine(&source);
        let (responder, answer) = oneshot::channel();
        let request = Request { ask, caller: Some(caller), responder: Some(responder) };
        match self.mailbox.put(source, Input::Request(request)) {
            Ok(()) => answer.await.unwrap_or(Answer::Unavailable(Unavailable::ShuttingDown)),
            Err(PushError::Full) => Answer::Unavailable(Unavailable::Busy),
            Err(PushError::Closed) => Answer::Unavailable(Unavailable::ShuttingDown),
        }
    }

    /// Sends a command of the server itself, other than a fetch, and returns the engine's reply.
    pub async fn command(&self, command: Command<JobId>) -> Result<Reply, Unavailable> {
        match self.ask(Ask::Command(command)).await {
            Answer::Reply(reply) => Ok(reply),
            Answer::Unavailable(why) => Err(why),
            Answer::Fetched(_) | Answer::Explained(_) => {
                unreachable!("a command is answered with a reply")
            }
        }
    }

    /// Fetches jobs; if there are none, waits up to `wait_ms` milliseconds for the first. Dropping the
    /// future ends the wait, and no job is claimed for it.
    pub async fn fetch(&self, mut fetch: Fetch, wait_ms: u64) -> Result<Vec<Delivery>, Answer> {
        let mut guard = None;
        if wait_ms > 0 {
            let id = WaiterId(self.next_waiter.fetch_add(1, Ordering::Relaxed));
            fetch.wait = Some((id, wait_ms));
            guard = Some(StopWaiting { id, mailbox: self.mailbox.clone(), armed: true });
        }
        let (source, caller) = (Source::of(fetch.tenant.as_ref()), CallerScope::default());
        let answer = self.send(source, caller, Ask::Command(Command::Fetch(fetch))).await;
        if let Some(guard) = &mut guard {
            guard.armed = false;
        }
        match answer {
            Answer::Fetched(jobs) => Ok(jobs),
            other => Err(other),
        }
    }

    /// Enqueues jobs; if there is no room for them, waits up to `wait_ms` milliseconds for it.
    pub async fn enqueue(&self, jobs: Vec<NewJob>, caller: CallerScope, wait_ms: u64) -> Answer {
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

    /// Answers all waiting fetches and enqueues, and lets no more wait.
    pub(crate) async fn release_waiting(&self) {
        if let Err(why) = self.command(Command::EndWaiting).await {
            tracing::warn!(?why, "waiting fetches could not be released; they end by themselves");
        }
    }

    /// Runs a function on the engine thread that reads the engine's state, for the server itself. The state
    /// may contain changes that are not committed yet.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Engine) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.look_for(Source::Server, look).await
    }

    /// Runs such a function for somebody.
    pub async fn look_for<T: Send + 'static>(
        &self,
        source: Source,
        look: impl FnOnce(&Engine) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.lookups.count_engine(&source);
        let (responder, answer) = oneshot::channel();
        let boxed = Box::new(move |engine: &Engine| {
            // Fails if the client has gone; then the result is not needed.
            let _ = responder.send(look(engine));
        });
        match self.mailbox.put(source, Input::Look(boxed)) {
            Ok(()) => answer.await.map_err(|_| Unavailable::ShuttingDown),
            Err(PushError::Full) => Err(Unavailable::Busy),
            Err(PushError::Closed) => Err(Unavailable::ShuttingDown),
        }
    }

    /// Undoes claims that do not reach their worker: the jobs go back to their queues, and the attempts do
    /// not count. If the worker may have received a part of the answer, the starts count for rate limits.
    pub fn undo_claims(&self, claims: Vec<(Seq, u32)>, partly_sent: bool) {
        release::undo_claims(claims, partly_sent, &self.mailbox);
    }

    /// Tells the engine thread the ids of active jobs that a handler has read from the store, so that
    /// it need not read them again when the worker reports on these jobs.
    pub fn note_active_ids(&self, ids: Vec<(JobId, Seq)>) {
        if !ids.is_empty() {
            // Fails when the server stops.
            let _ = self.mailbox.put(Source::Server, Input::ActiveIds(ids));
        }
    }

    /// Reads jobs, in order, until there are `max_bytes` of them; at least one.
    pub async fn records(
        &self,
        source: Source,
        seqs: Vec<Seq>,
        max_bytes: usize,
    ) -> Result<Vec<Option<Record>>, ReadError> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        self.reads.ask(source, |reply| Read::Records(seqs, max_bytes, reply)).await
    }

    /// The number and the row of the job with this id.
    pub async fn resolve(&self, source: Source, id: JobId) -> Result<Option<Found>, ReadError> {
        self.reads.ask(source, |reply| Read::Resolve(id, reply)).await
    }

    /// Reads bodies, in order, until there are `max_bytes` of them; at least one.
    pub async fn bodies(
        &self,
        source: Source,
        seqs: Vec<Seq>,
        max_bytes: usize,
    ) -> Result<Vec<Option<Body>>, ReadError> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        self.reads.ask(source, |reply| Read::Bodies(seqs, max_bytes, reply)).await
    }

    pub async fn list(&self, source: Source, query: ListQuery) -> Result<ListPage, ReadError> {
        self.reads.ask(source, |reply| Read::List(query, reply)).await
    }

    /// The oldest jobs of a tenant's dead letter in a queue, and when they were discarded.
    pub(super) async fn oldest_dead(
        &self,
        source: Source,
        shard: DeadShardId,
        limit: usize,
    ) -> Result<Vec<(Seq, Millis)>, ReadError> {
        self.reads.ask(source, |reply| Read::OldestDead(shard, limit, reply)).await
    }

    /// When the first and the last job of the dead letter were discarded, in these parts of it or in all.
    pub async fn dead_span(
        &self,
        source: Source,
        shards: Option<Vec<DeadShardId>>,
    ) -> Result<Option<(Millis, Millis)>, ReadError> {
        self.reads.ask(source, |reply| Read::DeadSpan(shards, reply)).await
    }

    pub async fn history(
        &self,
        source: Source,
        period: Period,
        queue: String,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<HistoryRow>, ReadError> {
        self.reads.ask(source, |reply| Read::History { period, queue, since, until, reply }).await
    }

    /// One page of the audit log.
    pub async fn audit(&self, source: Source, query: AuditQuery) -> Result<AuditPage, ReadError> {
        self.reads.ask(source, |reply| Read::Audit(query, reply)).await
    }

    /// The stored part of a tenant's usage. The engine has the part that is not written yet.
    pub async fn usage(
        &self,
        source: Source,
        per: UsagePer,
        tenant: TenantId,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<(Millis, Usage)>, ReadError> {
        self.reads.ask(source, |reply| Read::Usage { per, tenant, since, until, reply }).await
    }

    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The committed limits on requests of tenants.
    #[must_use]
    pub fn request_limits(&self) -> &Arc<TenantRequestLimits> {
        &self.request_limits
    }

    /// The committed API keys.
    #[must_use]
    pub fn keys(&self) -> &Arc<KeyTable> {
        &self.keys
    }

    /// The turns of streams that read the events.
    #[must_use]
    pub fn turns(&self) -> &StreamTurns {
        &self.turns
    }

    /// How far the view is behind the log.
    #[must_use]
    pub fn view_lag(&self) -> ViewLag {
        ViewLag { batches: self.position.lag(), bytes: self.view_queue.bytes() as u64 }
    }

    /// How far the archive of the log has come; `None` without one.
    #[must_use]
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        self.keep.archive_status()
    }

    /// What was looked up on behalf of callers so far.
    #[must_use]
    pub fn lookups(&self) -> LookupCounts {
        self.lookups.counts()
    }

    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Ends the wait of a client that goes away: sends [`Command::StopWaiting`] when dropped while armed.
struct StopWaiting {
    id: WaiterId,
    mailbox: Arc<Mailbox>,
    armed: bool,
}

impl Drop for StopWaiting {
    fn drop(&mut self) {
        if self.armed {
            // Fails when the server stops.
            let stop = Request::tell(Command::StopWaiting(self.id));
            let _ = self.mailbox.put(Source::Server, Input::Request(stop));
        }
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        ReadError::Store(error)
    }
}
