//! The progress line of `rota bench`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rota_bench::{BenchError, Progress};

/// A line on the terminal that shows what is being measured; nothing without a terminal.
pub(super) struct Bar {
    bar: ProgressBar,
    /// Clears the line.
    stop: Arc<AtomicBool>,
}

impl Bar {
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg:40} {bar:30} {percent:>3}%")
            .expect("the template is sound");
        let bar = ProgressBar::new(1000).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, stop }
    }

    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn show(&self, name: &str, part: f64, rate: f64) -> Result<(), BenchError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BenchError::Stopped);
        }
        let text = if rate > 0.0 { format!("{name}  {rate:.0}/s") } else { name.to_owned() };
        self.bar.set_message(text);
        self.bar.set_position((part * 1000.0) as u64);
        Ok(())
    }
}
