//! Commands on behalf of the caller. Each checks whose thing it names.

use rota_engine::{
    Beat, Command, CronSpec, Fetch, PutLimit, QueueSettings, Registration, Reply, Settle,
};
use rota_model::envelope::NewJob;
use rota_model::{
    CronName, Directive, JobId, LimitKey, PoolConfig, PoolName, QueueName, Seq, TenantId, WorkerId,
};

use super::{Access, JobsCommand};
use crate::http::claims_in_answer::ClaimsInAnswer;
use crate::http::error::ApiError;
use crate::runtime::{Answer, Ask, Delivery};

impl Access {
    /// Sends a command. Jobs that it names are looked up on behalf of the caller; for all else, the caller
    /// of this function has checked whose it is.
    async fn send(&self, command: Command<JobId>) -> Answer {
        let answer = self.app.handle.ask_as(self.scope(), self.ask(command)).await;
        self.redacted(answer)
    }

    /// The request to the engine. A command of an act goes into the audit log.
    pub(super) fn ask(&self, command: Command<JobId>) -> Ask {
        match &self.act {
            Some(act) => Ask::Act(command, act.clone()),
            None => Ask::Command(command),
        }
    }

    pub(super) async fn reply(&self, command: Command<JobId>) -> Result<Reply, ApiError> {
        match self.send(command).await {
            Answer::Reply(reply) => Ok(reply),
            answer => Err(answer.into()),
        }
    }

    // Jobs. Ids are looked up on behalf of the caller, so other tenants' jobs are unknown.

    /// Enqueues jobs, which were parsed on behalf of the caller; if there is no room for them, waits up to
    /// `wait_ms` milliseconds for it.
    pub(in crate::http) async fn enqueue(&self, jobs: Vec<NewJob>, wait_ms: u64) -> Answer {
        debug_assert!(
            self.tenant().is_none_or(|own| jobs.iter().all(|job| job.class.tenant == *own))
        );
        let answer = self.app.handle.enqueue(jobs, self.scope(), wait_ms).await;
        self.redacted(answer)
    }

    /// Fetches jobs for the caller's workers; a tenant's fetch gets jobs of that tenant only. If there are
    /// none, waits up to `wait_ms` milliseconds for the first.
    pub(in crate::http) async fn fetch(
        &self,
        mut fetch: Fetch,
        wait_ms: u64,
    ) -> Result<Vec<Delivery>, Answer> {
        fetch.tenant = self.tenant().cloned();
        self.app.handle.fetch(fetch, wait_ms).await.map_err(|answer| self.redacted(answer))
    }

    /// Tells the engine thread the ids of jobs that were just fetched, so that it need not look them up.
    pub(in crate::http) fn note_active_ids(&self, ids: Vec<(JobId, Seq)>) {
        self.app.handle.note_active_ids(ids);
    }

    /// Gives back claims of which nothing reaches their worker; their attempts do not count.
    pub(in crate::http) fn undo_claims(&self, jobs: &[Delivery]) {
        self.app.handle.undo_claims(claims(jobs), false);
    }

    /// The claims in an answer that is to be written.
    pub(in crate::http) fn claims_in_answer(&self, jobs: &[Delivery]) -> ClaimsInAnswer {
        ClaimsInAnswer::new(self.app.clone(), claims(jobs))
    }

    pub(in crate::http) async fn settle(&self, settles: Vec<Settle<JobId>>) -> Answer {
        self.send(Command::Settle(settles)).await
    }

    /// Changes jobs. Each has its own result.
    pub(in crate::http) async fn change_jobs(&self, command: JobsCommand) -> Answer {
        self.send(command.into_command()).await
    }

    // Workers. The engine's id of a tenant's worker contains the tenant.

    pub(in crate::http) async fn beat(&self, mut beat: Beat<JobId>) -> Answer {
        beat.about.tenant = self.tenant().cloned();
        self.send(Command::Beat(beat)).await
    }

    pub(in crate::http) async fn register(
        &self,
        mut about: Registration,
    ) -> Result<Reply, ApiError> {
        about.tenant = self.tenant().cloned();
        self.reply(Command::Register(about.into())).await
    }

    pub(in crate::http) async fn deregister(&self, id: WorkerId) -> Result<Reply, ApiError> {
        self.reply(Command::Deregister(id, self.tenant().cloned())).await
    }

    pub(in crate::http) async fn direct(
        &self,
        id: WorkerId,
        directive: Directive,
    ) -> Result<Reply, ApiError> {
        self.check_worker(&id)?;
        self.reply(Command::Direct(id, directive)).await
    }

    pub(in crate::http) async fn drop_stale_worker(&self, id: WorkerId) -> Result<Reply, ApiError> {
        self.check_worker(&id)?;
        self.reply(Command::DropStaleWorker(id)).await
    }

    // Queues, by the engine's name.

    /// Pauses or resumes a queue: the whole of it, or the part of a tenant that shares it.
    pub(in crate::http) async fn pause_queue(
        &self,
        queue: QueueName,
        pause: bool,
    ) -> Result<Reply, ApiError> {
        let command = match (self.sharing_tenant().cloned(), pause) {
            (Some(tenant), true) => Command::PauseShard(tenant, queue),
            (Some(tenant), false) => Command::ResumeShard(tenant, queue),
            (None, pause) => {
                self.check_whole_queue(&queue)?;
                if pause { Command::PauseQueue(queue) } else { Command::ResumeQueue(queue) }
            }
        };
        self.reply(command).await
    }

