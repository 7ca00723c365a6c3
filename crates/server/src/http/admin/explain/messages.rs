//! The codes and messages of an explanation; each message says what to do.

use rota_engine::{Explained, LimitKind, Reason};
use rota_model::{LimitKey, Millis, State};

pub(super) fn code(reason: &Reason) -> &'static str {
    match reason {
        Reason::Finished => "finished",
        Reason::Active => "active",
        Reason::Scheduled { .. } => "scheduled",
        Reason::RetryDelay { .. } => "retry_delay",
        Reason::Pending => "pending",
        Reason::Held => "held",
        Reason::Maintenance => "maintenance",
        Reason::QueuePaused { .. } => "queue_paused",
        Reason::TenantPaused { .. } => "tenant_paused",
        Reason::QueueConcurrency { .. } => "queue_concurrency",
        Reason::TenantConcurrency { .. } => "tenant_concurrency",
        Reason::Limit { strategy: LimitKind::Pause, .. } => "limit_paused",
        Reason::Limit { .. } => "limit",
        Reason::PoolConcurrency { .. } | Reason::PoolsFull { .. } => "pool_concurrency",
        Reason::NoWorker { .. } => "no_worker",
        Reason::LessUrgent { .. } => "priority",
        Reason::InLine => "in_line",
    }
}

/// The time over which requests of workers are known, in words.
fn lately(known_ms: u64) -> String {
    match known_ms / 1_000 {
        60.. => "in the last minute".to_owned(),
        seconds => format!("since the queue was created or the server started, {seconds} s ago"),
    }
}

/// The most important reason, and the number of further ones.
pub(super) fn summary(id: &str, why: &Explained) -> String {
    let is_obstacle = |reason: &&Reason| **reason != Reason::InLine;
    let mut obstacles = why.reasons.iter().filter(is_obstacle);
    let Some(first) = obstacles.next() else { return message(id, why, &Reason::InLine) };
    let sentence = message(id, why, first);
    let without_period = sentence.trim_end_matches('.');
    match obstacles.count() {
        0 => sentence,
        1 => format!("{without_period} (and one more reason)."),
        more => format!("{without_period} (and {more} more reasons)."),
    }
}

pub(super) fn message(id: &str, why: &Explained, reason: &Reason) -> String {
    let (queue, tenant) = (why.queue.local(), &why.tenant);
    match reason {
        Reason::Finished => match why.state {
            State::Discarded | State::Cancelled => format!(
                "The job has ended; its state is '{}'. \
                 Run it again with POST /ojs/v1/admin/jobs/{id}/retry.",
                why.state
            ),
            state => format!("The job has ended; its state is '{state}'."),
        },
        Reason::Active => "The job is running.".to_owned(),
        Reason::Scheduled { due } => format!("The job is scheduled for {}.", time_text(*due)),
        Reason::RetryDelay { due } => {
            format!("Its last attempt failed; the next can start at {}.", time_text(*due))
        }
        Reason::Pending => {
            format!("The job is pending; activate it with POST /ojs/v1/jobs/{id}/activate.")
        }
        Reason::Held => "It waits until the previous run of its schedule has ended; \
                         end that, or register the schedule with another overlap_policy."
            .to_owned(),
        Reason::Maintenance => "The server is in maintenance and hands out no jobs; end that with \
                                POST /ojs/v1/admin/system/maintenance and {\"enabled\": false}."
            .to_owned(),
        Reason::QueuePaused { since } => format!(
            "The queue '{queue}' is paused since {since}; \
             resume it with POST /ojs/v1/queues/{queue}/resume."
        ),
        Reason::TenantPaused { since } => format!(
            "The jobs of tenant '{tenant}' in the queue '{queue}' are paused since {since}; resume \
             them with POST /ojs/v1/queues/{queue}/resume and the header X-OJS-Tenant: {tenant}."
        ),
        Reason::QueueConcurrency { active, limit } => format!(
            "The queue '{queue}' has {} and may have {limit}; wait for one to \
             end, or raise 'concurrency' with PUT /ojs/v1/admin/queues/{queue}/config.",
            active_jobs(*active)
        ),
        Reason::TenantConcurrency { limit: 0, .. } => format!(
            "Tenant '{tenant}' may have no active jobs; \
             raise 'max_concurrency' with PUT /ojs/v1/admin/tenants/{tenant}/limits."
        ),
        Reason::TenantConcurrency { active, limit } => format!(
            "Tenant '{tenant}' has {} and may have {limit}; wait for one to end, \
             or raise 'max_concurrency' with PUT /ojs/v1/admin/tenants/{tenant}/limits.",
            active_jobs(*active)
        ),
        Reason::Limit { key, strategy, limit, current, opens, overtaken, .. } => {
            let mut message = limit_message(key, *strategy, *limit, *current, *opens);
            if *overtaken {
                message.push_str(
                    " Other jobs of the key carry larger numbers and may start before it, for as \
                     long as they keep coming; declare the key to give all its jobs the same.",
                );
            }
            message
        }
        Reason::PoolConcurrency { pool, active, limit, .. } => format!(
            "The pool '{0}' has {1} and may have {limit}, and nobody else \
             serves the queue '{queue}'; wait for one to end, or raise 'concurrency' with \
             PUT /ojs/v1/admin/pools/{0}.",
            pool.local(),
            active_jobs(*active)
        ),
        Reason::PoolsFull { pool: Some(pool) } => format!(
            "The operator's pool '{pool}' has as many active jobs as it may have, and nobody else \
             serves the queue '{queue}'; wait for one to end, or ask the operator for more."
        ),
        Reason::PoolsFull { pool: None } => format!(
            "The workers that serve the queue '{queue}' have as many active jobs as they may have; \
             wait for one to end, or ask the operator for more."
        ),
        Reason::NoWorker { kept: true, known_ms, .. } => format!(
            "No worker of a pool that the queue '{queue}' is reserved for has asked for its jobs \
             {}; start one with such a pool: GET /ojs/v1/admin/pools lists them.",
            lately(*known_ms)
        ),
        Reason::NoWorker { other_tenants: true, known_ms, .. } => format!(
            "Only workers that serve other tenants have asked for jobs of the queue '{queue}' {}; \
             start one that fetches from it for all tenants, or for this one.",
            lately(*known_ms)
        ),
        Reason::NoWorker { known_ms, .. } => format!(
            "No worker has asked for jobs of the queue '{queue}' {}; start one that fetches from it.",
            lately(*known_ms)
        ),
        Reason::LessUrgent { tenants: 1 } => format!(
            "Another tenant has more urgent jobs in the queue '{queue}', and they are served first."
        ),
        Reason::LessUrgent { tenants } => format!(
            "{tenants} other tenants have more urgent jobs in the queue '{queue}', and they are \
             served first."
        ),
        Reason::InLine => in_line(why),
    }
}

