//! `rota restore`: replaces the database with a backup.

use std::path::{Path, PathBuf};

use clap::Args;
use rota_storage::restore;
use rota_store_sqlite::{CopyError, OpenError, Restored};
use serde_json::json;

use super::copy::{self, Progress};
use crate::Failure;
use crate::local::Local;
use crate::output::{Table, print, print_json};

const EXAMPLES: &str = "\
Examples:
  rota restore /backup/rota.db --data /var/lib/rota             into an empty directory
  rota restore /backup/rota.db --data /var/lib/rota --replace   the old database is kept

Stop the server first. The backup is copied and checked before anything is changed, and then takes
its place in one step: whatever happens, either the old or the new database is there, whole.";

/// Restore a backup; the server must be stopped
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The backup file
    file: PathBuf,

    /// Replace an existing database, which is renamed and not deleted
    #[arg(long)]
    replace: bool,

    /// Print nothing unless there is a problem
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    local: Local,
}

impl Restore {
    pub fn run(self) -> Result<(), Failure> {
        let dir = self.local.settings()?.data;
        let mut progress = Progress::new(self.quiet);
        let outcome = restore(&self.file, &dir, self.replace, &mut |stage| progress.tell(stage));
        progress.end();
        let restored = outcome.map_err(failure)?;
        copy::warn(&restored.copied);
        self.show(&restored, &dir)
    }

    fn show(&self, restored: &Restored, dir: &Path) -> Result<(), Failure> {
        if self.local.json {
            let mut members = copy::json(&restored.copied);
            members.insert("file".into(), json!(self.file));
            members.insert("data".into(), json!(dir));
            members.insert("set_aside".into(), json!(restored.replaced_files));
            return print_json(&members);
        }
        if self.quiet {
            return Ok(());
        }
        let mut table = Table::of_fields();
        table.field("restored", self.file.display().to_string());
        table.field("data", dir.display().to_string());
        copy::describe(&restored.copied, &mut table);
        for path in &restored.replaced_files {
            table.field("set aside", path.display().to_string());
        }
        print(&format!("{}\n{}", table.take(), next(restored, dir)))
    }
}

fn next(restored: &Restored, dir: &Path) -> String {
    let mut text = format!(
        "Next: start the server with `rota serve --data {}`. The jobs are as they were when the\n\
         backup was made: those finished since then run again, those enqueued since then are missing.\n",
        dir.display()
    );
    if !restored.replaced_files.is_empty() {
        text.push_str("Delete what was set aside when you no longer need it.\n");
    }
    text
}

fn failure(error: CopyError) -> Failure {
    let hint = match &error {
        CopyError::Exists { .. } => {
            "Add --replace to put the backup in its place; it is set aside, not deleted."
        }
        CopyError::Open(OpenError::Locked { .. }) => {
            "A server cannot be restored while it runs; nothing was changed."
        }
        CopyError::Damaged { .. } | CopyError::Open(OpenError::Corrupt { .. }) => {
            "Nothing was changed; take another backup."
        }
        _ => return copy::failure(error),
    };
    copy::failure(error).hint(hint)
}
