//! Why a history cannot be read.

use std::path::PathBuf;

use crate::{DamageKind, LogError};

/// Why a history cannot be read from some record on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("{} missing: no file has {}", range(*from, *to), if from == to { "it" } else { "them" })]
    Gap { from: u64, to: u64 },
    #[error("record {index} is damaged in {}: {kind}", path.display())]
    Damaged { index: u64, path: PathBuf, kind: DamageKind },
    #[error("record {index} in {} does not follow record {} of this history", path.display(), index - 1)]
    Foreign { index: u64, path: PathBuf },
    #[error(
        "record {index} of term {term} is not part of the newest history, which has reached term {newest}: it was \
         abandoned by a later restore, or belongs to another server"
    )]
    Abandoned { index: u64, term: u64, newest: u64 },
}

fn range(from: u64, to: u64) -> String {
    if from == to { format!("record {from} is") } else { format!("records {from} to {to} are") }
}
