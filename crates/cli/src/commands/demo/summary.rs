//! The demo's summary, as text and as JSON.

use std::ops::Range;
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
    let both = |tenants: Range<usize>| (fair.figures(tenants.clone()), unfair.figures(tenants));
    let (quiet, flood, urgent) = (both(QUIET), both(FLOOD..FLOOD + 1), both(URGENT..URGENT + 1));
    let seconds = lasted.as_secs_f64();
    let most = plural(flood.0.enqueued.max(flood.1.enqueued), "job", "jobs");
    let done = [("quiet tenants", &quiet), ("flood", &flood), ("urgent", &urgent)]
        .map(|(who, (with, without))| format!("  {who:13}  {}\n", done(with, without)));
    format!(
        "{}\nIn {seconds:.0} seconds, beside a flood of {most}:\n{}\n{}",
        waits(&quiet.0, &quiet.1),
        done.concat(),
        recipe(),
    )
}

fn waits(with: &Figures, without: &Figures) -> String {
    format!(
        "\
Nine quiet tenants waited {} (median) with fairness, {} without;
the slowest in a hundred of their jobs {} with fairness, {} without.
Jobs that have not begun count with their waiting time so far.
",
        waited(with.median),
        waited(without.median),
        waited(with.p99),
        waited(without.p99),
    )
}

fn done(with: &Figures, without: &Figures) -> String {
    let done = |of: &Figures| format!("{} of {}", grouped(of.done), grouped(of.enqueued));
    format!("{} done with fairness, {} without", done(with), done(without))
}

fn recipe() -> String {
    format!(
        "\
With fairness, tenants are served in turn, and a priority counts among the jobs of its own tenant.
Without, jobs are served in order, the urgent first. Try it yourself:
  {} \\
    rota serve --listen 127.0.0.1:8080 --data fair-data
  {} \\
    rota serve --listen 127.0.0.1:8081 --data unfair-data
",
        variables(&FAIR),
        variables(&UNFAIR),
    )
}

fn waited(wait: Option<Wait>) -> String {
    match wait {
        Some(wait) if wait.is_over => wait.short(),
        Some(wait) => format!("more than {}", wait.short()),
        // The demo was stopped before the first job.
        None => "an unknown time".to_owned(),
    }
}

fn variables(setup: &Setup) -> String {
    let each = setup.settings.iter().map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(" ")
}