    pub(in crate::http) async fn create_queue(
        &self,
        queue: QueueName,
        settings: QueueSettings,
    ) -> Result<Reply, ApiError> {
        self.check_whole_queue(&queue)?;
        self.reply(Command::CreateQueue(queue, settings)).await
    }

    pub(in crate::http) async fn configure_queue(
        &self,
        queue: QueueName,
        settings: QueueSettings,
    ) -> Result<Reply, ApiError> {
        self.check_whole_queue(&queue)?;
        self.reply(Command::ConfigureQueue(queue, settings)).await
    }

    pub(in crate::http) async fn delete_queue(&self, queue: QueueName) -> Result<Reply, ApiError> {
        self.check_whole_queue(&queue)?;
        self.reply(Command::DeleteQueue(queue)).await
    }

    // Schedules, by the engine's name, which contains the tenant.

    pub(in crate::http) async fn put_cron(&self, spec: CronSpec) -> Result<Reply, ApiError> {
        self.check_tenant(&spec.class.tenant, "cron job", spec.name.local())?;
        if self.scope().queues.is_some() {
            let name = spec.name.clone();
            if self.look(move |view| view.is_hidden_cron(&name)).await? {
                self.check_all_queues("The cron job of this name")?;
            }
        }
        self.reply(Command::PutCron(Box::new(spec))).await
    }

    pub(in crate::http) async fn remove_cron(&self, name: CronName) -> Result<Reply, ApiError> {
        self.check_cron(&name)?;
        self.reply(Command::RemoveCron(name)).await
    }

    /// Starts a run of a schedule. `bytes` is the size of its job, roughly.
    pub(in crate::http) async fn trigger_cron(
        &self,
        name: CronName,
        bytes: usize,
    ) -> Result<Reply, ApiError> {
        self.check_cron(&name)?;
        self.reply(Command::TriggerCron { name, bytes }).await
    }

    pub(in crate::http) async fn enable_cron(
        &self,
        name: CronName,
        enabled: bool,
    ) -> Result<Reply, ApiError> {
        self.check_cron(&name)?;
        self.reply(Command::EnableCron(name, enabled)).await
    }

    // Pools.

    /// Creates or changes a pool of the caller's own.
    pub(in crate::http) async fn put_pool(
        &self,
        name: PoolName,
        config: PoolConfig,
    ) -> Result<Reply, ApiError> {
        self.reply(Command::PutPool(self.own_pool(name), Box::new(config))).await
    }

    /// Deletes a pool, by the engine's name.
    pub(in crate::http) async fn remove_pool(&self, name: PoolName) -> Result<Reply, ApiError> {
        match (self.tenant(), name.owner_name()) {
            (Some(own), Some(owner)) if *owner == **own => {}
            _ => self.operator("Changing a pool of the operator").map(|_| ())?,
        }
        self.reply(Command::RemovePool(name)).await
    }

    // Limits.

    pub(in crate::http) async fn put_limit(&self, put: PutLimit) -> Result<Reply, ApiError> {
        self.check_limit(&put.key, put.tenant.as_ref())?;
        self.reply(Command::PutLimit(Box::new(put))).await
    }

    pub(in crate::http) async fn clear_limit(
        &self,
        key: LimitKey,
        tenant: Option<TenantId>,
    ) -> Result<Reply, ApiError> {
        self.check_limit(&key, tenant.as_ref())?;
        self.reply(Command::ClearLimit(key, tenant)).await
    }

    /// For a tenant, only queues in its own namespace are whole queues of its own.
    pub(super) fn check_whole_queue(&self, queue: &str) -> Result<(), ApiError> {
        let Some(tenant) = self.tenant() else { return Ok(()) };
        match queue.split_once('/') {
            Some((namespace, _)) if self.is_namespaced() && *namespace == **tenant => Ok(()),
            _ => self.operator("Changing or measuring a whole queue").map(|_| ()),
        }
    }

    fn check_worker(&self, id: &WorkerId) -> Result<(), ApiError> {
        let is_own = |own: &TenantId| id.namespace() == Some(&**own);
        match self.tenant().is_none_or(is_own) {
            true => Ok(()),
            false => Err(ApiError::not_found("worker", id.local())),
        }
    }

    fn check_cron(&self, name: &CronName) -> Result<(), ApiError> {
        match self.tenant().is_none_or(|own| name.belongs_to(own)) {
            true => Ok(()),
            false => Err(ApiError::not_found("cron job", name.local())),
        }
    }

    fn check_tenant(
        &self,
        tenant: &TenantId,
        what: &'static str,
        name: &str,
    ) -> Result<(), ApiError> {
        match self.tenant().is_none_or(|own| own == tenant) {
            true => Ok(()),
            false => Err(ApiError::not_found(what, name)),
        }
    }

    /// A tenant may change its own part of a key, and the limits of queues in its namespace.
    fn check_limit(&self, key: &LimitKey, tenant: Option<&TenantId>) -> Result<(), ApiError> {
        let Some(own) = self.tenant() else { return Ok(()) };
        if !self.is_for_key(key) {
            return Err(ApiError::not_found("rate limit", &key.local()));
        }
        match tenant.map(|tenant| &**tenant).or(key.namespace()) {
            Some(owner) if *owner == **own => Ok(()),
            Some(_) => Err(ApiError::not_found("rate limit", &key.local())),
            None => self.operator("Changing a limit of all tenants").map(|_| ()),
        }
    }
}

/// Claimed jobs and their attempts.
fn claims(jobs: &[Delivery]) -> Vec<(Seq, u32)> {
    jobs.iter().map(|job| (job.claimed.seq, job.claimed.attempt)).collect()
}
