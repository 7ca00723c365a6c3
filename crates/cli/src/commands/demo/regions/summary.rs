//! The summary, as text and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::tally::{IDS, Tally};
use crate::output::{grouped, plural};

pub(super) fn json(lasted: Duration, tally: &Tally) -> Value {
    let seconds = |at: Option<Duration>| at.map(|at| at.as_secs_f64());
    let regions = IDS.iter().zip(&tally.by_region).map(|(id, region)| {
        json!({
            "region": id, "any_region": region.free, "pinned": region.pinned, "done": region.done,
        })
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "seconds": lasted.as_secs_f64(),
        "killed_after_seconds": seconds(tally.killed),
        "back_after_seconds": seconds(tally.back),
        "regions": regions.collect::<Vec<_>>(),
        "enqueued": tally.enqueued(),
        "not_taken": tally.not_taken,
        "pins_refused": tally.pins_refused,
        "last_refusal": tally.last_refusal,
        "failovers": tally.failovers,
        "duplicates_found": tally.duplicates,
        "not_run": tally.waiting(),
        "run_twice": tally.twice(),
    })
}

pub(super) fn text(lasted: Duration, tally: &Tally) -> String {
    let mut out = format!(
        "In {:.0} seconds, {} went to three regions:\n",
        lasted.as_secs_f64(),
        plural(tally.enqueued(), "job", "jobs"),
    );
    for (id, region) in IDS.iter().zip(&tally.by_region) {
        out.push_str(&format!(
            "  {id:<11}  {} for any region, {} for this one, {} done\n",
            grouped(region.free),
            grouped(region.pinned),
            grouped(region.done),
        ));
    }
    if let Some(killed) = tally.killed {
        out.push_str(&format!("\n{} was killed after {:.0}s", IDS[0], killed.as_secs_f64()));
        match tally.back {
            Some(back) => {
                out.push_str(&format!(" and came back after {:.0}s.\n", back.as_secs_f64()))
            }
            None => out.push_str(" and did not come back.\n"),
        }
        out.push_str(&format!(
            "Meanwhile jobs for any region went to {}; {}.\n",
            IDS[1],
            match tally.not_taken {
                0 => "all of them were taken".to_owned(),
                some => format!("{} were not taken", grouped(some)),
            },
        ));
    }
    if let Some(reason) = &tally.last_refusal {
        let refused = plural(tally.pins_refused, "job", "jobs");
        out.push_str(&format!(
            "{refused} for {} went nowhere else, and were refused:\n  {reason}\n",
            IDS[0]
        ));
    }
    out.push_str(&format!(
        "\nOf all jobs that were enqueued, {} had not run yet, and {} ran twice.\n",
        tally.waiting(),
        tally.twice(),
    ));
    if tally.waiting() > 0 && tally.killed.is_some() {
        out.push_str(
            "A job that was on its way to a worker when its region was killed runs later.\n",
        );
    }
    out.push_str("docs/federation.md explains how regions are chosen.\n");
    out
}
