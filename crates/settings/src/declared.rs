//! All settings of the server, each with its type, accepted values, default and help text.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rota_model::{
    Cost, Durability, FairStrategy, FairnessScope, LimitKey, LimitNumbers, PoolConfig, PoolName,
    PriorityScope, TenantConfig, TenantId, Weight,
};

use crate::choices::{Isolation, LogFormat, LogLevel, TenantSource};
use crate::declaration::Declaration;
use crate::declare::settings;
use crate::kind::{
    DAY, GIB, HOUR, KIB, MILLISECOND, SECOND, TIB, address, boolean, directory, duration, fraction,
    if_given, list_of, number, one_of, or_auto, or_never, size, tenant, weight,
};
use crate::resolve::Reader;
use crate::table::Row;

settings! {
    Settings {
        listen: SocketAddr = address(), "127.0.0.1:8080",
            "Address and port that the server listens on; port 0 picks a free one.";
        data: PathBuf = directory(), "./rota-data",
            "Directory that holds the data; it is created when missing.";
        durability: Durability = one_of(), "fsync",
            "When a commit counts as safe: on the disk (`fsync`), or handed to the system (`os`).";
    }
    log: Log {
        format: LogFormat = one_of(), "text",
            "Form of the lines in the log.";
        level: LogLevel = one_of(), "info",
            "Least severe level that is logged.";
    }
    shutdown: Shutdown {
        grace: Duration = duration(0..=HOUR), "25s",
            "How long requests under way may take to finish once the server is told to stop.";
    }
    http: Http {
        max_connections: usize = number(1..=1_000_000), "10000",
            "Most connections open at once. When all but a twentieth are in use, a new one serves a single \
            request, which may not wait.";
        header_timeout: Duration = duration(MILLISECOND..=HOUR), "30s",
            "How long a client may take to send the head of a request.";
        body_timeout: Duration = duration(MILLISECOND..=HOUR), "30s",
            "How long a client may take to send the body of a request.";
    }
    limits: Limits {
        body_bytes: usize = size(KIB..=GIB), "16MiB",
            "Largest request body.";
        job_bytes: usize = size(KIB..=GIB), "1MiB",
            "Largest single job envelope; at most `limits.body_bytes`.";
        result_bytes: usize = size(KIB..=GIB), "1MiB",
            "Largest result of a job.";
        error_bytes: usize = size(KIB..=GIB), "64KiB",
            "Largest error that a worker reports for a job.";
        json_depth: usize = number(1..=1000), "100",
            "Deepest nesting of arrays and objects in a request.";
        batch_jobs: usize = number(1..=1000), "1000",
            "Most jobs enqueued by one request.";
        fetch_jobs: usize = number(1..=1000), "1000",
            "Most jobs handed out by one fetch.";
        queues: usize = number(1..=10_000_000), "10000",
            "Most distinct queues.";
        queues_per_tenant: usize = number(1..=10_000_000), "1000",
            "Most queues that one tenant may have made.";
        tenants: usize = number(1..=10_000_000), "200000",
            "Most tenants known at once. Beyond that, requests of tenants that are neither known nor configured \
            are refused; the last twentieth is for tenants that are configured, who are never refused.";
        classes: usize = number(1..=100_000_000), "1000000",
            "Most classes of unfinished jobs. A class is a tenant, queue, job type, priority and execution \
            policy. Classes of finished jobs that are kept may be ten times as many.";
        classes_per_tenant: usize = number(1..=10_000_000), "10000",
            "Most classes of unfinished jobs of one tenant; ten times as many with finished jobs that are kept.";
        pools: usize = number(1..=1_000_000), "1000",
            "Most worker pools. Only operators make pools.";
        workers: usize = number(1..=10_000_000), "100000",
            "Most workers known at once.";
        workers_per_tenant: usize = number(1..=10_000_000), "10000",
            "Most workers of one tenant.";
        crons: usize = number(1..=10_000_000), "10000",
            "Most cron schedules.";
        crons_per_tenant: usize = number(1..=10_000_000), "1000",
            "Most cron schedules of one tenant.";
        cron_runs: usize = number(1..=10_000_000), "100000",
            "Most unfinished runs of cron schedules; beyond that a run is skipped.";
        cron_runs_per_tenant: usize = number(1..=10_000_000), "10000",
            "Most unfinished runs of one tenant's cron schedules.";
        event_streams: Option<usize> = or_auto(number(0..=1_000_000)), "auto",
            "Most event streams open at once; beyond that a request for one is answered with 503. `auto` is a \
            tenth of `http.max_connections`.";
        event_streams_per_tenant: Option<usize> = or_auto(number(0..=1_000_000)), "auto",
            "Most event streams of one tenant open at once; `auto` is a tenth of `limits.event_streams`.";
        waiting_fetches: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Most fetches that wait for a job at once; `auto` is seven tenths of `http.max_connections`. \
            All requests that wait may together hold nine tenths of the connections.";
        waiting_fetches_per_tenant: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Most fetches of one tenant that wait at once; `auto` is a tenth of `limits.waiting_fetches`.";
        waiting_enqueues: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Most enqueue requests that wait for room in a full queue at once; `auto` is a tenth of \
            `http.max_connections`.";
        waiting_enqueues_per_tenant: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Most enqueue requests of one tenant that wait at once; `auto` is a tenth of \
            `limits.waiting_enqueues`.";
        rate_limits: usize = number(1..=10_000_000), "100000",
            "Most rate limit keys with a declaration, an override or a pause that was made through the API.";
        rate_limits_per_tenant: usize = number(1..=10_000_000), "1000",
            "Most such keys of one tenant.";
        rate_keys_per_tenant: usize = number(1..=10_000_000), "10000",
            "Most rate limit keys that the jobs of one tenant may use at once.";
        rate_limit_pause: Duration = duration(MILLISECOND..=366 * DAY), "1h",
            "Longest pause of a rate limit that a worker may ask for with `rate_limit_until`.";
        rate_limit_pauses: usize = number(1..=1_000_000), "100",
            "Most pauses that one job may ask for; after that its failure counts as any other.";
        reschedule_delay: Duration = duration(MILLISECOND..=DAY), "1s",
            "First delay of a job that is rescheduled by a limit whose opening is not known; \
            it grows from one time to the next.";
    }
    tenancy: Tenancy {
        default: TenantId = tenant(), "_default",
            "Tenant of the jobs that name none.";
        required: bool = boolean(), "false",
            "Refuse jobs that name no tenant instead of giving them to `tenancy.default`.";
        source: Vec<TenantSource> = list_of(),
            "body,header,credentials",
            "Where the tenant of a new job is looked for, the first that names one counting. A request with \
            the header `X-OJS-Tenant` is held to that tenant in any case.";
        isolation: Isolation = one_of(), "sharded",
            "How far tenants are kept apart: a part of every queue for each (`sharded`), \
            one queue for all (`shared`), or queues that each tenant has to itself (`namespace`).";
        max_visibility_timeout: Duration = duration(MILLISECOND..=366 * DAY), "1h",
            "Longest visibility timeout that a tenant's own worker may ask for: a job that it abandons takes \
            up the concurrency of its queue and pool no longer; `jobs.max_visibility_timeout` holds besides.";
    }
    fairness: Fairness {
        enabled: Option<bool> = or_auto(boolean()), "auto",
            "Serve tenants in turn rather than in the order of enqueueing; `auto` is off with \
            `tenancy.isolation` at `shared` and on otherwise. It cannot be off with `sharded`.";
        scope: FairnessScope = one_of(), "queue",
            "What a tenant's share is a share of: each queue by itself (`queue`), or all queues of a \
            pool or fetch together (`pool`); a pool's own `fairness_scope` comes first.";
        strategy: FairStrategy = one_of(), "weighted",
            "Whose turn it is: by weight (`weighted`), one after the other (`round-robin`), \
            or each within a concurrency of its own (`strict`).";
        cost: Cost = one_of(), "job",
            "What a turn is measured by: the jobs started, or their running time.";
        priority_scope: Option<PriorityScope> = or_auto(one_of()), "auto",
            "Whether a priority counts among the jobs of all tenants (`global`) or of its own \
            (`tenant`); `auto` is `tenant` with `tenancy.isolation` at `namespace`, or else `global`.";
        default_weight: Weight = weight(), "1",
            "Weight of tenants that have none of their own.";
        default_concurrency: usize = number(1..=1_000_000), "10",
            "Most active jobs of a tenant without its own `max_concurrency`, with \
            `fairness.strategy` at `strict`.";
        charge_own_workers: bool = boolean(), "false",
            "Count jobs that a tenant's own workers take against its share on shared workers.";
    }
    noisy: Noisy {
        detect: bool = boolean(), "true",
            "Watch for tenants that crowd out the others, and report them in events and statistics.";
        throttle: bool = boolean(), "false",
            "Lower the weight of such a tenant for a while, or with `fairness.strategy` at `strict` its \
            concurrency. Refused where neither has an effect: without fairness, and in namespaces unless the strategy is `strict`.";
        depth_ratio: f64 = fraction(1.0..=1_000_000.0), "10",
            "Waiting jobs, as a multiple of the median of tenants that have any, that make a tenant noisy.";
        rate_ratio: f64 = fraction(1.0..=1_000_000.0), "5",
            "Enqueue rate, as a multiple of the average, that makes a tenant noisy.";
        active_share: f64 = fraction(0.0..=1.0), "0.5",
            "Part of all active jobs beyond which a tenant is noisy.";
        error_ratio: f64 = fraction(1.0..=1_000_000.0), "3",
            "Failure rate, as a multiple of the average, that makes a tenant noisy.";
        min_depth: usize = number(1..=1_000_000_000), "100",
            "A tenant with fewer waiting jobs is not noisy by their number.";
        min_enqueued: usize = number(1..=1_000_000_000), "100",
            "A tenant that enqueued fewer jobs in the last minute is not noisy by its rate.";
        min_active: usize = number(1..=1_000_000_000), "10",
            "With fewer active jobs of all tenants, nobody is noisy by its part of them.";
        min_executions: usize = number(1..=1_000_000_000), "20",
            "A tenant of which fewer executions ended in the last minute is not noisy by its failures.";
        throttle_factor: f64 = fraction(0.01..=0.99), "0.2",
            "What the weight of a throttled tenant is multiplied by, or its concurrency.";
        throttle_for: Duration = duration(MILLISECOND..=366 * DAY), "5m",
            "How long a tenant stays throttled.";
    }
    starvation: Starvation {
        enabled: bool = boolean(), "false",
            "Guarantee every queue a part of all dispatches; a pool's own rule comes first.";
        rotation_interval: Duration = duration(MILLISECOND..=DAY), "30s",
            "Time within which a queue gets its part, and at least one job if any waits.";
        min_dispatch_ratio: Option<f64> = if_given(fraction(0.0..=1.0)), "0.05",
            "Part of all dispatches that every queue is guaranteed. The default is lowered to 1/n \
            for n queues; a ratio that is given must fit.";
    }
    engine: Engine {
        commands: usize = number(16..=1_000_000), "8192",
            "Most commands waiting their turn; beyond that a request is answered with 503.";
        batch: usize = number(1..=65_536), "1024",
            "Most commands in one commit.";
    }
    cache: Cache {
        bodies: usize = size(0..=TIB), "64MiB",
            "Memory for the bodies of recent jobs; 0 switches it off.";
    }
    jobs: Jobs {
        timeout: Duration = duration(MILLISECOND..=366 * DAY), "30m",
            "Execution time of a job that names none.";
        visibility_timeout: Duration = duration(MILLISECOND..=366 * DAY), "30m",
            "How long a fetched job stays with its worker when the fetch names no time.";
        max_visibility_timeout: Duration = duration(MILLISECOND..=366 * DAY), "24h",
            "Longest visibility timeout that a fetch or heartbeat may ask for.";
        max_schedule: Duration = duration(MILLISECOND..=36_600 * DAY), "36500d",
            "How far ahead a job may be scheduled.";
    }
    workers: Workers {
        heartbeat_interval: Duration = duration(MILLISECOND..=DAY), "5s",
            "How often workers are told to send a heartbeat.";
        heartbeat_timeout: Duration = duration(MILLISECOND..=DAY), "30s",
            "Silence after which a worker counts as lost; more than `workers.heartbeat_interval`.";
        forget_after: Duration = duration(MILLISECOND..=366 * DAY), "1h",
            "How long a lost worker stays listed.";
    }
    retention: Retention {
        completed: Option<Duration> = or_never(duration(0..=36_600 * DAY)), "7d",
            "Age at which completed jobs are removed: `0` is at once, `never` keeps them.";
        cancelled: Option<Duration> = or_never(duration(0..=36_600 * DAY)), "7d",
            "Age at which cancelled jobs are removed: `0` is at once, `never` keeps them.";
        discarded: Option<Duration> = or_never(duration(0..=36_600 * DAY)), "30d",
            "Age at which discarded jobs are removed: `0` is at once, `never` keeps them.";
        usage_hours: Duration = duration(2 * DAY..=400 * DAY), "35d",
            "How long tenants' usage is kept by the hour.";
        usage_days: Duration = duration(2 * DAY..=3_660 * DAY), "396d",
            "How long tenants' usage is kept by the day.";
        idle: Duration = duration(SECOND..=366 * DAY), "1h",
            "How long a queue without jobs and settings, or a tenant without jobs, configuration and recent \
            figures, is remembered.";
        batch: usize = number(1..=10_000), "500",
            "Most jobs removed in one step.";
    }
    events: Events {
        capacity: usize = number(0..=10_000_000), "65536",
            "Events kept in memory for readers that fall behind.";
        heartbeat: Duration = duration(10 * MILLISECOND..=15 * SECOND), "10s",
            "Silence after which an event stream gets a comment, so that nobody takes it for dead.";
    }
    metrics: Metrics {
        labels: usize = number(1..=1_000_000), "1000",
            "Most tenants, and most keys of rate limits, that have figures of their own in the \
            metrics; the others are counted together.";
        queues: usize = number(1..=1_000_000), "1000",
            "Most queues that have figures of their own in the metrics, a tenth of them for queues that \
            an operator configured; the others are counted together.";
        pairs: usize = number(1..=1_000_000), "10000",
            "Most pairs of a tenant and a queue that have figures of their own in the metrics; a tenant's \
            jobs in further queues are counted together.";
    }
    storage: Storage {
        reserve: usize = size(0..=TIB), "64MiB",
            "Disk space set aside so that work can still finish on a full disk; 0 sets none aside.";
    }
    testing: Testing {
        directives: bool = boolean(), "false",
            "Honour `metadata.test_directive`, for conformance runs only: a producer \
            can then quiet the worker that holds its job.";
    }
}
