//! `rota completions`: prints a completion script for a shell.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::output::print;
use crate::{Failure, arguments};

const EXAMPLES: &str = "\
Examples:
  rota completions bash > /etc/bash_completion.d/rota
  rota completions zsh > \"${fpath[1]}/_rota\"
  rota completions fish > ~/.config/fish/completions/rota.fish
  source <(rota completions bash)          for this shell only";

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        generate(self.shell, &mut arguments::command(), "rota", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
