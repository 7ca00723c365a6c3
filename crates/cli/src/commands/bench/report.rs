//! Benchmark results as a table or as JSON.

use rota_bench::{Line, Options};
use serde_json::{Value, json};

use crate::output::{Table, grouped};

pub(super) fn json(options: &Options, lines: &[Line]) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "cores": cores(),
        "durability": options.durability,
        "connections": options.connections,
        "payload_bytes": options.payload,
        "batch": options.batch,
        "seconds_each": options.duration.as_secs_f64(),
        "results": lines,
    })
}

pub(super) fn text(options: &Options, lines: &[Line]) -> String {
    let mut table = Table::new(&["", "VALUE", "", "P50", "P99", "P99.9", "RATIO"])
        .numbers_in([1, 3, 4, 5])
        .hide_first([5, 3])
        .with_text();
    for line in lines {
        let time = |pick: fn(&rota_bench::Percentiles) -> f64| {
            line.times.as_ref().map(|times| milliseconds(pick(times))).unwrap_or_default()
        };
        let ratio = line.ratio.as_ref();
        table.row(vec![
            line.name.clone(),
            number(line.value),
            line.unit.into(),
            time(|times| times.p50_ms),
            time(|times| times.p99_ms),
            time(|times| times.p999_ms),
            ratio.map(|ratio| format!("{:.2} of {}", ratio.value, ratio.of)).unwrap_or_default(),
        ]);
    }
    let head = format!(
        "rota {} on {} cores, durability {}, {} connections, {}-byte payloads, batches of {}\n\n",
        env!("CARGO_PKG_VERSION"),
        cores(),
        options.durability,
        options.connections,
        options.payload,
        options.batch,
    );
    head + &table.finish()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Formats 1234567.8 as 1,234,568; small values keep two decimal places.
fn number(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.2}");
    }
    grouped(value.round() as u64)
}

fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms => format!("{ms:.1} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(number(0.125), "0.12");
        assert_eq!(number(999.6), "1,000");
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(milliseconds(1.234), "1.23 ms");
        assert_eq!(milliseconds(123.45), "123.5 ms");
    }
}
