//! Which of two copies of a job counts.

/// What decides between copies of one job in several regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version<'a> {
    /// When the copy was enqueued, in milliseconds since 1970.
    pub enqueued_at_ms: i64,
    /// Its federation id.
    pub federation_id: &'a str,
}

/// Whether `other` replaces `this`: the later one wins, and of two from the same millisecond the one whose
/// federation id comes later in lexicographic order.
#[must_use]
pub fn replaces(other: Version<'_>, this: Version<'_>) -> bool {
    let key = |version: Version<'_>| (version.enqueued_at_ms, version.federation_id.to_owned());
    key(other) > key(this)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(enqueued_at_ms: i64, federation_id: &str) -> Version<'_> {
        Version { enqueued_at_ms, federation_id }
    }

    #[test]
    fn the_last_writer_wins_and_the_id_breaks_ties() {
        assert!(replaces(version(2, "a"), version(1, "b")));
        assert!(!replaces(version(1, "b"), version(2, "a")));
        assert!(replaces(version(1, "b"), version(1, "a")));
        assert!(!replaces(version(1, "a"), version(1, "a")));
    }
}
