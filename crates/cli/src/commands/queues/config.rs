//! `rota queues config`: shows or changes a queue's configuration.

use clap::Args;
use rota_client::{Client, ConfiguredQueue, QueueConfig, Setting};
use serde_json::{Value, json};

use crate::Failure;
use crate::commands::named;
use crate::commands::number::{at_least, ratio};
use crate::commands::setting::count;
use crate::commands::size::size;
use crate::output::{Table, grouped, percent, print, print_json};

const EXAMPLES: &str = "\
Examples:
  rota queues config email                     what is configured
  rota queues config email --max-depth 100000 --backpressure drop-oldest
  rota queues config email --max-size-bytes 512mb --warning-threshold 0.8
  rota queues config email --max-depth-per-tenant 1000
  rota queues config email --concurrency 20    jobs of it at once; `none` takes that away

What is not said stays as it is.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Config {
    #[arg(value_name = "QUEUE", value_parser = named)]
    name: String,

    /// Maximum waiting jobs; 0 means unlimited
    #[arg(long, value_name = "N", value_parser = at_least(0_u64))]
    max_depth: Option<u64>,

    /// Maximum size of the waiting jobs, such as 512mb; 0 means unlimited
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size_bytes: Option<u64>,

    /// Maximum waiting jobs of each tenant; 0 means unlimited
    #[arg(long, value_name = "N", value_parser = at_least(0_u64))]
    max_depth_per_tenant: Option<u64>,

    /// Maximum size of each tenant's waiting jobs, such as 64mb; 0 means unlimited
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size_bytes_per_tenant: Option<u64>,

    /// What to do with a new job when the queue is full
    #[arg(long, value_parser = ["reject", "block", "drop-oldest"])]
    backpressure: Option<String>,

    /// Fraction of the bound at which warnings start, from 0 to 1
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    warning_threshold: Option<f64>,

    /// Maximum active jobs, or none
    #[arg(long, value_name = "N", value_parser = count)]
    concurrency: Option<Setting<u64>>,
}

impl Config {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let current = client.queue_config(&self.name).await;
        let Some(change) = self.change() else {
            let queue = current?;
            return if json { print_json(&queue) } else { print(&describe(&queue)) };
        };
        // The server replaces the whole configuration, so send the other values along.
        let mut config = match current {
            Ok(queue) => queue.configuration.clone(),
            // The change creates the queue.
            Err(error) if error.is_not_found() => QueueConfig::new(),
            Err(error) => return Err(error.into()),
        };
        change.merge_into(&mut config);
        let queue = client.configure_queue(&self.name, &config).await?;
        if json { print_json(&queue) } else { print(&describe(&queue)) }
    }

    fn change(&self) -> Option<Change> {
        let fields = [
            ("max_depth", self.max_depth.map(|most| json!(most))),
            ("max_size_bytes", self.max_size_bytes.map(|most| json!(most))),
            ("strategy", self.backpressure.as_ref().map(|how| json!(how.replace('-', "_")))),
            ("warning_threshold", self.warning_threshold.map(|ratio| json!(ratio))),
        ];
        let per_tenant = [
            ("max_depth", self.max_depth_per_tenant.map(|most| json!(most))),
            ("max_size_bytes", self.max_size_bytes_per_tenant.map(|most| json!(most))),
        ];
        let change = Change {
            concurrency: self.concurrency.clone(),
            bounds: given(fields),
            per_tenant: given(per_tenant),
        };
        (change != Change::default()).then_some(change)
    }
}

/// Members of `backpressure` that may also stand beside it.
const BOUNDS: [&str; 6] =
    ["max_depth", "max_size", "max_size_bytes", "strategy", "warning_threshold", "per_tenant"];

#[derive(Default, PartialEq)]
struct Change {
    concurrency: Option<Setting<u64>>,
    bounds: Vec<(&'static str, Value)>,
    per_tenant: Vec<(&'static str, Value)>,
}

fn given<const N: usize>(fields: [(&'static str, Option<Value>); N]) -> Vec<(&'static str, Value)> {
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

impl Change {
    fn merge_into(self, config: &mut QueueConfig) {
        match self.concurrency {
            Some(Setting::To(most)) => drop(config.insert("concurrency".into(), json!(most))),
            Some(Setting::Unset) => drop(config.remove("concurrency")),
            None => {}
        }
        // The server shows bounds in both places, and takes them in one.
        let nested = config.get("backpressure").is_some_and(|bounds| !bounds.is_null());
        config.retain(|name, value| !(value.is_null() || nested && BOUNDS.contains(&&**name)));
        if !self.bounds.is_empty() || !self.per_tenant.is_empty() {
            let bounds = config.entry("backpressure").or_insert_with(|| json!({}));
            put(bounds, self.bounds);
            if !self.per_tenant.is_empty() {
                put(&mut bounds["per_tenant"], self.per_tenant);
            }
        }
    }
}

fn put(bounds: &mut Value, given: Vec<(&'static str, Value)>) {
    for (name, value) in given {
        if let (Some(bounds), "max_depth") = (bounds.as_object_mut(), name) {
            // The same under another name.
            bounds.remove("max_size");
        }
        bounds[name] = value;
    }
}

fn describe(queue: &ConfiguredQueue) -> String {
    let config = &queue.configuration;
    let bounds = config.get("backpressure").unwrap_or(&Value::Null);
    let number = |value: &Value| value.as_u64().filter(|most| *most > 0).map(grouped);
    let depth = |bounds: &Value| {
        number(if bounds["max_depth"].is_null() {
            &bounds["max_size"]
        } else {
            &bounds["max_depth"]
        })
    };
    let of_each = &bounds["per_tenant"];
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let mut table = Table::of_fields();
    table.field("queue", &queue.name);
    table.field("concurrency", or_none(config.get("concurrency").and_then(number)));
    table.field("max depth", or_none(depth(bounds)));
    table.field("max bytes", or_none(number(&bounds["max_size_bytes"])));
    table.field("depth per tenant", or_none(depth(of_each)));
    table.field("bytes per tenant", or_none(number(&of_each["max_size_bytes"])));
    table.field_if("when full", bounds["strategy"].as_str().map(|how| how.replace('_', "-")));
    table.field_if("warning from", bounds["warning_threshold"].as_f64().map(percent));
    for ended in ["completed", "cancelled", "discarded"] {
        let kept = config.get("retention").and_then(|retention| retention[ended].as_str());
        table.field_if(&format!("{ended} kept"), kept.map(crate::commands::rate::short));
    }
    table.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays() {
        let config = json!({
            "concurrency": 20, "retention": {"completed": "P1D"}, "rate_limit": null,
            "backpressure": {"max_size": 5, "strategy": "block"},
        });
        let mut config = config.as_object().unwrap().clone();
        let bounds = vec![("max_depth", json!(9))];
        let concurrency = Some(Setting::Unset);
        Change { concurrency, bounds, per_tenant: vec![] }.merge_into(&mut config);
        let expected = json!({
            "retention": {"completed": "P1D"},
            "backpressure": {"max_depth": 9, "strategy": "block"},
        });
        assert_eq!(Value::Object(config), expected);
    }
}
