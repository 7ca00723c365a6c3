//! Sets limits, and warns about limits that this lifts.

use rota_client::{Client, Error, Limited, NewRateLimit, RateLimit, WithJson};

use super::show::{concurrency_limit, rate_limit, throttle};
use crate::output::{printable, remark};

/// An override replaces all numbers of a key, which is easy to overlook.
pub(crate) async fn set(
    client: &Client,
    what: Limited<'_>,
    limit: &NewRateLimit,
    as_json: bool,
) -> Result<WithJson<RateLimit>, Error> {
    if limit.expires_in.is_none() || as_json {
        return client.set_rate_limit(what, limit).await;
    }
    let before = match client.rate_limit(what).await {
        Ok(before) => Some(before),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let after = client.set_rate_limit(what, limit).await?;
    let lifted = before.map(|before| lifted(&before, &after, limit)).unwrap_or_default();
    if !lifted.is_empty() {
        let lifted = lifted.join(", ");
        remark(&printable(&format!("warning: not named, so lifted while this lasts: {lifted}")));
    }
    Ok(after)
}

/// `rate 100/1m` for each number that applied before, no longer does, and was not named.
fn lifted(before: &RateLimit, after: &RateLimit, said: &NewRateLimit) -> Vec<String> {
    let numbers =
        |limit: &RateLimit| [concurrency_limit(limit), rate_limit(limit), throttle(limit)];
    let names = [
        ("concurrency", said.concurrency.is_some()),
        ("rate", said.rate.is_some()),
        ("throttle", said.throttle.is_some()),
    ];
    let all = names.into_iter().zip(numbers(before)).zip(numbers(after));
    let gone = all.filter_map(|(((name, named), before), after)| {
        let number = before.filter(|_| !named && after.is_none())?;
        Some(format!("{name} {number}"))
    });
    gone.collect()
}
