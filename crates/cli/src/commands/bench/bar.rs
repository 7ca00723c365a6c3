use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rota_bench::Progress;

/// A line on the terminal that says what is being measured; nothing where there is no terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg:40} {bar:30} {percent:>3}%")
            .expect("the template is sound");
        let bar = ProgressBar::new(1000).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn show(&self, name: &str, part: f64, rate: f64) {
        let text = if rate > 0.0 { format!("{name}  {rate:.0}/s") } else { name.to_owned() };
        self.0.set_message(text);
        self.0.set_position((part * 1000.0) as u64);
    }
}
