//! All settings of the server, each with its type, accepted values, default and help text.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rota_identity::CertificateRule;
use rota_model::{
    Cost, DeclaredLimit, Durability, FairStrategy, FairnessScope, JobType, LimitKey, PoolConfig,
    PoolName, PriorityScope, PruningPolicy, ReplayRule, RequestLimit, RuleName, TenantConfig,
    TenantId, Weight,
};

use crate::choices::{
    AuthMode, CancelMode, ClientAuth, ForwardedHeader, Isolation, LimitedBy, LogFormat, LogLevel,
    TenantSource,
};
use crate::declaration::Declaration;
use crate::declare::settings;
use crate::kind::{
    DAY, GIB, HOUR, JwksSource, KIB, MILLISECOND, Networks, Origins, SECOND, TIB, address, boolean,
    claims, directory, duration, file, fraction, if_given, job_types, jwks, list_of, networks,
    number, one_of, or_auto, or_never, or_none, origins, request_limit, size, tenant, weight, word,
};
use crate::resolve::Reader;
use crate::table::Row;

settings! {
    Settings {
        listen: SocketAddr = address(), "127.0.0.1:8080",
            "Address and port that the server listens on; port 0 picks a free one.";
        data: PathBuf = directory(), "./rota-data",
            "Data directory; created if missing.";
        durability: Durability = one_of(), "fsync",
            "When a commit counts as durable: on disk (`fsync`), or handed to the operating system (`os`).";
        archive: Option<PathBuf> = or_none(directory()), "none",
            "Directory to which the log is copied, so that a backup can be restored to any later moment; created if \
            missing. It must be on another disk to be of use when this one fails.";
        insecure: bool = boolean(), "false",
            "Allow what others on the network can misuse: requests without credentials, or credentials without \
            encryption, on an address that other machines can reach.";
    }
    log: Log {
        format: LogFormat = one_of(), "text",
            "Format of log lines.";
        level: LogLevel = one_of(), "info",
            "Least severe level to log.";
        keep_bytes: usize = size(0..=TIB), "256MiB",
            "How much of the commit log is kept, at most, to continue the newest backup with it; never more than a \
            quarter of the free disk space. 0 keeps only what the database has not applied.";
        archive_interval: Duration = duration(100 * MILLISECOND..=DAY), "10s",
            "How long a committed change may wait until it is in the `archive`.";
    }
    shutdown: Shutdown {
        grace: Duration = duration(0..=HOUR), "25s",
            "How long requests in progress may take to finish at shutdown.";
    }
    http: Http {
        max_connections: usize = number(1..=1_000_000), "10000",
            "Maximum open connections. When all but a twentieth are in use, a new connection serves one \
            request, which may not wait.";
        max_connections_per_address: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Maximum open connections from one IPv4 address or IPv6 /64 network; a few further ones serve one \
            probe each. `auto` is a quarter of `http.max_connections`, and any number for this machine. Trusted \
            proxies are exempt.";
        behind_proxy: bool = boolean(), "false",
            "All clients come through `http.trusted_proxies`, which encrypt what passes between them and clients. \
            Other addresses get nothing but probes.";
        trusted_proxies: Networks = networks(), "none",
            "Addresses of proxies whose `http.forwarded_header` names the client. Needs `http.behind_proxy`.";
        forwarded_header: ForwardedHeader = one_of(), "x-forwarded-for",
            "Header in which trusted proxies name the client. They have to set or extend it in every request.";
        header_timeout: Duration = duration(MILLISECOND..=HOUR), "30s",
            "How long a client may take to send the headers of a request, and how long a connection may be idle.";
        body_timeout: Duration = duration(MILLISECOND..=HOUR), "30s",
            "How long a client may take to send the body of a request.";
        write_timeout: Duration = duration(MILLISECOND..=HOUR), "30s",
            "How long a client may read nothing of its answer before the connection is closed. Slow but steady \
            readers are not.";
        cors_origins: Origins = origins(), "none",
            "Web origins whose pages may send requests to this server from a browser. `*` allows every page.";
    }
    auth: Auth {
        modes: Vec<AuthMode> = list_of(), "none",
            "How callers prove who they are: API keys (`keys`), JSON Web Tokens (`jwt`), client certificates \
            (`mtls`), any of several, or not at all (`none`).";
        bootstrap_key_file: Option<PathBuf> = or_none(file()), "none",
            "File with the first operator key, for servers that are set up by a machine. The variable \
            `ROTA_BOOTSTRAP_KEY` may have the key instead. Without both, the first start makes a key and prints it.";
        rotation_overlap: Duration = duration(0..=366 * DAY), "24h",
            "How long a rotated key still works, unless the request says otherwise.";
        jwt_secret_file: Option<PathBuf> = or_none(file()), "none",
            "File with the secret of HS256 tokens, at least 32 bytes. A line break at its end does not count.";
        jwt_key_file: Option<PathBuf> = or_none(file()), "none",
            "File with public keys in PEM: RSA for RS256, P-256 for ES256, Ed25519 for EdDSA.";
        jwt_jwks: Option<JwksSource> = or_none(jwks()), "none",
            "File or URL of a JSON Web Key Set with the keys of tokens.";
        jwt_jwks_ca: Option<PathBuf> = or_none(file()), "none",
            "PEM file with the authorities that the server of an `https` key set must be certified by. Without it, \
            those of the system.";
        jwt_jwks_refresh: Duration = duration(10 * SECOND..=DAY), "5m",
            "How often the key set is read again. A token with an unknown key id has it read at once, at most \
            every 10 s.";
        jwt_issuer: Option<String> = or_none(word()), "none",
            "The `iss` that tokens must have. Required for `jwt`.";
        jwt_audience: Option<String> = or_none(word()), "none",
            "The `aud` that tokens must have. Required for `jwt`.";
        jwt_leeway: Duration = duration(0..=HOUR), "30s",
            "How far the clocks of this server and of the issuer of tokens may differ.";
        jwt_max_lifetime: Duration = duration(SECOND..=366 * DAY), "1h",
            "Longest lifetime of a token.";
        jwt_tenant_claims: Vec<String> = claims(), "tenantId,tenant_id",
            "Claims with the tenant of a token; a token may have any one of them.";
        jwt_scope_claims: Vec<String> = claims(), "scope,scopes",
            "Claims with the scopes of a token, as text separated by spaces or as a list.";
        jwt_empty_tenant_is_default: bool = boolean(), "false",
            "Take an empty tenant in a token for `tenancy.default` instead of refusing the token.";
    }
    tls: Tls {
        certificate: Option<PathBuf> = or_none(file()), "none",
            "PEM file with the server's certificate, followed by those that link it to its authority. The server \
            then speaks TLS 1.2 and 1.3 only. Changed files are used without a restart.";
        key: Option<PathBuf> = or_none(file()), "none",
            "PEM file with the private key of `tls.certificate`.";
        client_auth: ClientAuth = one_of(), "off",
            "Whether clients have to show a certificate; `certificates` says whose each one is.";
        client_ca: Option<PathBuf> = or_none(file()), "none",
            "PEM file with the authorities that clients' certificates must be signed by.";
        client_crl: Option<PathBuf> = or_none(file()), "none",
            "PEM file with lists of revoked clients' certificates.";
        handshake_timeout: Duration = duration(MILLISECOND..=HOUR), "10s",
            "How long a TLS handshake may take.";
        max_handshakes: usize = number(1..=1_000_000), "512",
            "Maximum TLS handshakes under way; further ones wait.";
        max_handshakes_per_address: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "The same for one IPv4 address or IPv6 /64 network. `auto` is an eighth of `tls.max_handshakes`, and \
            any number for this machine. Trusted proxies are exempt.";
        max_failed_handshakes_per_address: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "TLS handshakes of one address or network that may fail in one second; further connections of it are \
            closed until the second is over. `auto` is 10, and any number for this machine. Trusted proxies are \
            exempt.";
    }
    limits: Limits {
        body_bytes: usize = size(KIB..=GIB), "16MiB",
            "Maximum size of a request body.";
        job_bytes: usize = size(KIB..=GIB), "1MiB",
            "Maximum size of a single job envelope; at most `limits.body_bytes`.";
        result_bytes: usize = size(KIB..=GIB), "1MiB",
            "Maximum size of a job's result.";
        error_bytes: usize = size(KIB..=GIB), "64KiB",
            "Maximum size of an error that a worker reports for a job.";
        answer_bytes: usize = size(KIB..=GIB), "8MiB",
            "Maximum size of a list in an answer. A page that reaches it ends early, and a fetch returns fewer \
            jobs; a single entry that is larger is returned alone.";
        unread_bytes: usize = size(KIB..=TIB), "1GiB",
            "Maximum bytes of answers that clients have not read yet; beyond it, the oldest answers of whoever has \
            most are given up, and their connections closed.";
        unread_bytes_per_tenant: usize = size(KIB..=TIB), "256MiB",
            "Maximum bytes of answers to one tenant that it has not read yet; beyond it, its oldest are given up.";
        incoming_bytes: Option<usize> = or_auto(size(KIB..=TIB)), "auto",
            "Maximum bytes of the bodies of requests under way, from before they are received until they are \
            answered; a request that finds no room waits for 5s and is then rejected with 503. A tenth is for callers \
            that have none. Bodies up to 16KiB do not count. `auto` is 16 times `limits.body_bytes`.";
        incoming_bytes_per_tenant: Option<usize> = or_auto(size(KIB..=TIB)), "auto",
            "The same for one tenant, with 429. `auto` is a quarter of `limits.incoming_bytes`.";
        requests_per_tenant: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Maximum requests of one tenant that are handled at the same time; further ones are rejected with 429. \
            `auto` is what it may have waiting, and a tenth of `http.max_connections`.";
        json_depth: usize = number(1..=1000), "100",
            "Maximum nesting of arrays and objects in a request.";
        batch_jobs: usize = number(1..=1000), "1000",
            "Maximum jobs enqueued by one request.";
        fetch_jobs: usize = number(1..=1000), "1000",
            "Maximum jobs returned by one fetch.";
        queues: usize = number(1..=10_000_000), "10000",
            "Maximum number of queues.";
        queues_per_tenant: usize = number(1..=10_000_000), "1000",
            "Maximum queues created by one tenant.";
        tenants: usize = number(1..=10_000_000), "200000",
            "Maximum known tenants. Beyond it, tenants that are neither known nor configured are rejected; the \
            last twentieth is for configured tenants, which are never rejected.";
        classes: usize = number(1..=100_000_000), "1000000",
            "Maximum classes of unfinished jobs. A class is a tenant, queue, job type, priority and execution \
            policy. Including finished jobs, the maximum is ten times as many.";
        classes_per_tenant: usize = number(1..=10_000_000), "10000",
            "Maximum classes of one tenant's unfinished jobs; including finished jobs, ten times as many.";
        pools: usize = number(1..=1_000_000), "10000",
            "Maximum worker pools.";
        pools_per_tenant: usize = number(1..=1_000_000), "100",
            "Maximum worker pools of one tenant, besides the operator's.";
        workers: usize = number(1..=10_000_000), "100000",
            "Maximum known workers.";
        workers_per_tenant: usize = number(1..=10_000_000), "10000",
            "Maximum workers of one tenant.";
        worker_bytes: usize = size(KIB..=TIB), "256MiB",
            "Maximum bytes of what all workers say about themselves: hosts, versions, queues, labels and metadata. \
            Further registrations are rejected; heartbeats go on, and what they change is left out.";
        worker_bytes_per_tenant: usize = size(KIB..=TIB), "16MiB",
            "The same for the workers of one tenant.";
        crons: usize = number(1..=10_000_000), "10000",
            "Maximum cron schedules.";
        crons_per_tenant: usize = number(1..=10_000_000), "1000",
            "Maximum cron schedules of one tenant.";
        cron_bytes: usize = size(KIB..=TIB), "64MiB",
            "Maximum bytes of all cron schedules with their job templates, which are kept in memory. A template takes \
            up about three times its size.";
        cron_bytes_per_tenant: usize = size(KIB..=TIB), "4MiB",
            "The same for the schedules of one tenant.";
        cron_runs: usize = number(1..=10_000_000), "100000",
            "Maximum unfinished cron runs; further runs are skipped.";
        cron_runs_per_tenant: usize = number(1..=10_000_000), "10000",
            "Maximum unfinished cron runs of one tenant.";
        event_streams: Option<usize> = or_auto(number(0..=1_000_000)), "auto",
            "Maximum open event streams; further ones are rejected with 503. `auto` is a tenth of \
            `http.max_connections`.";
        event_streams_per_tenant: Option<usize> = or_auto(number(0..=1_000_000)), "auto",
            "Maximum open event streams of one tenant; `auto` is a tenth of `limits.event_streams`.";
        waiting_fetches: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Maximum fetches waiting for a job; `auto` is seven tenths of `http.max_connections`. All waiting \
            requests together may use nine tenths of the connections.";
        waiting_fetches_per_tenant: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Maximum waiting fetches of one tenant; `auto` is a tenth of `limits.waiting_fetches`.";
        waiting_enqueues: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Maximum enqueue requests waiting for room in a full queue; `auto` is a tenth of \
            `http.max_connections`.";
        waiting_enqueues_per_tenant: Option<usize> = or_auto(number(1..=1_000_000)), "auto",
            "Maximum waiting enqueue requests of one tenant; `auto` is a tenth of `limits.waiting_enqueues`.";
        error_types: usize = number(0..=10_000_000), "100000",
            "Maximum error types that are counted in the dead letter; further ones are counted as `other`.";
        error_types_per_tenant: usize = number(0..=10_000_000), "200",
            "Maximum error types of one tenant that are counted in the dead letter, over all its queues.";
        keys: usize = number(1..=1_000_000), "10000",
            "Maximum API keys, including ended ones that are not forgotten yet.";
        keys_per_tenant: usize = number(1..=1_000_000), "100",
            "Maximum API keys of one tenant.";
        rate_limits: usize = number(1..=10_000_000), "100000",
            "Maximum rate limit keys with a declaration, override or pause made through the API.";
        rate_limits_per_tenant: usize = number(1..=10_000_000), "1000",
            "Maximum rate limit keys of one tenant with a declaration, override or pause made through the API.";
        rate_keys_per_tenant: usize = number(1..=10_000_000), "10000",
            "Maximum rate limit keys in use by the jobs of one tenant.";
        rate_limit_pause: Duration = duration(MILLISECOND..=366 * DAY), "1h",
            "Longest pause that a worker may request with `rate_limit_until`.";
        rate_limit_pauses: usize = number(1..=1_000_000), "100",
            "Maximum pauses that one job may request; after that, its failure counts like any other.";
        reschedule_delay: Duration = duration(MILLISECOND..=DAY), "1s",
            "First delay of a job rescheduled by a limit with no known opening time; it grows with each further \
            reschedule.";
    }
    tenancy: Tenancy {
        default: TenantId = tenant(), "_default",
            "Tenant of jobs that do not name one.";
        required: bool = boolean(), "false",
            "Reject jobs that do not name a tenant, instead of assigning them to `tenancy.default`.";
        source: Vec<TenantSource> = list_of(),
            "body,header,credentials",
            "Where to look for the tenant of a new job; the first that names one is used. A request with the \
            header `X-OJS-Tenant` is always restricted to that tenant.";
        isolation: Isolation = one_of(), "sharded",
            "How tenants are separated: each has its own part of every queue (`sharded`), all share one queue \
            (`shared`), or each has its own queues (`namespace`).";
        max_visibility_timeout: Duration = duration(MILLISECOND..=366 * DAY), "1h",
            "Longest visibility timeout for a tenant's own worker, to bound how long an abandoned job uses its \
            queue's and pool's concurrency. `jobs.max_visibility_timeout` also applies.";
        max_bytes: Option<usize> = or_none(size(0..=1_024 * TIB)), "none",
            "Maximum bytes that a tenant stores, unless it has a `max_bytes` of its own: jobs with results and \
            errors, and schedules.";
    }
    federation: Federation {
        region: Option<String> = or_none(word()), "none",
            "This server's region. Jobs that must run in another one (`meta.ojs.federation.region`) are \
            rejected.";
    }
    fairness: Fairness {
        enabled: Option<bool> = or_auto(boolean()), "auto",
            "Serve tenants in turn rather than in enqueue order. `auto` is off if `tenancy.isolation` is \
            `shared`, otherwise on. With `sharded` it cannot be off.";
        scope: FairnessScope = one_of(), "queue",
            "Whether tenants' shares apply to each queue (`queue`) or to all queues of a pool or fetch together \
            (`pool`); a pool's own `fairness_scope` takes precedence.";
        strategy: FairStrategy = one_of(), "weighted",
            "How tenants take turns: by weight (`weighted`), equally (`round-robin`), or each within its own \
            concurrency (`strict`).";
        cost: Cost = one_of(), "job",
            "How shares are measured: in jobs started or in run time.";
        priority_scope: Option<PriorityScope> = or_auto(one_of()), "auto",
            "Whether priorities apply across all tenants (`global`) or within each tenant (`tenant`). `auto` is \
            `tenant` if `tenancy.isolation` is `namespace`, otherwise `global`.";
        default_weight: Weight = weight(), "1",
            "Weight of tenants without their own.";
        default_concurrency: usize = number(1..=1_000_000), "10",
            "Maximum active jobs of a tenant without its own `max_concurrency`, if `fairness.strategy` is \
            `strict`.";
        charge_own_workers: bool = boolean(), "false",
            "Count jobs taken by a tenant's own workers against its share on shared workers.";
    }
    noisy: Noisy {
        detect: bool = boolean(), "true",
            "Detect tenants that crowd out others, and report them in events and statistics.";
        throttle: bool = boolean(), "false",
            "Temporarily reduce a noisy tenant's weight, or its concurrency if `fairness.strategy` is `strict`. \
            Rejected if it has no effect: without fairness, and with `namespace` unless `strict`.";
        depth_ratio: f64 = fraction(1.0..=1_000_000.0), "10",
            "A tenant is noisy above this multiple of the median backlog of tenants with waiting jobs.";
        rate_ratio: f64 = fraction(1.0..=1_000_000.0), "5",
            "A tenant is noisy above this multiple of the average enqueue rate.";
        active_share: f64 = fraction(0.0..=1.0), "0.5",
            "A tenant is noisy above this fraction of all active jobs.";
        error_ratio: f64 = fraction(1.0..=1_000_000.0), "3",
            "A tenant is noisy above this multiple of the average failure rate.";
        min_depth: usize = number(1..=1_000_000_000), "100",
            "Fewer waiting jobs than this never make a tenant noisy.";
        min_enqueued: usize = number(1..=1_000_000_000), "100",
            "Fewer jobs enqueued in the last minute than this never make a tenant noisy.";
        min_active: usize = number(1..=1_000_000_000), "10",
            "With fewer active jobs of all tenants than this, no tenant is noisy by its active jobs.";
        min_executions: usize = number(1..=1_000_000_000), "20",
            "With fewer executions in the last minute than this, a tenant is not noisy by its failures.";
        throttle_factor: f64 = fraction(0.01..=0.99), "0.2",
            "Factor applied to the weight or concurrency of a throttled tenant.";
        throttle_for: Duration = duration(MILLISECOND..=366 * DAY), "5m",
            "How long a tenant stays throttled.";
    }
    starvation: Starvation {
        enabled: bool = boolean(), "false",
            "Guarantee every queue a minimum part of all dispatches; a pool's own setting takes precedence.";
        rotation_interval: Duration = duration(MILLISECOND..=DAY), "30s",
            "Time within which a queue gets its part, and at least one job if any is waiting.";
        min_dispatch_ratio: Option<f64> = if_given(fraction(0.0..=1.0)), "0.05",
            "Part of all dispatches guaranteed to every queue. The default is lowered to 1/n for n queues; an \
            explicit ratio must fit.";
    }
    engine: Engine {
        commands: usize = number(16..=1_000_000), "8192",
            "Maximum requests waiting to be processed; further ones are rejected with 503. A tenant may use half of \
            it, and the last tenth is for tenants that have none waiting.";
        command_bytes: usize = size(KIB..=TIB), "256MiB",
            "Maximum bytes of jobs and results in requests waiting to be processed; a tenant may use half of it.";
        batch: usize = number(1..=65_536), "1024",
            "Maximum commands in one commit.";
    }
    cache: Cache {
        bodies: usize = size(0..=TIB), "64MiB",
            "Memory for the bodies of recent jobs; 0 disables the cache.";
    }
    jobs: Jobs {
        timeout: Duration = duration(MILLISECOND..=366 * DAY), "30m",
            "Execution timeout of jobs that do not set one.";
        visibility_timeout: Duration = duration(MILLISECOND..=366 * DAY), "30m",
            "Visibility timeout if neither the job nor the fetch sets one.";
        max_visibility_timeout: Duration = duration(MILLISECOND..=366 * DAY), "24h",
            "Longest visibility timeout that a fetch or heartbeat may request.";
        max_schedule: Duration = duration(MILLISECOND..=36_600 * DAY), "36500d",
            "How far ahead a job may be scheduled.";
        allowed_types: Option<Vec<JobType>> = or_none(job_types()), "none",
            "The only types of jobs that are accepted; `none` accepts all.";
        cancel_mode: CancelMode = one_of(), "immediate",
            "How an active job is cancelled if the request has no `mode`: at once, or by asking its worker at its \
            next heartbeat.";
    }
    workers: Workers {
        heartbeat_interval: Duration = duration(MILLISECOND..=DAY), "5s",
            "How often workers are asked to send a heartbeat.";
        heartbeat_timeout: Duration = duration(MILLISECOND..=DAY), "30s",
            "Silence after which a worker counts as lost; must exceed `workers.heartbeat_interval`.";
        forget_after: Duration = duration(MILLISECOND..=366 * DAY), "1h",
            "How long a lost worker stays listed.";
    }
    retention: Retention {
        completed: Option<Duration> = or_never(duration(0..=36_600 * DAY)), "7d",
            "How long completed jobs are kept: `0` removes them at once, `never` keeps them.";
        cancelled: Option<Duration> = or_never(duration(0..=36_600 * DAY)), "7d",
            "How long cancelled jobs are kept: `0` removes them at once, `never` keeps them.";
        discarded: Option<Duration> = or_never(duration(0..=36_600 * DAY)), "30d",
            "How long discarded jobs are kept that are not in the dead letter: `0` removes them at once, \
            `never` keeps them.";
        usage_hours: Duration = duration(2 * DAY..=400 * DAY), "35d",
            "How long tenants' hourly usage is kept.";
        usage_days: Duration = duration(2 * DAY..=3_660 * DAY), "396d",
            "How long tenants' daily usage is kept.";
        keys: Duration = duration(0..=3_660 * DAY), "30d",
            "How long the record of an API key is kept after it was revoked or has expired.";
        idle: Duration = duration(SECOND..=366 * DAY), "1h",
            "How long a queue without jobs and settings, or a tenant without jobs, configuration and recent \
            figures, is remembered.";
        batch: usize = number(1..=10_000), "500",
            "Maximum jobs removed in one step.";
    }
    dead_letter: DeadLetter {
        max_age: Duration = duration(0..=36_600 * DAY), "180d",
            "How long jobs stay in the dead letter; a queue's own setting takes precedence.";
        max_count: usize = number(0..=1_000_000_000), "10000",
            "Maximum jobs of one tenant in the dead letter of one queue; the oldest are removed first. A queue's \
            own setting takes precedence.";
        pruning_policy: PruningPolicy = one_of(), "delete",
            "What happens to jobs that are too old or too many: they are deleted (`delete`), or written to \
            `dead_letter.archive` and then deleted (`archive`).";
        prune_interval: Duration = duration(SECOND..=DAY), "5m",
            "How often the dead letter is searched for jobs that are too old or too many.";
        archive: Option<PathBuf> = or_auto(directory()), "auto",
            "Directory of the archive; created if missing. `auto` is `archive` in the data directory.";
    }
    events: Events {
        capacity: usize = number(0..=10_000_000), "65536",
            "Number of recent events kept in memory for readers.";
        heartbeat: Duration = duration(10 * MILLISECOND..=15 * SECOND), "10s",
            "Silence after which an event stream sends a comment, so that clients do not consider it dead. \
            WebSockets get a ping this often, at least every 10 s.";
        channels: usize = number(1..=10_000), "100",
            "Maximum channels that one WebSocket subscribes to.";
        max_per_second: usize = number(0..=1_000_000), "0",
            "Maximum events per second for one event stream or WebSocket. What must wait stays among the recent \
            events, and is dropped with a notice when it is no longer among them. 0 is no limit.";
    }
    request_limits: RequestLimits {
        default: RequestLimit = request_limit(), "off",
            "Requests that a tenant's caller may send per minute and at once, for each scope without a limit of its own. \
            A tenant's own configuration takes precedence; operators and probes are exempt.";
        enqueue: Option<RequestLimit> = or_auto(request_limit()), "auto",
            "The same for requests with the scope `enqueue`; `auto` is `request_limits.default`.";
        dequeue: Option<RequestLimit> = or_auto(request_limit()), "auto",
            "The same for requests with the scope `dequeue`.";
        cancel: Option<RequestLimit> = or_auto(request_limit()), "auto",
            "The same for requests with the scope `cancel`.";
        inspect: Option<RequestLimit> = or_auto(request_limit()), "auto",
            "The same for requests with the scope `inspect`.";
        admin: Option<RequestLimit> = or_auto(request_limit()), "auto",
            "The same for requests with the scope `admin`.";
        per: LimitedBy = one_of(), "subject",
            "Whose requests count together: `subject` counts each credential by itself, `tenant` all of a tenant.";
    }
    audit: Audit {
        retention: Duration = duration(SECOND..=36_600 * DAY), "365d",
            "How long entries of the audit log are kept.";
        max_entries: usize = number(1..=1_000_000_000), "1000000",
            "Maximum entries of the audit log; the oldest are removed first.";
        interval: Duration = duration(SECOND..=HOUR), "1m",
            "Repeated refusals, and acts without effect, are counted for this long and then written to the audit log \
            as one entry.";
        acts_per_tenant: usize = number(0..=1_000_000_000), "300",
            "Maximum acts of one tenant per `audit.interval` that get an entry of their own in the audit log; further \
            ones are counted together. Acts of operators always get one.";
    }
    metrics: Metrics {
        labels: usize = number(1..=1_000_000), "1000",
            "Maximum tenants, and maximum rate limit keys, with their own metrics; the others are combined.";
        queues: usize = number(1..=1_000_000), "1000",
            "Maximum queues with their own metrics, a tenth of them for queues configured by an operator; the \
            others are combined.";
        pairs: usize = number(1..=1_000_000), "10000",
            "Maximum pairs of tenant and queue with their own metrics; a tenant's jobs in further queues are \
            combined.";
    }
    storage: Storage {
        reserve: usize = size(0..=TIB), "64MiB",
            "Disk space reserved so that work can still finish on a full disk; 0 reserves none.";
    }
    testing: Testing {
        directives: bool = boolean(), "false",
            "Honour `metadata.test_directive`, for conformance runs only: a producer \
            can then quiet the worker that holds its job.";
    }
}
