//! Assembles the server: opens the store, starts the runtime and serves HTTP until it is stopped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rota_engine::{
    AuditLimits, Cap, Caps, Config, DeadLetterLimits, Fairness, MetricBounds, Noisy, Retention,
};
use rota_log::Log;
use rota_storage::{
    KeepOptions, LogKeeper, OpenError, Options as StorageOptions, Progress, Storage,
};

use crate::audit;
use crate::http::{self, App, Certificates, Listener, TlsError};
use crate::identity::{self, BootstrapError, FirstKey, TokenSetupError, TokenVerifier};
use crate::open_files;
use crate::runtime::{Archive, Handle, Options, Runtime, StartError};
use rota_identity::KeyText;
use rota_settings::{AuthMode, Isolation, Settings};

/// A server that has opened its data and its port.
pub struct Server {
    listener: Listener,
    certificates: Option<Arc<Certificates>>,
    runtime: Runtime,
    keeper: LogKeeper,
    settings: Settings,
    made_key: Option<KeyText>,
    tokens: Option<Arc<TokenVerifier>>,
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    #[error(transparent)]
    Tokens(#[from] TokenSetupError),
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] TlsError),
    #[error("cannot listen on {address}: {cause}; choose another address with --listen")]
    Listen { address: SocketAddr, cause: std::io::Error },
}

impl ServeError {
    /// Whether the settings must be changed before another start can succeed.
    #[must_use]
    pub fn is_settings_error(&self) -> bool {
        let from_start = matches!(self, Self::Start(StartError::IsolationMismatch(_)));
        from_start || matches!(self, Self::Bootstrap(_) | Self::Tokens(_) | Self::Tls(_))
    }
}

impl Server {
    /// Binds the port, opens the database and starts the runtime. `on_fatal` is called with the
    /// cause when the server must not answer anything more.
    pub async fn open(
        settings: Settings,
        first_key: FirstKey,
        on_fatal: Arc<dyn Fn(&str) + Send + std::marker::Sync>,
    ) -> Result<Self, ServeError> {
        if let Some(room) = open_files::make_room(settings.http.max_connections) {
            tracing::warn!(
                room,
                max_connections = settings.http.max_connections,
                "the process may not have enough files open for all connections; raise its limit (ulimit -n, \
                 LimitNOFILE) or lower http.max_connections"
            );
        }
        let tokens = TokenVerifier::from_settings(&settings).await?;
        let certificates = Certificates::load(&settings)?;
        let listen = |cause| ServeError::Listen { address: settings.listen, cause };
        let listener = Listener::bind(settings.listen).await.map_err(listen)?;
        let Storage { log, view, term } = open_storage(&settings)?;
        let keeper = LogKeeper::start(KeepOptions {
            dir: settings.data.clone(),
            archive: settings.archive.clone(),
            interval: settings.log.archive_interval,
            keep_bytes: settings.log.keep_bytes as u64,
            committed: log.tip().index,
        })
        .map_err(StartError::from)?;
        let options = Options {
            config: engine_config(&settings),
            commands: settings.engine.commands,
            command_bytes: settings.engine.command_bytes,
            batch: settings.engine.batch,
            view_bytes: VIEW_BYTES,
            cache_bytes: settings.cache.bodies,
            events: settings.events.capacity,
            retention_batch: settings.retention.batch,
            archive: Archive::new(archive_directory(&settings), http::write_job),
            term,
            keep: keeper.rule(),
            on_fatal,
        };
        let runtime = Runtime::start(log, view, options)?;
        let made_key = match settings.auth.has(AuthMode::Keys) {
            true => first_key.store(&runtime.handle()).await?,
            false => None,
        };
        Ok(Self { listener, certificates, runtime, keeper, settings, made_key, tokens })
    }

    /// The first operator key, if this start made it. It is not stored and cannot be shown again.
    pub fn take_made_key(&mut self) -> Option<KeyText> {
        self.made_key.take()
    }

