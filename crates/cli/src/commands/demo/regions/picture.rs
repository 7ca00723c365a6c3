//! The live view: the regions, and what happened last.

use std::time::Duration;

use rota_client::federation::RegionStatus;

use super::tally::{IDS, Tally};
use crate::output::{Room, cut, grouped};

pub(super) fn picture(
    passed: Duration,
    of: Duration,
    tally: &Tally,
    regions: &[RegionStatus],
) -> String {
    let mut out = format!(
        "Three regions; {} is the local one: {} of {}s\n\n{}\n",
        IDS[0],
        passed.as_secs(),
        of.as_secs_f64(),
        row("REGION", &["HEALTH", "CIRCUIT", "ANY", "PINNED", "DONE"]),
    );
    for ((id, counted), status) in IDS.iter().zip(&tally.by_region).zip(regions) {
        let health = if status.healthy { "healthy" } else { "away" };
        let (free, pinned) = (grouped(counted.free), grouped(counted.pinned));
        let done = grouped(counted.done);
        out.push_str(&row(id, &[health, status.circuit.as_str(), &free, &pinned, &done]));
        out.push('\n');
    }
    out.push_str(&format!(
        "\nJobs for any region that were not taken: {}. Jobs for {} that were refused: {}.\n",
        tally.not_taken, IDS[0], tally.pins_refused,
    ));
    if let Some(reason) = &tally.last_refusal {
        out.push_str(&format!("  {reason}\n"));
    }
    out.push('\n');
    for (at, note) in tally.last_notes() {
        out.push_str(&format!("{:5.1}s  {note}\n", at.as_secs_f64()));
    }
    out
}

fn row(name: &str, cells: &[&str; 5]) -> String {
    let [health, circuit, free, pinned, done] = cells;
    format!("{name:<11}  {health:<8} {circuit:<10} {free:>7} {pinned:>7} {done:>7}")
}

/// As much as the terminal has room for.
pub(super) fn fitted(picture: &str, room: Room) -> String {
    let lines = picture.lines().take(room.lines);
    lines.map(|line| cut(line, room.columns) + "\n").collect()
}
