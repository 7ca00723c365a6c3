//! Shortens text to a width.

/// Shortens a name in the middle, because similar names differ at their ends.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let front = name.chars().take(head);
    front.chain(['…']).chain(name.chars().skip(length - tail)).collect()
}

/// Cuts a line at the end.
pub(crate) fn cut(line: &str, width: usize) -> String {
    match line.chars().count() <= width {
        true => line.to_owned(),
        false => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_both_ends() {
        assert_eq!(shortened("tenant-00001", 12), "tenant-00001");
        assert_eq!(shortened("tenant-00001", 9), "tena…0001");
        assert_eq!(shortened("tenant-00001", 8), "tena…001");
        assert_eq!(shortened("grüße", 4), "gr…e");
        assert_eq!(shortened("tenant-00001", 1), "…");
    }

    #[test]
    fn lines_keep_their_beginning() {
        assert_eq!(cut("weighted by job", 15), "weighted by job");
        assert_eq!(cut("weighted by job", 10), "weighted …");
    }
}
