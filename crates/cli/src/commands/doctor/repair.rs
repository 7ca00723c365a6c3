//! `rota doctor --repair`: rebuilds a damaged database, or does without the damaged part of a log.

use std::path::{Path, PathBuf};

use clap::Args;
use rota_settings::Settings;
use rota_storage::{
    BackupRecord, OpenError as StorageError, Prospect, RepairSources, RestoreError, log_prospect,
    mend_log, rebuild, rebuild_prospect,
};
use rota_store_sqlite::check::{Depth, Rule, check};
use rota_store_sqlite::{CopyError, OpenError, Server, Snapshot, directory_status};
use serde_json::json;

use crate::Failure;
use crate::commands::confirm::Confirm;
use crate::commands::copy::Progress;
use crate::commands::restore;
use crate::output::{Table, grouped, plural, print, print_json, remark};

#[derive(Debug, Args)]
pub(super) struct RepairArgs {
    /// Restore what log, archive and backup have of what is damaged; the damaged files are kept
    #[arg(long)]
    repair: bool,

    /// The backup to begin with; default: the newest one that this directory knows of
    #[arg(long, value_name = "FILE", requires = "repair")]
    backup: Option<PathBuf>,

    /// The archive of the log; default: from the settings
    #[arg(long, value_name = "DIR", requires = "repair")]
    archive: Option<PathBuf>,

    #[command(flatten)]
    confirm: Confirm,
}

/// What needs to be repaired, and why.
enum Patient {
    Database(String),
    Log,
}

impl RepairArgs {
    pub(super) fn is_asked_for(&self) -> bool {
        self.repair
    }

    pub(super) fn run(&self, settings: &Settings, as_json: bool) -> Result<(), Failure> {
        let dir = &settings.data;
        let sources = self.sources(settings)?;
        match diagnose(dir, &sources)? {
            None => nothing_to_do(as_json),
            Some((Patient::Database(why), prospect)) => {
                self.ask(&format!("The database is damaged: {why}."), &prospect)?;
                self.rebuild(dir, &sources, &prospect, as_json)
            }
            Some((Patient::Log, prospect)) => {
                self.ask(
                    "The log is damaged, and the database has not applied all of it.",
                    &prospect,
                )?;
                let last = mend_log(dir, &sources, &mut |_| ()).map_err(restore::failure)?;
                finish("log", dir, &prospect, last.index, &[], as_json)
            }
        }
    }

    /// The newest backup is used if it is still where it was made.
    fn sources(&self, settings: &Settings) -> Result<RepairSources, Failure> {
        let recorded = BackupRecord::read(&settings.data)
            .map_err(|error| Failure::error(format!("the newest backup is unknown: {error}")))?;
        let recorded = recorded.map(|record| record.file);
        if let Some(missing) =
            recorded.as_ref().filter(|file| self.backup.is_none() && !file.exists())
        {
            remark(&format!(
                "warning: the newest backup is no longer at {}; say where it is with --backup",
                missing.display()
            ));
        }
        Ok(RepairSources {
            backup: self.backup.clone().or(recorded.filter(|file| file.exists())),
            archive: self.archive.clone().or_else(|| settings.archive.clone()),
        })
    }

    fn ask(&self, why: &str, prospect: &Prospect) -> Result<(), Failure> {
        remark(why);
        remark(describe(prospect).trim_end());
        self.confirm.ask("do that; the damaged files are kept")
    }

    fn rebuild(
        &self,
        dir: &Path,
        sources: &RepairSources,
        prospect: &Prospect,
        as_json: bool,
    ) -> Result<(), Failure> {
        let mut progress = Progress::new(as_json);
        let rebuilt = rebuild(dir, sources, &mut |stage| progress.tell(stage));
        progress.end();
        let rebuilt = rebuilt.map_err(restore::failure)?;
        let kept = &rebuilt.restored.replaced_files;
        finish("database", dir, prospect, rebuilt.last.index, kept, as_json)
    }
}

