use serde::de::IgnoredAny;

/// The same JSON without whitespace between its parts, if it is spread over lines; `None` if it can
/// stay as it is. What is kept of it is shown again, and one line must stay one line. Numbers,
/// strings and the order of members are not touched.
#[must_use]
pub fn on_one_line(json: &[u8]) -> Option<Vec<u8>> {
    // The usual body has none of them, and costs no more than this.
    memchr::memchr3(b'\n', b'\r', b'\t', json)?;
    // Of bad JSON the sender is told line and column, as he sees them.
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
    fn only_what_is_spread_over_lines_changes() {
        assert_eq!(shown(r#"{ "a": [ 1.50, "\n\t" ] }"#), None);
        assert_eq!(shown(""), None);
        assert_eq!(shown("{\"a\":1}\n").unwrap(), r#"{"a":1}"#);
        assert_eq!(shown("[1,\t2]").unwrap(), "[1,2]");
        assert_eq!(shown("[1,\r\n  2]").unwrap(), "[1,2]");
    }

    #[test]
    fn values_and_order_stay_as_they_were_sent() {
        let spread =
            "{\n  \"b\": [ 1.50, 1e400, -0 ],\n  \"a \\\" b\": \" x \\\\\" , \"\\n\": \" \" }";
        assert_eq!(shown(spread).unwrap(), r#"{"b":[1.50,1e400,-0],"a \" b":" x \\","\n":" "}"#);
    }

    #[test]
    fn bad_json_stays_as_it_is() {
        for bad in ["{\n\"a\" 1}", "[1\n2]", "[tr\nue]", "[\"a\nb\"]", "[1]\n[2]", "[1\n"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }
}
