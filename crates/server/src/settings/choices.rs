/// When a commit counts as safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Every commit is forced to the disk: it survives a power cut.
    Fsync,
    /// Commits are left to the operating system: they survive a crash of the server only.
    Os,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Durability {
    pub(super) const WORDS: &'static [(&'static str, Self)] =
        &[("fsync", Self::Fsync), ("os", Self::Os)];
}

impl LogFormat {
    pub(super) const WORDS: &'static [(&'static str, Self)] =
        &[("text", Self::Text), ("json", Self::Json)];
}

impl LogLevel {
    pub(super) const WORDS: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}
