//! `rota demo`: shows in a terminal what the server does.

mod act;
mod figures;
mod load;
mod noisy_neighbour;
mod picture;
mod regions;
mod server;
mod summary;
mod tally;

use clap::{Args, Subcommand};

use self::noisy_neighbour::NoisyNeighbour;
use self::regions::Regions;
use crate::Failure;

const EXAMPLES: &str = "\
Examples:
  rota demo noisy-neighbour                    what fairness does for quiet tenants
  rota demo regions                            three regions, of which one fails and comes back

A demo starts servers of its own, with their data in a temporary directory, and removes both when it
ends. Nothing need be running, and nothing that runs is touched.";

/// Show in a terminal what the server does
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    #[command(subcommand)]
    what: What,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    NoisyNeighbour(NoisyNeighbour),
    Regions(Regions),
}

impl Demo {
    pub fn run(self) -> Result<(), Failure> {
        // Several threads, so that one tenant's batch does not delay the others here.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|e| Failure::error(format!("the runtime cannot be started: {e}")))?;
        match self.what {
            What::NoisyNeighbour(demo) => runtime.block_on(demo.run(self.json)),
            What::Regions(demo) => runtime.block_on(demo.run(self.json)),
        }
    }
}