fn diagnose(dir: &Path, sources: &RepairSources) -> Result<Option<(Patient, Prospect)>, Failure> {
    let status = directory_status(dir).map_err(|error| Failure::error(error.to_string()))?;
    if status.server != Server::Stopped {
        return Err(Failure::error(format!("a server is running in {}", dir.display()))
            .hint("Stop it first. Nothing was changed."));
    }
    let why = match damage_of(dir) {
        Ok(None) => {
            let prospect = log_prospect(dir, sources).map_err(restore::failure)?;
            return Ok(prospect.map(|prospect| (Patient::Log, prospect)));
        }
        Ok(Some(why)) => why,
        Err(error) => return Err(Failure::error(error.to_string())),
    };
    let prospect = rebuild_prospect(dir, sources).map_err(|error| cannot_rebuild(&why, error))?;
    Ok(Some((Patient::Database(why), prospect)))
}

/// What is wrong with the database. Errors that a repair cannot help with are returned as such.
fn damage_of(dir: &Path) -> Result<Option<String>, OpenError> {
    let snapshot = match Snapshot::of_directory(dir) {
        Ok(snapshot) => snapshot,
        Err(OpenError::Nothing { path }) => {
            return Ok(Some(format!("there is no {}", path.display())));
        }
        Err(OpenError::Corrupt { cause, .. }) => return Ok(Some(cause)),
        Err(error) => return Err(error),
    };
    let damages = check(&snapshot, Depth::Full).damages;
    let of_jobs = damages.iter().filter(|damage| damage.rule != Rule::AuditLog);
    let all: Vec<String> = of_jobs.map(ToString::to_string).collect();
    Ok((!all.is_empty()).then(|| all.join("; ")))
}

fn cannot_rebuild(why: &str, error: RestoreError) -> Failure {
    let hint = match &error {
        RestoreError::NoBeginning { .. } => {
            "Without a backup, what is damaged is lost. If there is one somewhere, name it with --backup."
        }
        RestoreError::Open(StorageError::View(_)) | RestoreError::Copy(CopyError::Open(_)) => {
            "That backup cannot be used; name another one with --backup."
        }
        _ => return restore::failure(error),
    };
    Failure::error(format!("the database is damaged ({why}), and cannot be rebuilt: {error}"))
        .hint(hint)
}

fn describe(prospect: &Prospect) -> String {
    let mut table = Table::of_fields();
    if let Some((file, last)) = &prospect.backup {
        table.field("backup", format!("{}, up to record {}", file.display(), grouped(*last)));
    }
    let records = plural(prospect.records, "record", "records");
    let reached = grouped(prospect.last);
    table.field("applied", format!("{records} of the log and its archive, up to record {reached}"));
    let lost = match &prospect.lost {
        None => "nothing".to_owned(),
        Some(lost) if lost.start() == lost.end() => format!("record {}", grouped(*lost.start())),
        Some(lost) => format!("records {} to {}", grouped(*lost.start()), grouped(*lost.end())),
    };
    let cause = prospect.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
    table.field("lost", format!("{lost}{cause}"));
    table.take()
}

fn nothing_to_do(as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => print_json(&json!({"repaired": null})),
        false => print("Nothing needs to be repaired.\n"),
    }
}

fn finish(
    repaired: &str,
    dir: &Path,
    prospect: &Prospect,
    last: u64,
    kept: &[PathBuf],
    as_json: bool,
) -> Result<(), Failure> {
    if as_json {
        let lost = prospect.lost.as_ref().map(|lost| [*lost.start(), *lost.end()]);
        let backup = prospect.backup.as_ref().map(|(file, _)| file);
        return print_json(&json!({
            "repaired": repaired, "backup": backup, "records": prospect.records, "last": last,
            "lost": lost, "set_aside": kept,
        }));
    }
    let mut text = format!("The {repaired} is repaired, up to record {}.\n", grouped(last));
    for path in kept {
        text.push_str(&format!("Set aside: {}\n", path.display()));
    }
    text.push_str(&format!(
        "Next: check the disk, start the server with `rota serve --data {}`, and make a backup. The old log is\n\
         moved to log/removed-... at the start.\n",
        dir.display()
    ));
    print(&text)
}
