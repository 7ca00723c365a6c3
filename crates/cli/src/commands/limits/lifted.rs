//! Setting limits, with a warning of those that are lifted by it.

use rota_client::{Client, Error, Kept, Limited, NewRateLimit, RateLimit};

use super::show::{concurrency_limit, rate_limit, throttle};
use crate::output::{printable, remark};

/// An override replaces all numbers of a key, which is easily overlooked.
pub(crate) async fn set(
    client: &Client,
    what: Limited<'_>,
    limit: &NewRateLimit,
    as_json: bool,
) -> Result<Kept<RateLimit>, Error> {
    if limit.expires_in.is_none() || as_json {
        return client.set_rate_limit(what, limit).await;
    }
    let before = match client.rate_limit(what).await {
        Ok(before) => Some(before),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let after = client.set_rate_limit(what, limit).await?;
    let lifted = before.map(|before| lifted(&before, &after)).unwrap_or_default();
    if !lifted.is_empty() {
        remark(&printable(&format!(
            "warning: lifted for so long, because it is not named: {}",
            lifted.join(", ")
        )));
    }
    Ok(after)
}

/// `rate 100/1m`, for each number that held before and does not any more.
fn lifted(before: &RateLimit, after: &RateLimit) -> Vec<String> {
    let numbers = |limit: &RateLimit| {
        [
            ("concurrency", concurrency_limit(limit)),
            ("rate", rate_limit(limit)),
            ("throttle", throttle(limit)),
        ]
    };
    let both = numbers(before).into_iter().zip(numbers(after));
    let gone = both.filter_map(|((name, before), (_, after))| match after {
        None => before.map(|before| format!("{name} {before}")),
        Some(_) => None,
    });
    gone.collect()
}
