//! What `backup` and `restore` have in common: how a copy is shown, and why it fails.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rota_model::State;
use rota_store_sqlite::{Copied, CopyError, OpenError, Stage};
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::output::{Table, plural, remark};

/// How far a copy is, on standard error: a bar for people who watch, a line now and then for logs.
pub(super) struct Progress {
    way: Way,
    bar: ProgressBar,
    last: Instant,
}

#[derive(PartialEq, Eq)]
enum Way {
    Bar,
    Lines,
    Silent,
}

const BETWEEN_LINES: Duration = Duration::from_secs(10);
const BAR: &str = "{msg}  {percent:>3}%  {bar:30}  {binary_bytes_per_sec}  {eta} left";
const SPINNER: &str = "{spinner} {msg}  {elapsed}";

impl Progress {
    pub(super) fn new(quiet: bool) -> Self {
        let way = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Way::Silent,
            (false, true) => Way::Bar,
            (false, false) => Way::Lines,
        };
        let target = match way {
            Way::Bar => ProgressDrawTarget::stderr(),
            Way::Lines | Way::Silent => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target).with_message("copying");
        bar.set_style(style(BAR));
        Self { way, bar, last: Instant::now() }
    }

    pub(super) fn tell(&mut self, stage: Stage) {
        match stage {
            Stage::Copying { done, total } => {
                self.bar.set_length(total);
                self.bar.set_position(done);
                if self.way == Way::Lines && self.last.elapsed() >= BETWEEN_LINES {
                    self.last = Instant::now();
                    remark(&self.line(done, total));
                }
            }
            Stage::Checking => {
                self.bar.set_style(style(SPINNER));
                self.bar.set_message("checking the copy");
                self.bar.reset_elapsed();
                self.bar.enable_steady_tick(Duration::from_millis(100));
            }
        }
    }

    pub(super) fn end(self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, done: u64, total: u64) -> String {
        let percent = done * 100 / total.max(1);
        let rate = BinaryBytes(self.bar.per_sec() as u64);
        format!(
            "copying: {percent} % of {}, {rate}/s, {}s left",
            BinaryBytes(total),
            self.bar.eta().as_secs()
        )
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The rows that describe a copy.
pub(super) fn describe(copied: &Copied, table: &mut Table) {
    let census = &copied.report.census;
    let states = State::ALL.into_iter().filter(|state| census.of(*state) > 0);
    let states: Vec<String> = states.map(|state| format!("{} {state}", census.of(state))).collect();
    let jobs = plural(census.total(), "job", "jobs");
    let jobs = if states.is_empty() { jobs } else { format!("{jobs}: {}", states.join(", ")) };
    table.field("jobs", jobs);
    table.field("size", BinaryBytes(copied.bytes).to_string());
    table.field("commit", copied.commit.to_string());
    table.field("format", copied.format.to_string());
}

pub(super) fn json(copied: &Copied) -> Map<String, Value> {
    let census = &copied.report.census;
    let jobs: Map<String, Value> =
        State::ALL.into_iter().map(|state| (state.to_string(), json!(census.of(state)))).collect();
    let damages: Vec<Value> = copied.report.damages.iter().map(|damage| {
        json!({"rule": damage.rule.code(), "count": damage.count, "what": damage.to_string()})
    }).collect();
    let mut members = Map::new();
    members.insert("bytes".into(), json!(copied.bytes));
    members.insert("commit".into(), json!(copied.commit));
    members.insert("format".into(), json!(copied.format));
    members.insert("jobs".into(), Value::Object(jobs));
    members.insert("damages".into(), json!(damages));
    members
}

/// Damage that was copied faithfully.
pub(super) fn warn(copied: &Copied) {
    for damage in &copied.report.damages {
        remark(&format!("warning: the database has {damage}; `rota doctor` tells what to do"));
    }
}

pub(super) fn failure(error: CopyError) -> Failure {
    let hint = match &error {
        CopyError::Open(OpenError::Corrupt { path, cause }) => {
            return Failure::error(format!("{} is not a Rota database: {cause}", path.display()));
        }
        CopyError::Open(_) | CopyError::Failed { .. } => None,
        CopyError::Exists { .. } => None,
        CopyError::Own { .. } => Some("Choose a file outside of the data directory."),
        CopyError::Beside { .. } => Some("Move it away, or choose another name."),
        CopyError::Busy { .. } => Some("Wait for the other one to end, or choose another name."),
        CopyError::InUse { .. } => Some("Close that program first; nothing was changed."),
        CopyError::NoRoom { .. } => Some("Free some space, or choose another disk."),
        CopyError::Crowded { .. } => {
            Some("Free some space there, or try again when the server has less to do.")
        }
        CopyError::Damaged { .. } => Some(
            "Nothing was kept of it and nothing was changed. Look at the original with `rota doctor`.",
        ),
    };
    let failure = Failure::error(error.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
