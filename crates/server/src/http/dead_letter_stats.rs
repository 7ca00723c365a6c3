//! The route for statistics of the dead letter. All counts come from counters.

use std::collections::BTreeMap;

use rota_engine::DeadShardView;
use rota_model::duration;
use serde_json::{Map, Value, json};

use super::error::{ApiError, ApiResult};
use super::{Access, reply};

/// Dead letters per slice.
const SLICE: usize = 500;
/// The most types of errors in an answer; the rest is counted as `other`.
const MAX_ERROR_TYPES: usize = 200;
/// The name of everything that has no counter of its own.
const OTHER: &str = "other";

pub(super) async fn stats(app: Access) -> ApiResult {
    let shards = visible(&app).await?;
    let span = app.dead_span(shards.iter().map(|shard| shard.id).collect()).await?;
    let total: u64 = shards.iter().map(|shard| shard.count).sum();
    let by_queue = sums(shards.iter().map(|shard| (shard.queue.local(), shard.count)));
    let next = app.look(|view| view.next_prune()).await?;
    let retention = &app.settings.dead_letter;
    let max_age = i64::try_from(retention.max_age.as_millis()).unwrap_or(i64::MAX);
    Ok(reply::ok(&json!({
        "total": total,
        "by_queue": by_queue,
        "by_error_type": by_error_type(&shards),
        "oldest_at": span.map(|(oldest, _)| oldest.to_string()),
        "newest_at": span.map(|(_, newest)| newest.to_string()),
        "retention": {
            "max_age": duration::format_iso8601(max_age),
            "max_count": retention.max_count,
            "pruning_policy": retention.pruning_policy.as_str(),
            "next_prune_at": next.max(app.now()).to_string(),
        },
        "stats": {"total": total},
    })))
}

/// The dead letters that the caller can see, read in slices.
async fn visible(app: &Access) -> Result<Vec<DeadShardView>, ApiError> {
    let mut all: Vec<DeadShardView> = Vec::new();
    loop {
        let after = all.last().cloned();
        let slice = app.look(move |view| view.dead_letters(after.as_ref(), SLICE)).await?;
        let is_last = slice.len() < SLICE;
        all.extend(slice);
        if is_last {
            return Ok(all);
        }
    }
}

fn by_error_type(shards: &[DeadShardView]) -> Value {
    let named = shards.iter().flat_map(|shard| &shard.errors);
    let sums = sums(named.map(|(error, count)| (&**error, *count)));
    let mut largest: Vec<(&str, u64)> = sums.into_iter().collect();
    largest.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest: u64 = largest.iter().skip(MAX_ERROR_TYPES).map(|(_, count)| count).sum();
    let other = rest + shards.iter().map(|shard| shard.other).sum::<u64>();
    largest.truncate(MAX_ERROR_TYPES);
    let mut counts: Map<String, Value> =
        largest.into_iter().map(|(error, count)| (error.to_owned(), json!(count))).collect();
    if other > 0 {
        let named = counts.get(OTHER).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(OTHER.to_owned(), json!(named + other));
    }
    counts.into()
}

fn sums<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> BTreeMap<&'a str, u64> {
    let mut sums = BTreeMap::new();
    counts.for_each(|(name, count)| *sums.entry(name).or_default() += count);
    sums
}
