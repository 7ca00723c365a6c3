//! `rota audit verify`: walks along the chain of hashes, in a data directory or through a server.

use std::path::PathBuf;

use clap::Args;
use rota_client::{AuditFilter, Client, PageAt};
use rota_model::audit::{AuditFault, AuditHash, AuditHead, AuditWalk, canonical_json};
use rota_store_sqlite::check::verify_audit_log;
use serde_json::{Value, json};

use crate::Failure;
use crate::output::{plural, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota audit verify                            through the server
  rota audit verify --data /var/lib/rota       in a data directory, in use or not
  rota audit verify --json | jq -r .hash       the hash of the newest entry, to be noted elsewhere
  rota audit verify --expect HASH              whether that entry is still there

Whoever can write to the data directory can also write the whole log anew, with other hashes. So note
the hash of the newest entry elsewhere from time to time, and check with --expect that it is still
part of the log.

Exit code 0: no entry was changed or removed. 1: one was, and the message names the first.";

const PAGE: u32 = 1_000;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct VerifyArgs {
    /// Check the log in this data directory, instead of the server's
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// An entry must have this hash, noted from an earlier run
    #[arg(long, value_name = "HASH", value_parser = hash)]
    expect: Option<AuditHash>,

    #[command(flatten)]
    remote: Remote,
}

fn hash(text: &str) -> Result<AuditHash, String> {
    AuditHash::parse(text).map_err(|error| format!("it {error}"))
}

/// What was found.
struct Verified {
    head: AuditHead,
    has_expected: bool,
}

impl VerifyArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let found = match &self.data {
            Some(dir) => in_directory(dir, self.expect)?,
            None => {
                let client = self.remote.client()?;
                through_server(&client, self.expect).await?
            }
        };
        let Verified { head, has_expected } = found.map_err(|fault| broken(&fault))?;
        if let (Some(expected), false) = (self.expect, has_expected) {
            let text = format!("no entry of the audit log has the hash {expected}");
            return Err(Failure::error(text).hint(
                "The log was written anew since the hash was noted, or retention has deleted that entry \
                 (`audit.retention`, `audit.max_entries`).",
            ));
        }
        if self.remote.json {
            return print_json(&json!({
                "intact": true,
                "entries": head.len(),
                "first": head.first,
                "last": head.next - 1,
                "hash": head.last,
            }));
        }
        let entries = plural(head.len(), "entry", "entries");
        print(&format!("The audit log is intact: {entries}.\n"))?;
        if !head.is_empty() {
            print(&format!("Entry {} has the hash {}.\n", head.next - 1, head.last))?;
        }
        Ok(())
    }
}

fn broken(fault: &AuditFault) -> Failure {
    Failure::error(format!("the audit log is not intact: {fault}"))
        .hint("Compare it with a backup: `rota restore` brings one into another directory.")
        .detail("intact", false)
        .detail("entry", fault.entry())
}

fn in_directory(
    dir: &std::path::Path,
    expected: Option<AuditHash>,
) -> Result<Result<Verified, AuditFault>, Failure> {
    let open = |error: rota_store_sqlite::OpenError| Failure::error(error.to_string());
    let snapshot =
        rota_storage::snapshot(dir).map_err(|error| Failure::error(error.to_string()))?;
    let verified = verify_audit_log(&snapshot, expected).map_err(open)?;
    Ok(verified.map(|log| Verified { head: log.head, has_expected: log.has_expected }))
}

async fn through_server(
    client: &Client,
    expected: Option<AuditHash>,
) -> Result<Result<Verified, AuditFault>, Failure> {
    let filter = AuditFilter { oldest_first: true, ..AuditFilter::default() };
    let (mut walk, mut at, mut has_expected) = (None::<AuditWalk>, None, false);
    loop {
        let answer = client.audit_log(&filter, PAGE, at.as_ref()).await?;
        let head: AuditHead =
            answer.head.and_then(|head| serde_json::from_value(head).ok()).ok_or_else(|| {
                Failure::error("the server does not show the hashes")
                    .hint("Only operators see the whole audit log.")
            })?;
        has_expected |= expected == Some(head.anchor);
        // Retention may have deleted entries that were not read yet.
        let mut here = match walk.take().filter(|walk| walk.next() >= head.first) {
            Some(walk) => walk,
            None => match AuditWalk::start(&head) {
                Ok(walk) => walk,
                Err(fault) => return Ok(Err(fault)),
            },
        };
        for entry in &answer.page.items {
            let hash = entry.hash.as_deref().and_then(|hash| AuditHash::parse(hash).ok());
            let number = entry.number.unwrap_or_default();
            let Some(hash) = hash else { return Ok(Err(AuditFault::Changed(number))) };
            if let Err(fault) = here.step(number, &without_hash(entry.json()), hash) {
                return Ok(Err(fault));
            }
            has_expected |= expected == Some(hash);
        }
        match answer.page.next {
            Some(PageAt::Cursor(next)) => at = Some(PageAt::Cursor(next)),
            _ => return Ok(here.finish(&head).map(|()| Verified { head, has_expected })),
        }
        walk = Some(here);
    }
}

/// The canonical JSON of an entry as the server shows it.
fn without_hash(json: &str) -> Vec<u8> {
    let mut entry: Value = serde_json::from_str(json).unwrap_or_default();
    if let Value::Object(members) = &mut entry {
        members.remove("hash");
    }
    canonical_json(&entry)
}
