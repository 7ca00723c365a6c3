//! Access: what a handler can reach, on behalf of its caller.
//!
//! The engine and the store are behind [`Access`], and nothing outside of this module gets past it. For
//! a tenant, what belongs to others does not exist: reads go through a [`View`] that leaves it out, and
//! each command is sent by a method that checks whose thing it names. Operators have [`Operator`], which
//! has no such bounds.
//!
//! A handler cannot go around its caller:
//!
//! ```compile_fail,E0616
//! use rota_server::http::App;
//!
//! async fn handler(app: &App) {
//!     app.handle.look(|engine| engine.totals()).await;
//! }
//! ```
//!
//! A view is not an engine, unless the caller is an operator:
//!
//! ```compile_fail,E0599
//! use rota_server::http::Access;
//!
//! async fn handler(access: Access) {
//!     access.look(|view| view.tenants(&[])).await;
//! }
//! ```

mod authentication;
mod caller;
mod commands;
mod credential_lists;
mod events;
mod grantor;
mod jobs_command;
mod keys;
mod named_jobs;
mod operator;
mod queue_view;
mod reads;
mod view;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use rota_engine::{Refusal, Reply};
use rota_identity::Permission;
use rota_model::envelope::{Rules, Sender, Tenancy};
use rota_model::time::Present;
use rota_model::{Millis, PoolName, QueueName, Scope, Seq, TenantId, WorkerId};
use rota_settings::{Isolation, Settings, TenantSource};
use rota_storage::ArchiveStatus;
use tokio::sync::Mutex;

pub(super) use authentication::is_public;
pub use caller::Caller;
pub(super) use grantor::Grantor;
pub(super) use jobs_command::JobsCommand;
pub use named_jobs::NamedJobs;
pub(super) use operator::Operator;
pub(super) use reads::IdHolder;
pub use view::{ScopedQuery, View};

use super::error::ApiError;
use super::in_flight::InFlight;
use super::incoming_bodies::IncomingBodies;
use super::listen::FailedHandshakes;
use super::unread_answers::UnreadAnswers;
use super::{events as event_routes, metrics};
use crate::audit::{Act, Audit};
use crate::identity::{Authenticator, TokenVerifier};
use crate::request_limits::RequestLimiting;
use crate::runtime::{
    Answer, CallerScope, Clock, Handle, Health, LookupCounts, Source, StreamTurns, ViewLag,
};

/// The state that all handlers share. The way to the engine and the store is private: see [`Access`].
pub struct App {
    handle: Handle,
    pub(super) health: Health,
    pub(super) settings: Settings,
    pub(super) rules: Rules,
    /// Counts open event streams and WebSockets against their cap.
    pub(super) streams: event_routes::Room,
    /// Counts the requests that are being handled.
    pub(super) in_flight: InFlight,
    /// Bodies of requests, from before they are read.
    pub(super) incoming: IncomingBodies,
    /// TLS handshakes that have failed.
    pub(super) handshakes: FailedHandshakes,
    /// Large answers that are being written.
    pub(super) unread: UnreadAnswers,
    /// What was rendered of recent events.
    pub(super) frames: event_routes::Frames,
    /// Subscriptions of WebSockets that have ended.
    pub(super) sockets: event_routes::Remembered,
    /// Held while a tenant's configuration is read, merged and written, so that changes do not overlap.
    pub(super) tenant_changes: Mutex<()>,
    /// The same for cron jobs.
    pub(super) cron_changes: Mutex<()>,
    pub(super) metrics: metrics::Metrics,
    authenticator: Authenticator,
    pub(crate) audit: Arc<Audit>,
    pub(super) request_limits: RequestLimiting,
}

