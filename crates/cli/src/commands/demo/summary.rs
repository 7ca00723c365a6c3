//! What was seen, in words and for programs.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::act::{FAIR, Setup, UNFAIR};
use super::figures::{Figures, Wait};
use super::tally::{FLOOD, NAMES, QUIET, Tally, URGENT};
use crate::output::{grouped, plural};

pub(super) fn json(lasted: Duration, fair: &Tally, unfair: &Tally) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "seconds": lasted.as_secs_f64(),
        "with_fairness": side(&FAIR, fair),
        "without_fairness": side(&UNFAIR, unfair),
    })
}

fn side(setup: &Setup, tally: &Tally) -> Value {
    let settings = setup.settings.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
    let tenants = NAMES.iter().enumerate().map(|(tenant, name)| {
        let mut figures = tally.figures(tenant..tenant + 1).json();
        figures["tenant"] = json!(name);
        figures
    });
    json!({
        "settings": settings.collect::<Map<_, _>>(),
        "quiet": tally.figures(QUIET).json(),
        "tenants": tenants.collect::<Vec<_>>(),
    })
}

pub(super) fn text(lasted: Duration, fair: &Tally, unfair: &Tally) -> String {
    let both =
        |tenants: std::ops::Range<usize>| (fair.figures(tenants.clone()), unfair.figures(tenants));
    let (quiet, quiet_without) = both(QUIET);
    let (flood, flood_without) = both(FLOOD..FLOOD + 1);
    let (urgent, urgent_without) = both(URGENT..URGENT + 1);
    let (median, p99) = (|of: &Figures| waited(of.median), |of: &Figures| waited(of.p99));
    format!(
        "\
Nine quiet tenants waited {} (median) with fairness, {} without;
one job in a hundred waited {} or longer with fairness, {} without.

In {:.0} seconds, beside a flood of {}:
  quiet tenants  {} of {} done with fairness, {} of {} without
  flood          {} done with fairness, {} without
  urgent         {} done with fairness, {} without
Jobs that have not begun count with their waiting time so far.

With fairness, tenants are served in turn, and a priority counts among the jobs of its own tenant.
Without, jobs are served in order, the urgent first. Try it yourself:
  {} \\
    rota serve --listen 127.0.0.1:8080 --data fair-data
  {} \\
    rota serve --listen 127.0.0.1:8081 --data unfair-data
",
        median(&quiet),
        median(&quiet_without),
        p99(&quiet),
        p99(&quiet_without),
        lasted.as_secs_f64(),
        plural(flood.enqueued.max(flood_without.enqueued), "job", "jobs"),
        grouped(quiet.done),
        grouped(quiet.enqueued),
        grouped(quiet_without.done),
        grouped(quiet_without.enqueued),
        grouped(flood.done),
        grouped(flood_without.done),
        grouped(urgent.done),
        grouped(urgent_without.done),
        variables(&FAIR),
        variables(&UNFAIR),
    )
}

fn waited(wait: Option<Wait>) -> String {
    match wait {
        Some(wait) if wait.is_over => wait.short(),
        Some(wait) => format!("more than {}", wait.short()),
        None => "not at all".to_owned(),
    }
}

fn variables(setup: &Setup) -> String {
    let each = setup.settings.iter().map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(" ")
}
