//! `rota demo regions`: three regions, of which one is killed and comes back.

mod load;
mod picture;
mod stage;
mod summary;
mod tally;

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use tempfile::TempDir;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::stage::Stage;
use crate::Failure;
use crate::commands::job_options::duration_ms;
use crate::output::{CLEAR, Room, print, print_json, screen};
use crate::signals::Signals;

const EXAMPLES: &str = "\
Examples:
  rota demo regions                            20 seconds, drawn live; Ctrl-C ends it earlier
  rota demo regions --duration 1m
  rota demo regions --json                     the numbers only, for scripts

Three servers are three regions, and a client enqueues jobs in them: most may run anywhere, some must
run in a certain region. After a quarter of the time the local region is killed, and at five eighths it
comes back.";

const REDRAWN_EVERY: Duration = Duration::from_millis(250);

/// Three regions: one is killed, jobs go on elsewhere, and it comes back
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Regions {
    /// Duration of the demo
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = duration)]
    duration: Duration,
}

impl Regions {
    pub async fn run(self, json: bool) -> Result<(), Failure> {
        let mut signals = Signals::listen()?;
        let data = TempDir::with_prefix("rota-demo-").map_err(|error| {
            Failure::error(format!("there is no temporary directory: {error}"))
                .hint("Say with TMPDIR where the data of the demo may lie meanwhile.")
        })?;
        let mut stage = tokio::select! {
            stage = Stage::start(data.path()) => stage?,
            () = signals.next() => {
                return Err(Failure::error("the demo was stopped before its servers had started"));
            }
        };
        let live = !json && std::io::stdout().is_terminal();
        let lasted = self.watch(live, &mut stage, &mut signals).await;
        // Always stop the servers; their data is removed once they no longer write to it.
        stage.end().await;
        let removed = data.close();
        let lasted = lasted?;
        removed.map_err(|error| Failure::error(format!("the data cannot be removed: {error}")))?;
        let tally = stage.tally();
        match json {
            true => print_json(&summary::json(lasted, &tally)),
            false => print(&summary::text(lasted, &tally)),
        }
    }

    /// Runs until the time is up or the user stops it; returns the elapsed time.
    async fn watch(
        &self,
        live: bool,
        stage: &mut Stage,
        signals: &mut Signals,
    ) -> Result<Duration, Failure> {
        if live {
            print(CLEAR)?;
        }
        let began = Instant::now();
        let mut ticks = interval(REDRAWN_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let stopped = tokio::select! {
                () = signals.next() => true,
                _ = ticks.tick() => false,
            };
            let passed = began.elapsed();
            stage.direct(passed, self.duration).await?;
            if live {
                let picture =
                    picture::picture(passed, self.duration, &stage.tally(), &stage.regions());
                print(&screen(&picture::fitted(&picture, Room::now())))?;
            }
            if stopped || passed >= self.duration {
                return Ok(passed);
            }
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let ms = duration_ms(text)?;
    if !(5_000..=600_000).contains(&ms) {
        return Err("must be from 5s to 10m".into());
    }
    Ok(Duration::from_millis(ms))
}