impl App {
    #[must_use]
    pub fn new(
        handle: Handle,
        health: Health,
        settings: Settings,
        tokens: Option<Arc<TokenVerifier>>,
    ) -> Self {
        let ms = |duration: std::time::Duration| duration.as_millis();
        let rules = Rules {
            max_job_bytes: settings.limits.job_bytes,
            max_schedule_ms: i64::try_from(ms(settings.jobs.max_schedule)).unwrap_or(i64::MAX),
            max_visibility_ms: ms(settings.jobs.max_visibility_timeout) as u64,
            test_directives: settings.testing.directives,
            allowed_types: settings.jobs.allowed_types.clone().map(BTreeSet::from_iter),
            region: settings.federation.region.clone().map(String::into_boxed_str),
            tenancy: tenancy(&settings),
        };
        let streams = event_routes::Room::new(settings.waiting().streams);
        let in_flight = InFlight::new(settings.requests_in_flight());
        let incoming = IncomingBodies::new(settings.incoming_bodies());
        let handshakes = FailedHandshakes::new(&settings);
        let unread = UnreadAnswers::new(settings.unread_answers());
        let sockets = event_routes::Remembered::new(settings.waiting().streams);
        let authenticator = Authenticator::new(&settings.auth, handle.keys().clone(), tokens);
        let metrics = metrics::Metrics::new(settings.metrics.labels);
        let audit = Arc::new(Audit::new(settings.audit.acts_per_tenant));
        let request_limits = RequestLimiting::new(
            &settings.request_limits,
            handle.request_limits().clone(),
            settings.metrics.labels,
        );
        Self {
            handle,
            health,
            settings,
            rules,
            streams,
            in_flight,
            incoming,
            handshakes,
            unread,
            frames: event_routes::Frames::default(),
            sockets,
            tenant_changes: Mutex::new(()),
            cron_changes: Mutex::new(()),
            metrics,
            authenticator,
            audit,
            request_limits,
        }
    }

    pub(super) fn is_namespaced(&self) -> bool {
        self.settings.tenancy.isolation == Isolation::Namespace
    }

    pub(super) fn clock(&self) -> &Clock {
        self.handle.clock()
    }

    /// The server's time.
    pub(super) fn now(&self) -> Millis {
        self.clock().now().wall
    }

    /// The time at which a request is parsed.
    pub(super) fn present(&self) -> Present {
        let now = self.clock().now();
        Present { now: now.wall, ahead_ms: now.ahead_ms }
    }

    /// What the wall clock shows. Times of others refer to it.
    pub(super) fn wall_clock(&self) -> Millis {
        self.clock().now().wall_clock()
    }

    /// How far the view is behind the log.
    pub(super) fn view_lag(&self) -> ViewLag {
        self.handle.view_lag()
    }

    /// How far the archive of the log has come; `None` without one.
    pub(super) fn archive_status(&self) -> Option<ArchiveStatus> {
        self.handle.archive_status()
    }

    /// What was looked up on behalf of callers so far.
    pub(super) fn lookups(&self) -> LookupCounts {
        self.handle.lookups()
    }

    /// Gives back claims whose answer was not written.
    pub(super) fn undo_claims(&self, claims: Vec<(Seq, u32)>, partly_sent: bool) {
        self.handle.undo_claims(claims, partly_sent);
    }

    /// The turns of streams that read the events.
    pub(super) fn turns(&self) -> &StreamTurns {
        self.handle.turns()
    }
}

fn tenancy(settings: &Settings) -> Tenancy {
    let namespaced = settings.tenancy.isolation == Isolation::Namespace;
    let required = settings.tenancy.required || namespaced;
    Tenancy {
        default: (!required).then(|| settings.tenancy.default.clone()),
        in_body: settings.tenancy.source.contains(&TenantSource::Body),
        // The tenant of credentials is always that of their jobs.
        of_request: settings.tenancy.source.contains(&TenantSource::Header)
            || settings.auth.is_required(),
        namespaced,
        limit_scope: if namespaced { Scope::Tenant } else { Scope::Global },
    }
}

/// The server, as the caller of a request may use it. Cheap to clone.
#[derive(Clone)]
pub struct Access {
    app: Arc<App>,
    caller: Caller,
    /// The act that the request is, if it goes into the audit log.
    act: Option<Arc<Act>>,
}

impl Deref for Access {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl FromRequestParts<Arc<App>> for Access {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Caller>().cloned().ok_or_else(ApiError::no_caller)?;
        let act = parts.extensions.get::<Arc<Act>>().cloned();
        Ok(Self { act, ..Self::new(app.clone(), caller) })
    }
}

impl Access {
    pub(super) fn new(app: Arc<App>, caller: Caller) -> Self {
        Self { app, caller, act: None }
    }

    /// The tenant that the request comes from; `None` for an operator.
    pub(super) fn tenant(&self) -> Option<&TenantId> {
        self.caller.tenant()
    }

