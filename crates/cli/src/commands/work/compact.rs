//! Compact JSON for a command's standard input.

/// Puts JSON on one line and changes nothing else: member order and digits of numbers stay.
pub(super) fn compact(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let belongs = |c: &char| {
        let belongs = inside || !c.is_ascii_whitespace();
        inside ^= *c == '"' && !escaped;
        escaped = inside && *c == '\\' && !escaped;
        belongs
    };
    json.chars().filter(belongs).collect()
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn only_space_between_values_goes() {
        let json = "{\n\t\"b\" : [1.10, 12345678901234567890],\r\n \"a b\": \"x \\\" y \\\\\" , \"c\": \" \" }";
        let line = r#"{"b":[1.10,12345678901234567890],"a b":"x \" y \\","c":" "}"#;
        assert_eq!(compact(json), line);
    }
}
