//! What an answer promises about the disk.

use serde::Deserialize;

/// When a commit counts as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Once it is on disk: it survives a power failure.
    #[default]
    Fsync,
    /// Once the operating system has it: it survives a crash of the process, but a power failure may
    /// lose the last commits. The data stays consistent.
    Os,
}
