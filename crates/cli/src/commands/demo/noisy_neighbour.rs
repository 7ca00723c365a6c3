//! `rota demo noisy-neighbour`: the same tenants on a fair and an unfair server.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use tempfile::TempDir;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::act::{Act, FAIR, UNFAIR};
use super::picture::picture;
use super::summary;
use crate::Failure;
use crate::commands::job_options::duration_ms;
use crate::output::{CLEAR, Room, print, print_json, screen};
use crate::signals::Signals;

const EXAMPLES: &str = "\
Examples:
  rota demo noisy-neighbour                    20 seconds, drawn live; Ctrl-C ends it earlier
  rota demo noisy-neighbour --duration 1m
  rota demo noisy-neighbour --json             the numbers only, for scripts

Two servers get the same tenants: nine quiet ones, one that floods, and one that marks everything
urgent. One server serves tenants in turn, the other serves jobs in order. Waiting times are those
from enqueueing to the start.";

const REDRAWN_EVERY: Duration = Duration::from_millis(250);

/// Quiet tenants next to a flood, with and without fairness
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct NoisyNeighbour {
    /// Duration of the demo
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = duration)]
    duration: Duration,
}

/// Both servers and their results.
struct Stage {
    fair: Act,
    unfair: Act,
}

impl NoisyNeighbour {
    pub async fn run(self, json: bool) -> Result<(), Failure> {
        let mut signals = Signals::listen()?;
        let data = TempDir::with_prefix("rota-demo-").map_err(|error| {
            Failure::error(format!("there is no temporary directory: {error}"))
                .hint("Say with TMPDIR where the data of the demo may lie meanwhile.")
        })?;
        let mut stage = Stage {
            fair: Act::begin(&FAIR, data.path())?,
            unfair: Act::begin(&UNFAIR, data.path())?,
        };
        let live = !json && std::io::stdout().is_terminal();
        let lasted = self.watch(live, &mut stage, &mut signals).await;
        // Always stop the servers; their data is removed once they no longer write to it.
        tokio::join!(stage.fair.end(), stage.unfair.end());
        let removed = data.close();
        let lasted = lasted?;
        removed.map_err(|error| Failure::error(format!("the data cannot be removed: {error}")))?;

        let (fair, unfair) = (stage.fair.tally(), stage.unfair.tally());
        match json {
            true => print_json(&summary::json(lasted, &fair, &unfair)),
            false => print(&summary::text(lasted, &fair, &unfair)),
        }
    }

    /// Runs until the time is up or the user stops it; returns the elapsed time.
    async fn watch(
        &self,
        live: bool,
        stage: &mut Stage,
        signals: &mut Signals,
    ) -> Result<Duration, Failure> {
        tokio::select! {
            started = stage.start() => started?,
            () = signals.next() => {
                return Err(Failure::error("the demo was stopped before its servers had started"));
            }
        }
        if live {
            print(CLEAR)?;
        }
        let began = Instant::now();
        let mut ticks = interval(REDRAWN_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let ended = tokio::select! {
                () = sleep_until(began + self.duration) => true,
                () = signals.next() => true,
                failure = stage.fair.failure() => return Err(failure),
                failure = stage.unfair.failure() => return Err(failure),
                _ = ticks.tick() => false,
            };
            let passed = began.elapsed();
            if live {
                let (fair, unfair) = (stage.fair.tally(), stage.unfair.tally());
                let picture = picture(passed, self.duration, &fair, &unfair, Room::now());
                print(&screen(&picture))?;
            }
            if ended {
                return Ok(passed);
            }
        }
    }
}

impl Stage {
    /// Starts both at the same moment, when both are ready.
    async fn start(&mut self) -> Result<(), Failure> {
        let (fair, unfair) = tokio::try_join!(self.fair.ready(), self.unfair.ready())?;
        self.fair.start(&fair)?;
        self.unfair.start(&unfair)?;
        Ok(())
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let ms = duration_ms(text)?;
    if !(1_000..=600_000).contains(&ms) {
        return Err("must be from 1s to 10m".into());
    }
    Ok(Duration::from_millis(ms))
}
