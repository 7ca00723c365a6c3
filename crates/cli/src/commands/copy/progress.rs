//! Progress of a backup or restore.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rota_store_sqlite::Stage;

use crate::output::{grouped, remark};

/// Progress on standard error: a bar on a terminal, otherwise an occasional line.
pub(in crate::commands) struct Progress {
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
    pub(in crate::commands) fn new(quiet: bool) -> Self {
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

    pub(in crate::commands) fn tell(&mut self, stage: Stage) {
        match stage {
            Stage::Copying { done, total } => {
                self.bar.set_length(total);
                self.bar.set_position(done);
                if self.way == Way::Lines && self.last.elapsed() >= BETWEEN_LINES {
                    self.last = Instant::now();
                    remark(&self.line(done, total));
                }
            }
            Stage::Applying { index } => {
                self.bar.set_style(style(SPINNER));
                self.bar.set_message(format!("applying the log: record {}", grouped(index)));
                self.bar.tick();
                if self.way == Way::Lines && self.last.elapsed() >= BETWEEN_LINES {
                    self.last = Instant::now();
                    remark(&format!("applying the log: record {}", grouped(index)));
                }
            }
            Stage::Checking => {
                self.bar.set_style(style(SPINNER));
                self.bar.set_message("checking the copy");
                if self.way == Way::Lines && self.bar.elapsed() >= BETWEEN_LINES {
                    remark("checking the copy");
                }
                self.bar.reset_elapsed();
                self.bar.enable_steady_tick(Duration::from_millis(100));
            }
        }
    }

    pub(in crate::commands) fn end(self) {
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
