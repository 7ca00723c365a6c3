//! `rota restore`: replaces the database with a backup, or with the data as of any later moment.

mod failure;
mod moment;

use std::path::{Path, PathBuf};

use clap::Args;
use rota_storage::{Moment, RestoredTo, restore, restore_to};
use rota_store_sqlite::Restored;
use serde_json::{Map, Value, json};

use super::copy::{self, Progress};
use crate::Failure;
use crate::local::Local;
use crate::output::{Table, grouped, plural, print, print_json};
pub(super) use failure::failure;

const EXAMPLES: &str = "\
Examples:
  rota restore /backup/rota.db --data /var/lib/rota             into an empty directory
  rota restore /backup/rota.db --data /var/lib/rota --replace   the old database is kept
  rota restore --from /backup/rota.db --archive /archive --until 2027-01-01T06:00:00Z --replace
  rota restore --from /backup/rota.db --archive /archive --until -10m --replace

Stop the server first. The new database is made and checked before anything is changed, and then takes
its place in one step: whatever happens, either the old or the new database is there, whole.";

/// Restore a backup, or the data as of any moment after it; the server must be stopped
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The backup file
    #[arg(value_name = "FILE", required_unless_present_any = ["from", "archive", "until"])]
    file: Option<PathBuf>,

    /// The backup file, which is continued with the archive and the log; without one, both are read from their
    /// beginning
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    from: Option<PathBuf>,

    /// The archive of the log that continues the backup; default: from the settings
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,

    /// The moment to return to, such as 2027-01-01T06:00:00Z, or how long ago, such as 10m or -10m; default: the newest
    #[arg(long, value_name = "TIME", value_parser = moment::parse, allow_hyphen_values = true)]
    until: Option<rota_model::Millis>,

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
        let settings = self.local.settings()?;
        let dir = settings.data;
        let mut progress = Progress::new(self.quiet);
        if let (Some(file), None, None) = (&self.file, &self.archive, &self.until) {
            let outcome = restore(file, &dir, self.replace, &mut |stage| progress.tell(stage));
            progress.end();
            let restored = outcome.map_err(failure)?;
            copy::warn(&restored.copied);
            return self.show_backup(file, &restored, &dir);
        }
        let moment = Moment {
            backup: self.from.clone().or_else(|| self.file.clone()),
            archive: self.archive.clone().or(settings.archive),
            until: self.until,
            up_to_damage: false,
        };
        let outcome = restore_to(&moment, &dir, self.replace, &mut |stage| progress.tell(stage));
        progress.end();
        let reached = outcome.map_err(failure)?;
        copy::warn(&reached.restored.copied);
        self.show_moment(&moment, &reached, &dir)
    }

    fn show_backup(&self, file: &Path, restored: &Restored, dir: &Path) -> Result<(), Failure> {
        if self.local.json {
            return print_json(&members(Some(file), restored, dir));
        }
        if self.quiet {
            return Ok(());
        }
        let mut table = Table::of_fields();
        table.field("restored", file.display().to_string());
        let what = "The jobs are as they were when the\n\
                    backup was made: those finished since then run again, those enqueued since then are missing.";
        finish(table, restored, dir, what)
    }

    fn show_moment(
        &self,
        moment: &Moment,
        reached: &RestoredTo,
        dir: &Path,
    ) -> Result<(), Failure> {
        let RestoredTo { restored, last, time, records, is_newest } = reached;
        if self.local.json {
            let mut members = members(moment.backup.as_deref(), restored, dir);
            members.insert("archive".into(), json!(moment.archive));
            members.insert("until".into(), json!(moment.until.map(|until| until.to_string())));
            let last = json!({"record": last.index, "term": last.term, "time": time.to_string()});
            members.insert("reached".into(), last);
            members.insert("records".into(), json!(records));
            members.insert("is_newest".into(), json!(is_newest));
            return print_json(&members);
        }
        if self.quiet {
            return Ok(());
        }
        let mut table = Table::of_fields();
        if let Some(file) = &moment.backup {
            table.field("restored", file.display().to_string());
        }
        table.field("applied", plural(*records, "record of the log", "records of the log"));
        table.field("reached", format!("record {}, committed at {time}", grouped(last.index)));
        let what = match is_newest {
            true => "The log and its archive have nothing\nlater than that.",
            false => {
                "What was committed after that moment\nis abandoned: no later restore applies it."
            }
        };
        finish(table, restored, dir, what)
    }
}

fn finish(mut table: Table, restored: &Restored, dir: &Path, what: &str) -> Result<(), Failure> {
    table.field("data", dir.display().to_string());
    copy::describe(&restored.copied, &mut table);
    for path in &restored.replaced_files {
        table.field("set aside", path.display().to_string());
    }
    let dir = dir.display();
    let mut text = format!("Next: start the server with `rota serve --data {dir}`. {what}\n");
    if !restored.replaced_files.is_empty() {
        text.push_str("Delete what was set aside when you no longer need it.\n");
    }
    print(&format!("{}\n{text}", table.take()))
}

fn members(file: Option<&Path>, restored: &Restored, dir: &Path) -> Map<String, Value> {
    let mut members = copy::json(&restored.copied);
    members.insert("file".into(), json!(file));
    members.insert("data".into(), json!(dir));
    members.insert("set_aside".into(), json!(restored.replaced_files));
    members
}
