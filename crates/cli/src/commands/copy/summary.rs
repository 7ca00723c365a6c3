//! Summary of a backup or restore.

use indicatif::BinaryBytes;
use rota_model::State;
use rota_store_sqlite::Copied;
use rota_store_sqlite::check::Damage;
use serde_json::{Map, Value, json};

use crate::output::{Table, grouped, plural, remark};

/// The rows that describe a copy.
pub(in crate::commands) fn describe(copied: &Copied, table: &mut Table) {
    let census = &copied.report.census;
    let states = State::ALL.into_iter().filter(|state| census.of(*state) > 0);
    let states: Vec<String> =
        states.map(|state| format!("{} {state}", grouped(census.of(state)))).collect();
    let jobs = plural(census.total(), "job", "jobs");
    let jobs = if states.is_empty() { jobs } else { format!("{jobs}: {}", states.join(", ")) };
    table.field("jobs", jobs);
    table.field("size", BinaryBytes(copied.bytes).to_string());
    table.field("commit", copied.commit.to_string());
    table.field("format", copied.format.to_string());
}

pub(in crate::commands) fn json(copied: &Copied) -> Map<String, Value> {
    let census = &copied.report.census;
    let jobs: Map<String, Value> =
        State::ALL.into_iter().map(|state| (state.to_string(), json!(census.of(state)))).collect();
    let damage = |damage: &Damage| json!({"rule": damage.rule.code(), "count": damage.count, "what": damage.to_string()});
    let damages: Vec<Value> = copied.report.damages.iter().map(damage).collect();
    let mut members = Map::new();
    members.insert("bytes".into(), json!(copied.bytes));
    members.insert("commit".into(), json!(copied.commit));
    members.insert("format".into(), json!(copied.format));
    members.insert("jobs".into(), Value::Object(jobs));
    members.insert("damages".into(), json!(damages));
    members
}

/// Damage that was copied along with the data.
pub(in crate::commands) fn warn(copied: &Copied) {
    for damage in &copied.report.damages {
        remark(&format!("warning: the database has {damage}; `rota doctor` tells what to do"));
    }
}