    /// On whose behalf the caller's jobs are parsed.
    pub(super) fn sender(&self) -> Sender<'_> {
        self.caller.sender()
    }

    /// Whether the caller has shown credentials.
    pub(super) fn has_credentials(&self) -> bool {
        self.caller.identity().is_some()
    }

    /// An error if the caller lacks a permission.
    pub(super) fn check(&self, permission: Permission) -> Result<(), ApiError> {
        self.caller.check(permission)
    }

    /// Completes when the caller's credentials have ended: revoked, expired, or their key is gone. What is
    /// held open for the caller ends with them.
    pub(super) async fn credentials_ended(&self) -> ApiError {
        authentication::ended(&self.caller, &self.app).await
    }

    /// On whose behalf the engine resolves ids.
    fn scope(&self) -> CallerScope {
        let queues = self.caller.identity().and_then(|identity| identity.queues.clone());
        CallerScope { tenant: self.tenant().cloned(), queues }
    }

    /// Whom the caller's requests are served for.
    fn source(&self) -> Source {
        Source::of(self.tenant())
    }

    pub(super) fn is_operator(&self) -> bool {
        self.tenant().is_none()
    }

    /// What an operator may do; an error for a tenant. `what` is the subject of its message.
    pub(super) fn operator(&self, what: &str) -> Result<Operator<'_>, ApiError> {
        let Some(tenant) = self.tenant() else {
            // Nobody in particular, on a route that needs no credentials, is not an operator.
            self.check(Permission::Server)?;
            return Ok(Operator::new(self));
        };
        Err(caller::only_operators(what, tenant))
    }

    /// Like [`Access::operator`], but for what each tenant has to itself under namespace isolation.
    pub(super) fn operator_if_shared(&self, what: &str) -> Result<(), ApiError> {
        if self.is_namespaced() { Ok(()) } else { self.operator(what).map(|_| ()) }
    }

    /// The caller, if it shares its queues with other tenants.
    pub(super) fn sharing_tenant(&self) -> Option<&TenantId> {
        self.tenant().filter(|_| !self.is_namespaced())
    }

    /// The engine's name of a queue, from the name that the caller uses. Under namespace isolation it
    /// depends on the tenant, so an operator must name one.
    pub(super) fn queue(&self, name: &QueueName) -> Result<QueueName, ApiError> {
        if !self.sees_queue(name) {
            return Err(ApiError::not_found("queue", name));
        }
        match self.tenant() {
            _ if !self.is_namespaced() => Ok(name.clone()),
            Some(tenant) => Ok(name.in_namespace(tenant)),
            None => Err(queue_needs_tenant()),
        }
    }

    /// The engine's id of a worker, from the id that the caller uses. Each tenant has names of its own,
    /// and so have operators.
    pub(super) fn worker(&self, id: WorkerId) -> WorkerId {
        match self.tenant() {
            Some(tenant) => id.in_namespace(tenant),
            None => id,
        }
    }

    /// The engine's name of a pool of the caller's own, from the name that the caller uses.
    pub(super) fn own_pool(&self, name: PoolName) -> PoolName {
        match self.tenant() {
            Some(tenant) => name.of_tenant(tenant),
            None => name,
        }
    }

    /// The cursor of a pool in lists of [`View::pools_after`].
    pub(super) fn pool_cursor(&self, name: &PoolName) -> String {
        if self.is_operator() { name.to_string() } else { name.local().to_owned() }
    }

    /// The tenant that a request is about: the caller, or the one that an operator names. `None` if the
    /// caller names another than itself.
    pub(super) fn tenant_or(&self, named: Option<TenantId>) -> Option<Option<TenantId>> {
        match (self.tenant(), named) {
            (Some(own), Some(named)) if *own != named => None,
            (Some(own), _) => Some(Some(own.clone())),
            (None, named) => Some(named),
        }
    }

    /// An answer as the caller may see it: figures of all tenants are for operators.
    fn redacted(&self, mut answer: Answer) -> Answer {
        if let Answer::Reply(Reply::Refused(Refusal::CapReached(reached))) = &mut answer {
            reached.for_operator = self.is_operator();
        }
        answer
    }
}

/// The error for a queue's name without a tenant, where each tenant may have a queue of that name.
pub(super) fn queue_needs_tenant() -> ApiError {
    ApiError::validation(
        "X-OJS-Tenant",
        "tenancy.isolation is 'namespace', so a queue belongs to a tenant, and the request names none.",
    )
    .hint("Send the header X-OJS-Tenant with the tenant that the queue belongs to.")
}
