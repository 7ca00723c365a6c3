//! Line and column numbers of byte offsets in a file.

/// The start of every line, so that an offset is found without scanning the text again.
pub(crate) struct Lines<'text> {
    text: &'text str,
    starts: Vec<usize>,
}

impl<'text> Lines<'text> {
    pub(crate) fn new(text: &'text str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Self { text, starts: std::iter::once(0).chain(after_newlines).collect() }
    }

    /// Line and column, both from one; columns count characters.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let before = self.text.get(self.starts[line - 1]..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    pub(crate) fn line(&self, offset: usize) -> usize {
        self.position(offset).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let lines = Lines::new("ab\né=1\n");
        for (offset, position) in [(0, (1, 1)), (1, (1, 2)), (3, (2, 1)), (5, (2, 2)), (8, (3, 1))]
        {
            assert_eq!(lines.position(offset), position, "{offset}");
        }
        assert_eq!(Lines::new("").position(0), (1, 1));
        assert_eq!(Lines::new("").position(9), (1, 1));
    }
}
