//! `rota backup`: copies the database, whether or not the server is running.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use rota_storage::BackupRecord;
use rota_store_sqlite::{Copied, CopyError, OpenError, backup};
use serde_json::json;

use super::copy::{self, Progress};
use crate::Failure;
use crate::local::Local;
use crate::output::{Table, milliseconds, print, print_json, remark};

const EXAMPLES: &str = "\
Examples:
  rota backup /backup/rota.db --data /var/lib/rota
  rota backup \"/backup/rota-$(date +%F).db\" --quiet        every night, from cron
  rota backup /backup/rota.db --force --json               over the last one, for scripts

The server goes on working meanwhile. The file is there only when it is complete and was checked;
until then it is FILE.partial. `rota restore FILE` brings it back.";

/// Copy the database to a file, whether or not the server is running
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Backup {
    /// The file to write
    file: PathBuf,

    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,

    /// Print nothing unless there is a problem
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    local: Local,
}

impl Backup {
    pub fn run(self) -> Result<(), Failure> {
        let dir = self.local.settings()?.data;
        let begun = Instant::now();
        let mut progress = Progress::new(self.quiet);
        let outcome = backup(
            &dir,
            &self.file,
            self.force,
            || rota_storage::backup_source(&dir).map_err(copy::open_failed),
            &mut |stage| progress.tell(stage),
        );
        progress.end();
        let copied = outcome.map_err(failure)?;
        copy::warn(&copied);
        self.record(&dir, &copied);
        self.show(&copied, begun)
    }

    /// The server keeps its log back to the newest backup. Without that, the backup is as good as it was before.
    fn record(&self, dir: &Path, copied: &Copied) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let made = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let Some(record) = BackupRecord::new(&self.file, copied, made) else { return };
        if let Err(error) = record.write(dir) {
            remark(&format!(
                "warning: the backup cannot be recorded in {}, so the server does not keep its log for it: {error}",
                dir.display()
            ));
        }
    }

    fn show(&self, copied: &Copied, begun: Instant) -> Result<(), Failure> {
        let took = begun.elapsed();
        if self.local.json {
            let mut members = copy::json(copied);
            members.insert("file".into(), json!(self.file));
            members.insert("seconds".into(), json!(took.as_secs_f64()));
            return print_json(&members);
        }
        if self.quiet {
            return Ok(());
        }
        let mut table = Table::of_fields();
        table.field("backup", self.file.display().to_string());
        copy::describe(copied, &mut table);
        table.field("took", milliseconds(took.as_secs_f64() * 1_000.0));
        print(&table.take())
    }
}

fn failure(error: CopyError) -> Failure {
    let hint = match &error {
        CopyError::Exists { .. } => "Choose another name, or replace it with --force.",
        CopyError::Damaged { .. } | CopyError::Open(OpenError::Corrupt { .. }) => {
            "No backup was made. `rota doctor`, with the same --data, tells what to do."
        }
        _ => return copy::failure(error),
    };
    copy::failure(error).hint(hint)
}
