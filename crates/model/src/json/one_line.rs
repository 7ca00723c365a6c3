//! Removing line breaks from JSON, so that stored fragments stay on one line when they are shown.

use serde::de::IgnoredAny;

/// Removes the whitespace between tokens if the JSON has line breaks or tabs. Returns `None` if it has
/// none, or is invalid. Numbers, strings and the order of members do not change.
#[must_use]
pub fn on_one_line(json: &[u8]) -> Option<Vec<u8>> {
    // Fast path: most bodies are on one line.
    memchr::memchr3(b'\n', b'\r', b'\t', json)?;
    // Invalid JSON stays as it is, so that the parser's error has the line and column that were sent.
    serde_json::from_slice::<IgnoredAny>(json).ok()?;
    let mut out = Vec::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\n' | b'\r' | b'\t' if !in_string => continue,
            _ => {}
        }
        out.push(byte);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> Option<String> {
        on_one_line(json.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn only_json_with_line_breaks_changes() {
        assert_eq!(shown(r#"{ "a": [ 1.50, "\n\t" ] }"#), None);
        assert_eq!(shown(""), None);
        assert_eq!(shown("{\"a\":1}\n").unwrap(), r#"{"a":1}"#);
        assert_eq!(shown("[1,\t2]").unwrap(), "[1,2]");
        assert_eq!(shown("[1,\r\n  2]").unwrap(), "[1,2]");
    }

    #[test]
    fn values_and_order_do_not_change() {
        let spread =
            "{\n  \"b\": [ 1.50, 1e400, -0 ],\n  \"a \\\" b\": \" x \\\\\" , \"\\n\": \" \" }";
        assert_eq!(shown(spread).unwrap(), r#"{"b":[1.50,1e400,-0],"a \" b":" x \\","\n":" "}"#);
    }

    #[test]
    fn invalid_json_does_not_change() {
        for bad in ["{\n\"a\" 1}", "[1\n2]", "[tr\nue]", "[\"a\nb\"]", "[1]\n[2]", "[1\n"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }
}
