//! A data directory: the log, the view that follows it, and what brings the two together.
//!
//! `log/` holds the segments of the log, `rota.db` is the view. A commit is an append to the log. The view is
//! applied behind it, so after a crash it may lack the newest records; opening the directory applies them.

mod backup_record;
mod error;
mod identity;
mod keep;
mod open;
mod repair;
mod replay;
mod restore;
mod snapshot;

pub use backup_record::BackupRecord;
pub use error::OpenError;
pub use identity::{IdentityError, read_id_key};
pub use keep::{ArchiveStatus, KeepOptions, KeepRule, LogKeeper};
pub use open::{Options, Storage, log_directory, open};
pub use repair::{Prospect, RepairSources, log_prospect, mend_log, rebuild, rebuild_prospect};
pub use replay::{Progress, replay};
pub use restore::{Moment, RestoreError, RestoredTo, restore, restore_to};
pub use snapshot::{backup_source, snapshot};