    /// The address the server listens on; with port 0 in the settings, the port that the system chose.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Serves until `stop` completes, then shuts down: event streams and waiting fetches end,
    /// requests under way are answered, everything is committed, and the database is closed.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let settings = self.settings.clone();
        let handle = self.runtime.handle();
        let tokens = self.tokens.clone();
        let token_keys = tokens.clone().map(|tokens| tokio::spawn(tokens.keep_keys_fresh()));
        let app = App::new(handle.clone(), self.runtime.health(), self.settings, tokens);
        let app = Arc::new(app);
        let audit = app.audit.clone();
        let interval = settings.audit.interval;
        let writer = tokio::spawn(audit::run(audit.clone(), handle.clone(), interval));
        let service = http::service(app);
        let key_uses = tokio::spawn(write_key_uses(handle.clone()));
        warn_about_unbounded_queues(&handle).await;
        let runtime_handle = handle.clone();
        let stop = async move {
            stop.await;
            handle.events().end_streams();
            handle.release_waiting().await;
        };
        let certificates = self.certificates;
        let reloading = certificates.clone().map(|all| tokio::spawn(all.reload_when_changed()));
        http::serve(self.listener, service, &settings, certificates, stop).await;
        if let Some(reloading) = reloading {
            reloading.abort();
        }
        key_uses.abort();
        if let Some(task) = token_keys {
            task.abort();
        }
        identity::flush(runtime_handle.keys(), &runtime_handle).await;
        writer.abort();
        audit::write_rest(&audit, &runtime_handle).await;
        self.runtime.stop().await;
        let archived = tokio::task::spawn_blocking(|| self.keeper.stop());
        if archived.await.is_err() {
            tracing::error!("the rest of the log was not archived; the next start does it");
        }
    }
}

/// Writes the last uses of API keys now and then.
async fn write_key_uses(handle: Handle) {
    loop {
        tokio::time::sleep(identity::FLUSH_INTERVAL).await;
        identity::flush(handle.keys(), &handle).await;
    }
}

/// Logs a warning if there are queues without a bound: they can grow until the disk is full.
async fn warn_about_unbounded_queues(handle: &Handle) {
    match handle.look(rota_engine::Engine::unbounded_queue_count).await {
        Ok(0) | Err(_) => {}
        Ok(queues) => tracing::warn!(
            queues,
            "queues have no bound on what they may hold; PUT /ojs/v1/admin/queues/{{name}}/config sets one"
        ),
    }
}

/// The most bytes of committed batches that the view may be behind the log. When there are more, requests wait.
const VIEW_BYTES: usize = 64 << 20;

fn open_storage(settings: &Settings) -> Result<Storage, OpenError> {
    let options = StorageOptions {
        durability: settings.durability,
        reserve_bytes: settings.storage.reserve as u64,
        archive: settings.archive.clone(),
    };
    let mut reported = Instant::now();
    let mut report = |progress: Progress| {
        if reported.elapsed() > Duration::from_secs(1) {
            reported = Instant::now();
            let Progress { applied, last } = progress;
            tracing::info!(applied, last, "applying the log to the database");
        }
    };
    rota_storage::open(&settings.data, &options, &mut report)
}

fn archive_directory(settings: &Settings) -> PathBuf {
    settings.dead_letter.archive.clone().unwrap_or_else(|| settings.data.join("archive"))
}