fn active_jobs(count: u64) -> String {
    if count == 1 { "one active job".to_owned() } else { format!("{count} active jobs") }
}

fn limit_message(
    key: &LimitKey,
    strategy: LimitKind,
    limit: u64,
    current: u64,
    opens: Option<Millis>,
) -> String {
    let key = key.local();
    let address = format!("/ojs/v1/rate-limits/{key}");
    match strategy {
        LimitKind::Concurrency if limit == 0 => {
            format!("The limit '{key}' lets no job run; raise 'concurrency' with PUT {address}.")
        }
        LimitKind::Concurrency => {
            let too_many = match current.saturating_sub(limit) {
                0 => "one".to_owned(),
                more => (more + 1).to_string(),
            };
            format!(
                "The limit '{key}' lets {limit} jobs run at once, and {current} do; wait for \
                 {too_many} to end, or raise 'concurrency' with PUT {address}."
            )
        }
        LimitKind::Rate => format!(
            "The limit '{key}' lets {limit} jobs start in its period, and {current} have; it opens \
             at {}. Raise 'rate' with PUT {address}.",
            time_text(opens)
        ),
        LimitKind::Throttle => format!(
            "The limit '{key}' spaces out starts; it opens at {}. \
             Raise 'throttle' with PUT {address}.",
            time_text(opens)
        ),
        LimitKind::Pause => format!(
            "The limit '{key}' is paused until {}; end that with PUT {address} and \
             {{\"paused_until\": null}}.",
            time_text(opens)
        ),
    }
}

fn in_line(why: &Explained) -> String {
    let ahead = why.line.map_or(0, |line| line.of_tenant);
    let others = why.line.map_or(0, |line| line.tenants.saturating_sub(1));
    let position = match ahead {
        0 => "The job is the next of its tenant".to_owned(),
        1 => "One job of its tenant is before it".to_owned(),
        more => format!("{more} jobs of its tenant are before it"),
    };
    match others {
        0 => format!("{position}; it starts when a worker has room."),
        1 => format!("{position}, and one other tenant is served in turn with it."),
        more => format!("{position}, and {more} other tenants are served in turn with it."),
    }
}

fn time_text(time: Option<Millis>) -> String {
    time.map_or_else(|| "an unknown time".to_owned(), |time| time.to_string())
}
