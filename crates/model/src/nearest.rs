//! Finding the name that a misspelled one was probably meant for.

/// The known name within a few edits of this one. Case, dots and dashes do not count.
#[must_use]
pub fn nearest<'known>(
    name: &str,
    known: impl IntoIterator<Item = &'known str>,
) -> Option<&'known str> {
    // Edits are counted in the square of the length, and names come from clients.
    if name.len() > 100 {
        return None;
    }
    let name = normalized(name);
    let max_distance = (name.chars().count() / 3).clamp(1, 4);
    known
        .into_iter()
        .map(|known| (strsim::levenshtein(&name, &normalized(known)), known))
        .filter(|(distance, _)| *distance <= max_distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn normalized(name: &str) -> String {
    name.to_lowercase().replace(['.', '-'], "_")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_few_edits_are_forgiven_and_many_are_not() {
        let known = ["max_attempts", "jitter", "queue"];
        assert_eq!(nearest("max_attemps", known), Some("max_attempts"));
        assert_eq!(nearest("MAX-ATTEMPTS", known), Some("max_attempts"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"queue".repeat(100), known), None);
    }
}
