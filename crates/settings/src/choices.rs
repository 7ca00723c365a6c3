use rota_model::FairnessScope;

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

/// Where the tenant of a request is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantSource {
    /// `meta.tenant_id` of a job.
    Body,
    /// `X-OJS-Tenant`.
    Header,
    /// What the caller's credentials say.
    Credentials,
}

/// How far tenants are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Every queue has a part for each tenant, and the parts are served fairly.
    Sharded,
    /// One queue for all, in the order of enqueueing unless fairness is on.
    Shared,
    /// Every tenant has queues of its own, and every request names its tenant.
    Namespace,
}

/// Which tenant's turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairnessStrategy {
    Weighted,
    RoundRobin,
    /// Each tenant has a concurrency of its own.
    Strict,
}

/// What a turn is paid with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairnessCost {
    Job,
    Runtime,
}

/// Whose jobs a priority is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityScope {
    Global,
    Tenant,
}

impl Durability {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("fsync", Self::Fsync), ("os", Self::Os)];
}

impl LogFormat {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("text", Self::Text), ("json", Self::Json)];
}

impl LogLevel {
    pub(crate) const WORDS: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}

impl TenantSource {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("body", Self::Body), ("header", Self::Header), ("credentials", Self::Credentials)];
}

impl Isolation {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("sharded", Self::Sharded), ("shared", Self::Shared), ("namespace", Self::Namespace)];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sharded => "sharded",
            Self::Shared => "shared",
            Self::Namespace => "namespace",
        }
    }
}

impl FairnessStrategy {
    pub(crate) const WORDS: &'static [(&'static str, Self)] = &[
        ("weighted", Self::Weighted),
        ("round-robin", Self::RoundRobin),
        ("strict", Self::Strict),
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(Self::WORDS, self)
    }
}

pub(crate) const FAIRNESS_SCOPES: &[(&str, FairnessScope)] =
    &[("queue", FairnessScope::Queue), ("pool", FairnessScope::Pool)];

impl FairnessCost {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("job", Self::Job), ("runtime", Self::Runtime)];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(Self::WORDS, self)
    }
}

impl PriorityScope {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("global", Self::Global), ("tenant", Self::Tenant)];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(Self::WORDS, self)
    }
}

fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    let found = words.iter().find(|(_, one)| *one == value);
    found.map(|(word, _)| *word).expect("every choice has a word")
}
