//! Reading jobs and figures on behalf of the caller.

use rota_engine::Explained;
use rota_model::usage::{Usage, UsagePer};
use rota_model::{DeadShardId, JobId, Millis, Seq, State, TenantId};
use rota_store::{AuditPage, AuditQuery, Body, HistoryRow, ListPage, Period, Record};

use super::view::{ScopedQuery, View};
use super::{Access, NamedJobs};
use crate::http::error::ApiError;
use crate::runtime::{Answer, Ask, Delivery, ReadError, Unavailable};

/// The most jobs, and bytes of them, that are read at once where few of them are needed at a time.
const SLICE_JOBS: usize = 256;
const SLICE_BYTES: usize = 4 << 20;

/// Who has an id that a new job was to have.
pub(in crate::http) enum IdHolder {
    /// No stored job: the request itself names the id twice.
    Request,
    /// A job of the same tenant.
    Own(Box<Record>),
    /// A job that the caller may not see.
    Other,
}

impl Access {
    /// Runs a function that reads the engine's state as the caller may see it. The state may contain
    /// changes that are not committed yet.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(View<'_>) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let (scope, namespaced) = (self.scope(), self.is_namespaced());
        let look = self
            .app
            .handle
            .look_for(self.source(), move |engine| look(View::new(engine, &scope, namespaced)));
        look.await
    }

    /// One page of the audit log. A tenant sees the entries of its own callers.
    pub(in crate::http) async fn audit_log(
        &self,
        mut query: AuditQuery,
    ) -> Result<AuditPage, ApiError> {
        self.check_all_queues("The audit log")?;
        if let Some(tenant) = self.tenant() {
            query.tenant = Some(tenant.clone());
        }
        Ok(self.app.handle.audit(self.source(), query).await?)
    }

    /// The job with this id; `None` if it belongs to another tenant than the caller.
    pub(in crate::http) async fn record(&self, id: JobId) -> Result<Option<Record>, ApiError> {
        let found = self.app.handle.resolve(self.source(), id).await?;
        let class = found.as_ref().map(|found| found.row.class());
        // Asked in any case: a job of others takes the same lookups as one that does not exist.
        let is_visible = self.is_operator()
            || self.look(move |view| class.is_some_and(|class| view.owns(class))).await?;
        match found.filter(|_| is_visible) {
            Some(found) => self.record_of(found.seq).await,
            None => Ok(None),
        }
    }

    async fn record_of(&self, seq: Seq) -> Result<Option<Record>, ApiError> {
        let mut records = self.app.handle.records(self.source(), vec![seq], usize::MAX).await?;
        Ok(records.pop().flatten())
    }

    /// The job because of which the id of a tenant's new job is taken. The caller sees it only if it
    /// belongs to the same tenant.
    pub(in crate::http) async fn holder_of_id(
        &self,
        id: JobId,
        tenant: &TenantId,
    ) -> Result<IdHolder, ApiError> {
        let Some(found) = self.app.handle.resolve(self.source(), id).await? else {
            return Ok(IdHolder::Request);
        };
        let (class, tenant) = (found.row.class(), tenant.clone());
        if !self.look(move |view| view.owner_of(class) == Some(&tenant)).await? {
            return Ok(IdHolder::Other);
        }
        let record = self.record_of(found.seq).await?;
        Ok(record.map_or(IdHolder::Request, |record| IdHolder::Own(record.into())))
    }

    /// The tenant that a job belongs to, if the caller may see it.
    pub(in crate::http) async fn owner_of(
        &self,
        record: &Record,
    ) -> Result<Option<TenantId>, ApiError> {
        let class = record.row.class();
        Ok(self.look(move |view| view.owner_of(class).cloned()).await?)
    }

    /// The jobs with these numbers that the caller may see, in order, until there are `max_bytes` of them;
    /// at least one.
    pub(in crate::http) async fn records(
        &self,
        seqs: Vec<Seq>,
        max_bytes: usize,
    ) -> Result<Vec<Option<Record>>, ApiError> {
        let mut records = self.app.handle.records(self.source(), seqs, max_bytes).await?;
        if self.is_operator() || records.is_empty() {
            return Ok(records);
        }
        let classes: Vec<_> =
            records.iter().map(|record| record.as_ref().map(|record| record.row.class())).collect();
        let visible = self
            .look(move |view| -> Vec<bool> {
                classes.iter().map(|class| class.is_some_and(|class| view.owns(class))).collect()
            })
            .await?;
        records.iter_mut().zip(visible).for_each(|(record, visible)| {
            if !visible {
                *record = None;
            }
        });
        Ok(records)
    }

    /// Reads all of these jobs that the caller may see, a slice at a time, so that few of them are in
    /// memory at once.
    pub(in crate::http) async fn each_record(
        &self,
        mut seqs: &[Seq],
        mut visit: impl FnMut(Record),
    ) -> Result<(), ApiError> {
        while !seqs.is_empty() {
            let slice = seqs.len().min(SLICE_JOBS);
            let records = self.records(seqs[..slice].to_vec(), SLICE_BYTES).await?;
            seqs = &seqs[records.len()..];
            records.into_iter().flatten().for_each(&mut visit);
        }
        Ok(())
    }

    /// The bodies of jobs that the engine has just handed to the caller; in order, until there are
    /// `max_bytes` of them, at least one.
    pub(in crate::http) async fn bodies_of_claimed(
        &self,
        jobs: impl Iterator<Item = &Delivery>,
        max_bytes: usize,
    ) -> Result<Vec<Option<Body>>, ReadError> {
        let seqs = jobs.map(|job| job.claimed.seq).collect();
        self.app.handle.bodies(self.source(), seqs, max_bytes).await
    }

    /// Their records, likewise.
    pub(in crate::http) async fn records_of_claimed(
        &self,
        jobs: impl Iterator<Item = &Delivery>,
        max_bytes: usize,
    ) -> Result<Vec<Option<Record>>, ReadError> {
        let seqs = jobs.map(|job| job.claimed.seq).collect();
        self.app.handle.records(self.source(), seqs, max_bytes).await
    }

    /// Reads the bodies of these jobs, a slice at a time.
    pub(in crate::http) async fn each_body(
        &self,
        jobs: &NamedJobs,
        mut visit: impl FnMut(Seq, Option<Body>),
    ) -> Result<(), ReadError> {
        let mut seqs = jobs.seqs();
        while !seqs.is_empty() {
            let slice = seqs.len().min(SLICE_JOBS);
            let bodies =
                self.app.handle.bodies(self.source(), seqs[..slice].to_vec(), SLICE_BYTES).await?;
            let (read, rest) = seqs.split_at(bodies.len());
            read.iter().zip(bodies).for_each(|(seq, body)| visit(*seq, body));
            seqs = rest;
        }
        Ok(())
    }

    pub(in crate::http) async fn list(&self, query: ScopedQuery) -> Result<ListPage, ReadError> {
        self.app.handle.list(self.source(), query.into_query()).await
    }

    /// When the first and the last job of these dead letters were discarded. For an operator: of all.
    pub(in crate::http) async fn dead_span(
        &self,
        shards: Vec<DeadShardId>,
    ) -> Result<Option<(Millis, Millis)>, ReadError> {
        self.app.handle.dead_span(self.source(), (!self.is_operator()).then_some(shards)).await
    }

    /// The statistics of a queue, which a view has shown to the caller.
    pub(in crate::http) async fn history(
        &self,
        period: Period,
        queue: String,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<HistoryRow>, ApiError> {
        self.check_whole_queue(&queue)?;
        Ok(self.app.handle.history(self.source(), period, queue, since, until).await?)
    }

    /// The stored part of a tenant's usage. The engine has the part that is not written yet.
    pub(in crate::http) async fn usage(
        &self,
        per: UsagePer,
        tenant: TenantId,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<(Millis, Usage)>, ApiError> {
        if self.tenant().is_some_and(|own| *own != tenant) {
            return Err(ApiError::not_found("tenant", &tenant));
        }
        self.check_all_queues("The usage of a tenant")?;
        Ok(self.app.handle.usage(self.source(), per, tenant, since, until).await?)
    }

    /// Explains why a job has not started; `None` if the caller has no such job.
    pub(in crate::http) async fn explain(
        &self,
        id: JobId,
    ) -> Result<Option<Box<Explained>>, ApiError> {
        match self.app.handle.ask_as(self.scope(), Ask::Explain(id)).await {
            Answer::Explained(mut explained) => {
                if let Some(why) = explained.as_deref_mut().filter(|_| !self.is_operator()) {
                    why.redact_for_tenant();
                }
                if let Some(why) =
                    explained.as_deref_mut().filter(|_| self.scope().queues.is_some())
                {
                    // The active jobs in the caller's queues, not in all of the tenant's.
                    why.tenant_active = self.look(|view| view.totals().of(State::Active)).await?;
                }
                Ok(explained)
            }
            answer => Err(answer.into()),
        }
    }
}
