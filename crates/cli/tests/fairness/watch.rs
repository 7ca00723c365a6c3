//! What a server tells about itself: events, metrics and times.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{fetch, list};
use crate::shorthand::{eventually, millis, text};
use crate::support::Server;

/// All events of one type, from the first on.
#[track_caller]
pub fn events(server: &Server, kind: &str) -> Vec<Value> {
    events_where(server, &format!("types={kind}"))
}

#[track_caller]
pub fn events_where(server: &Server, query: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/ojs/v1/events?limit=1000&{query}{after}")).expect(200);
        all.extend(list(&page["events"]));
        if page["has_more"] != true {
            return all;
        }
        after = format!("&after={}", text(&page["cursor"]));
    }
}

/// Those of one type whose data has this member.
#[track_caller]
pub fn events_with(server: &Server, kind: &str, name: &str, value: &str) -> Vec<Value> {
    let mut all = events(server, kind);
    all.retain(|event| event["data"][name] == value);
    all
}

/// The data of the first such event, which may take its time.
#[track_caller]
pub fn await_event(server: &Server, kind: &str, name: &str, value: &str) -> Value {
    let what = format!("{kind} with {name} {value}");
    let event = eventually(&what, || events_with(server, kind, name, value).into_iter().next());
    assert_eq!((&event["specversion"], &event["type"]), (&json!("1.0"), &json!(kind)));
    event["data"].clone()
}

/// The sum of a metric's samples that have all these labels; `None` when there is no such sample.
pub fn metric(server: &Server, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let body = server.get("/metrics").text;
    let mut found = None;
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let (metric, rest) = series.split_once('{').unwrap_or((series, ""));
        let has = |(label, value): &(&str, &str)| rest.contains(&format!("{label}=\"{value}\""));
        if metric == name && labels.iter().all(has) {
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("not a number: {line}"));
            *found.get_or_insert(0.0) += value;
        }
    }
    found
}

/// Asks until the metric has this value.
#[track_caller]
pub fn await_metric(server: &Server, name: &str, labels: &[(&str, &str)], expected: f64) {
    let what = format!("{name}{labels:?} is {expected}");
    eventually(&what, || (metric(server, name, labels) == Some(expected)).then_some(()));
}

/// When the jobs began, by the server's clock, in order.
pub fn starts(jobs: &[Value]) -> Vec<i64> {
    let mut starts: Vec<i64> = jobs.iter().map(|job| millis(&job["started_at"])).collect();
    starts.sort_unstable();
    starts
}

/// In no window of this length did more than `limit` begin.
#[track_caller]
pub fn assert_window(jobs: &[Value], limit: usize, period_ms: i64) {
    let starts = starts(jobs);
    for pair in starts.windows(limit + 1) {
        // The stamps are cut to the millisecond.
        assert!(pair[limit] - pair[0] >= period_ms - 1, "more than {limit}: {starts:?}");
    }
}

/// Fetches single jobs until there were so many; each fetch waits a little.
#[track_caller]
pub fn fetch_patiently(server: &Server, queue: &str, count: usize) -> Vec<Value> {
    let mut jobs = Vec::new();
    eventually("all jobs came", || {
        jobs.extend(fetch(server, json!({"queues": [queue], "count": 50, "wait_ms": 500})));
        (jobs.len() >= count).then_some(())
    });
    assert_eq!(jobs.len(), count);
    jobs
}

/// A time so many milliseconds from now, as requests have it.
pub fn from_now(ms: i64) -> String {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(ms);
    format!("{at:.3}")
}

pub fn nap(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}
