//! The dead letter in a queue's configuration: who may set what, and its JSON.

use rota_model::{DeadLetterSettings, PruningPolicy, Rejection, ReplayFilter, duration};
use serde_json::{Map, Value, json};

use crate::http::Access;
use crate::http::error::ApiError;

/// A tenant that has its own queues may keep its jobs for less time than the server does, but not for
/// longer, and it may not fill the archive.
pub(super) fn check_caller(
    app: &Access,
    settings: Option<&DeadLetterSettings>,
) -> Result<(), ApiError> {
    let (Some(settings), Some(_)) = (settings, app.tenant()) else { return Ok(()) };
    let server = &app.settings.dead_letter;
    let max_age = u64::try_from(server.max_age.as_millis()).unwrap_or(u64::MAX);
    let problem = if settings.max_age_ms.is_some_and(|ms| ms > max_age) {
        let most = duration::format_iso8601(i64::try_from(max_age).unwrap_or(i64::MAX));
        ("retention.max_age", format!("must be at most {most} in a tenant's request"))
    } else if settings.max_count.is_some_and(|count| count > server.max_count as u64) {
        let most = server.max_count;
        ("retention.max_count", format!("must be at most {most} in a tenant's request"))
    } else if settings.pruning.is_some_and(|policy| policy == PruningPolicy::Archive)
        && server.pruning_policy != PruningPolicy::Archive
    {
        ("pruning_policy", "can be 'archive' only if an operator sets it".to_owned())
    } else {
        return Ok(());
    };
    Err(Rejection::value(format!("dead_letter.{}", problem.0), problem.1)
        .hint("An operator can set it: the limits of the server are dead_letter.max_age and dead_letter.max_count.")
        .into())
}

pub(super) fn json(settings: &DeadLetterSettings) -> Value {
    let period = |ms: u64| duration::format_iso8601(i64::try_from(ms).unwrap_or(i64::MAX));
    let rules = settings.replay_rules.iter().map(|(name, rule)| {
        json!({
            "name": name,
            "filter": filter_json(&rule.filter),
            "delay": period(rule.delay_ms),
            "max_replays": rule.max_replays,
            "enabled": rule.enabled,
        })
    });
    json!({
        "retention": {
            "max_age": settings.max_age_ms.map(period),
            "max_count": settings.max_count,
        },
        "pruning_policy": settings.pruning.map(PruningPolicy::as_str),
        "replay_rules": rules.collect::<Vec<_>>(),
    })
}

fn filter_json(filter: &ReplayFilter) -> Value {
    let members = [
        ("queue", filter.queue.as_ref().map(ToString::to_string)),
        ("type", filter.kind.as_ref().map(ToString::to_string)),
        ("error_type", filter.error_type.as_ref().map(ToString::to_string)),
        ("tenant_id", filter.tenant.as_ref().map(ToString::to_string)),
        ("since", filter.since.map(|at| at.to_string())),
        ("until", filter.until.map(|at| at.to_string())),
    ];
    let given =
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
    given.collect::<Map<_, _>>().into()
}
