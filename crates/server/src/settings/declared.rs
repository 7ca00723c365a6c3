use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::choices::{Durability, LogFormat, LogLevel};
use super::declaration::Declaration;
use super::declare::settings;
use super::kind::{
    Address, Choice, DAY, Directory, GIB, HOUR, KIB, Keep, MILLISECOND, Number, SECOND, Size, Span,
    Switch, TIB,
};
use super::resolve::Reader;
use super::table::Row;

settings! {
    Settings {
        listen: SocketAddr = Address, "127.0.0.1:8080",
            "Address and port that the server listens on; port 0 picks a free one.";
        data: PathBuf = Directory, "./rota-data",
            "Directory that holds the data; it is created when missing.";
        durability: Durability = Choice(Durability::WORDS), "fsync",
            "When a commit counts as safe: on the disk (`fsync`), or handed to the system (`os`).";
    }
    log: Log {
        format: LogFormat = Choice(LogFormat::WORDS), "text",
            "Form of the lines in the log.";
        level: LogLevel = Choice(LogLevel::WORDS), "info",
            "Least severe level that is logged.";
    }
    shutdown: Shutdown {
        grace: Duration = Span::between(0, HOUR), "25s",
            "How long requests under way may take to finish once the server is told to stop.";
    }
    http: Http {
        max_connections: usize = Number::between(1, 1_000_000), "10000",
            "Most connections open at once.";
        header_timeout: Duration = Span::between(MILLISECOND, HOUR), "30s",
            "How long a client may take to send the head of a request.";
        body_timeout: Duration = Span::between(MILLISECOND, HOUR), "30s",
            "How long a client may take to send the body of a request.";
    }
    limits: Limits {
        body_bytes: usize = Size::between(KIB, GIB), "16MiB",
            "Largest request body.";
        job_bytes: usize = Size::between(KIB, GIB), "1MiB",
            "Largest single job envelope; at most `limits.body_bytes`.";
        result_bytes: usize = Size::between(KIB, GIB), "1MiB",
            "Largest result of a job.";
        error_bytes: usize = Size::between(KIB, GIB), "64KiB",
            "Largest error that a worker reports for a job.";
        json_depth: usize = Number::between(1, 1000), "100",
            "Deepest nesting of arrays and objects in a request.";
        batch_jobs: usize = Number::between(1, 1000), "1000",
            "Most jobs enqueued by one request.";
        fetch_jobs: usize = Number::between(1, 1000), "1000",
            "Most jobs handed out by one fetch.";
        queues: usize = Number::between(1, 10_000_000), "10000",
            "Most distinct queues.";
        workers: usize = Number::between(1, 10_000_000), "100000",
            "Most workers known at once.";
        crons: usize = Number::between(1, 10_000_000), "10000",
            "Most cron schedules.";
        event_streams: usize = Number::between(0, 1_000_000), "1000",
            "Most event streams open at once; beyond that a request for one is answered with 503.";
    }
    engine: Engine {
        commands: usize = Number::between(16, 1_000_000), "8192",
            "Most commands waiting their turn; beyond that a request is answered with 503.";
        batch: usize = Number::between(1, 65_536), "1024",
            "Most commands in one commit.";
    }
    cache: Cache {
        bodies: usize = Size::between(0, TIB), "64MiB",
            "Memory for the bodies of recent jobs; 0 switches it off.";
    }
    jobs: Jobs {
        timeout: Duration = Span::between(MILLISECOND, 366 * DAY), "30m",
            "Execution time of a job that names none.";
        visibility_timeout: Duration = Span::between(MILLISECOND, 366 * DAY), "30m",
            "How long a fetched job stays with its worker when the fetch names no time.";
        max_visibility_timeout: Duration = Span::between(MILLISECOND, 366 * DAY), "24h",
            "Longest visibility timeout that a fetch or heartbeat may ask for.";
        max_schedule: Duration = Span::between(MILLISECOND, 36_600 * DAY), "36500d",
            "How far ahead a job may be scheduled.";
    }
    workers: Workers {
        heartbeat_interval: Duration = Span::between(MILLISECOND, DAY), "5s",
            "How often workers are told to send a heartbeat.";
        heartbeat_timeout: Duration = Span::between(MILLISECOND, DAY), "30s",
            "Silence after which a worker counts as lost; more than `workers.heartbeat_interval`.";
        forget_after: Duration = Span::between(MILLISECOND, 366 * DAY), "1h",
            "How long a lost worker stays listed.";
    }
    retention: Retention {
        completed: Option<Duration> = Keep(Span::between(0, 36_600 * DAY)), "7d",
            "Age at which completed jobs are removed: `0` is at once, `never` keeps them.";
        cancelled: Option<Duration> = Keep(Span::between(0, 36_600 * DAY)), "7d",
            "Age at which cancelled jobs are removed: `0` is at once, `never` keeps them.";
        discarded: Option<Duration> = Keep(Span::between(0, 36_600 * DAY)), "30d",
            "Age at which discarded jobs are removed: `0` is at once, `never` keeps them.";
        batch: usize = Number::between(1, 10_000), "500",
            "Most jobs removed in one step.";
    }
    events: Events {
        capacity: usize = Number::between(0, 10_000_000), "65536",
            "Events kept in memory for readers that fall behind.";
        heartbeat: Duration = Span::between(10 * MILLISECOND, 15 * SECOND), "10s",
            "Silence after which an event stream gets a comment, so that nobody takes it for dead.";
    }
    storage: Storage {
        reserve: usize = Size::between(0, TIB), "64MiB",
            "Disk space set aside so that work can still finish on a full disk; 0 sets none aside.";
    }
    testing: Testing {
        directives: bool = Switch, "false",
            "Honour `metadata.test_directive`, for conformance runs only: a producer \
            can then quiet the worker that holds its job.";
    }
}

/// Two settings that only make sense one below the other.
pub(super) struct Order {
    pub lesser: &'static str,
    pub greater: &'static str,
    pub may_be_equal: bool,
}

pub(super) const ORDERS: &[Order] = &[
    Order {
        lesser: "workers.heartbeat_interval",
        greater: "workers.heartbeat_timeout",
        may_be_equal: false,
    },
    Order { lesser: "limits.job_bytes", greater: "limits.body_bytes", may_be_equal: true },
];

impl Order {
    pub(super) fn relation(&self) -> &'static str {
        if self.may_be_equal { "must not be greater than" } else { "must be less than" }
    }
}