fn engine_config(settings: &Settings) -> Config {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Config {
        visibility_ms: ms(settings.jobs.visibility_timeout),
        max_visibility_ms: ms(settings.jobs.max_visibility_timeout),
        max_own_visibility_ms: ms(settings.tenancy.max_visibility_timeout),
        timeout_ms: ms(settings.jobs.timeout),
        heartbeat_timeout_ms: ms(settings.workers.heartbeat_timeout),
        forget_worker_after_ms: ms(settings.workers.forget_after),
        retention: Retention {
            completed_ms: settings.retention.completed.map(ms),
            cancelled_ms: settings.retention.cancelled.map(ms),
            discarded_ms: settings.retention.discarded.map(ms),
        },
        dead_letter: DeadLetterLimits {
            max_age_ms: ms(settings.dead_letter.max_age),
            max_count: settings.dead_letter.max_count as u64,
            pruning: settings.dead_letter.pruning_policy,
        },
        prune_interval_ms: ms(settings.dead_letter.prune_interval),
        replay_rules: settings.replay_rules.clone(),
        forget_idle_ms: ms(settings.retention.idle),
        forget_keys_ms: ms(settings.retention.keys),
        caps: caps(settings),
        metrics: MetricBounds {
            tenants: settings.metrics.labels,
            queues: settings.metrics.queues,
            pairs: settings.metrics.pairs,
        },
        longest_pause_ms: ms(settings.limits.rate_limit_pause),
        most_pauses: settings.limits.rate_limit_pauses as u32,
        reschedule_ms: ms(settings.limits.reschedule_delay),
        queues_per_tenant: settings.tenancy.isolation == Isolation::Namespace,
        max_bytes: settings.tenancy.max_bytes.map(|most| most as u64),
        usage_hours_ms: ms(settings.retention.usage_hours),
        usage_days_ms: ms(settings.retention.usage_days),
        audit: AuditLimits {
            max_age_ms: ms(settings.audit.retention),
            max_entries: settings.audit.max_entries as u64,
        },
        fairness: fairness(settings),
        noisy: noisy(settings),
        starvation: settings.starvation.rule(),
        tenants: settings.tenants.clone(),
        pools: settings.pools.clone(),
        limits: settings.rate_limits.clone(),
        ..Config::default()
    }
}

fn caps(settings: &Settings) -> Caps {
    let (limits, waiting) = (&settings.limits, settings.waiting());
    let cap = |total, per_tenant| Cap { total, per_tenant };
    Caps {
        tenants: limits.tenants,
        queues: cap(limits.queues, limits.queues_per_tenant),
        classes: cap(limits.classes, limits.classes_per_tenant),
        rate_limits: cap(limits.rate_limits, limits.rate_limits_per_tenant),
        rate_keys_per_tenant: limits.rate_keys_per_tenant,
        pools: cap(limits.pools, limits.pools_per_tenant),
        workers: cap(limits.workers, limits.workers_per_tenant),
        worker_bytes: cap(limits.worker_bytes, limits.worker_bytes_per_tenant),
        schedules: cap(limits.crons, limits.crons_per_tenant),
        schedule_bytes: cap(limits.cron_bytes, limits.cron_bytes_per_tenant),
        schedule_runs: cap(limits.cron_runs, limits.cron_runs_per_tenant),
        waiting_fetches: waiting.fetches,
        waiting_enqueues: waiting.enqueues,
        error_types: cap(limits.error_types, limits.error_types_per_tenant),
        keys: cap(limits.keys, limits.keys_per_tenant),
    }
}

fn fairness(settings: &Settings) -> Fairness {
    let fairness = &settings.fairness;
    Fairness {
        enabled: settings.is_fair(),
        scope: fairness.scope,
        strategy: fairness.strategy,
        cost: fairness.cost,
        priority_scope: settings.priority_scope(),
        default_weight: fairness.default_weight,
        default_concurrency: fairness.default_concurrency as u32,
        charge_own_workers: fairness.charge_own_workers,
    }
}

fn noisy(settings: &Settings) -> Noisy {
    let noisy = &settings.noisy;
    Noisy {
        detect: noisy.detect,
        throttle: noisy.throttle,
        depth_ratio: noisy.depth_ratio,
        rate_ratio: noisy.rate_ratio,
        active_share: noisy.active_share,
        error_ratio: noisy.error_ratio,
        min_depth: noisy.min_depth as u64,
        min_enqueued: noisy.min_enqueued as u64,
        min_active: noisy.min_active as u64,
        min_executions: noisy.min_executions as u64,
        factor: noisy.throttle_factor,
        throttle_ms: u64::try_from(noisy.throttle_for.as_millis()).unwrap_or(u64::MAX),
    }
}
