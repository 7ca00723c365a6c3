//! Confirmation before a large change.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;

use crate::Failure;

#[derive(Debug, Args)]
pub(crate) struct Confirm {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl Confirm {
    /// Succeeds if `--yes` was given or the user agrees; `what` completes "This would ...".
    pub fn ask(&self, what: &str) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return Err(Failure::usage(format!("this would {what}"))
                .hint("Repeat it with --yes to do it. Nothing was changed."));
        }
        let _ = write!(std::io::stderr(), "This will {what}. Go on? [y/N] ");
        let mut answer = String::new();
        let read = stdin.lock().read_line(&mut answer);
        match read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
            true => Ok(()),
            false => Err(Failure::usage("nothing was changed")),
        }
    }
}

/// The failure of a deletion. If unfinished jobs are the reason, the hint names the flag instead of the
/// query parameter that the server suggests.
pub(super) fn keeps_jobs(error: rota_client::Error, thing: &str) -> Failure {
    let busy = error.refusal().is_some_and(|refusal| refusal.details.contains_key("live_jobs"));
    match busy {
        true => Failure::from(error).hint(format!(
            "Wait until they have ended, or delete the {thing} with its jobs with --purge."
        )),
        false => error.into(),
    }
}
