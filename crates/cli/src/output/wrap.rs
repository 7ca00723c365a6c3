//! Breaks text into lines.

/// Breaks text at spaces into lines of at most this width. A longer word gets a line of its own, or two
/// if it is a name and a value, so that ids can be copied.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => match word.split_once('=') {
                Some((name, value)) if word.chars().count() > width && !value.is_empty() => {
                    lines.extend([format!("{name}="), value.to_owned()]);
                }
                _ => lines.push(word.to_owned()),
            },
        }
    }
    lines
}

/// A paragraph for people, within the width of the terminal.
pub(crate) fn paragraph(text: &str) -> String {
    wrapped(text, super::width()).join("\n")
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrapped("it waits for its limit", 40), ["it waits for its limit"]);
        assert_eq!(wrapped("it waits for its limit", 12), ["it waits for", "its limit"]);
        assert_eq!(wrapped("a 0123456789 b", 5), ["a", "0123456789", "b"]);
        assert_eq!(wrapped("job=0123456789 b", 12), ["job=", "0123456789 b"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
