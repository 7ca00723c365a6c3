//! `rota audit`: shows the audit log, and checks that nobody has changed it.

mod list;
mod verify;

use clap::{Args, Subcommand};

use crate::Failure;

const EXAMPLES: &str = "\
Examples:
  rota audit list                              who has done what, and who was refused
  rota audit list --outcome failure --since 1d
  rota audit verify                            whether an entry was changed or removed
  rota audit verify --data /var/lib/rota       the same without a server";

/// See who has done what, and check that the record was not changed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Audit {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List entries of the audit log, the newest first
    List(list::ListArgs),

    /// Check the hash of every entry
    Verify(verify::VerifyArgs),
}

impl Audit {
    pub async fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::List(arguments) => arguments.run().await,
            Action::Verify(arguments) => arguments.run().await,
        }
    }
}
