//! The durability mode: when a commit counts as durable.

use serde::Deserialize;

/// When a commit counts as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// After it is on disk. Commits survive a power failure.
    #[default]
    Fsync,
    /// After the operating system has it. Commits survive a crash of the process; a power failure can
    /// lose the last ones, but the data stays consistent.
    Os,
}
