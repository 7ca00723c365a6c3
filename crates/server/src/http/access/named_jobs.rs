//! Jobs that the caller has come to know of: the engine has handed them to it, or has named them in a view.

use rota_model::Seq;

/// Numbers of jobs that the caller may read, sorted. Made by views and the boundary only.
pub struct NamedJobs(Vec<Seq>);

impl NamedJobs {
    pub(super) fn new(mut seqs: Vec<Seq>) -> Self {
        seqs.sort_unstable();
        seqs.dedup();
        Self(seqs)
    }

    pub(in crate::http) fn seqs(&self) -> &[Seq] {
        &self.0
    }

    /// Keeps some of them.
    pub(in crate::http) fn retain(&mut self, keep: impl Fn(Seq) -> bool) {
        self.0.retain(|seq| keep(*seq));
    }

    pub(in crate::http) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
