//! What JSON from clients may not contain, although it is well formed: anything that many parsers reject,
//! so that whoever reads a job can parse it.

use std::borrow::Cow;

use super::path::path_at;
use crate::Rejection;

/// Objects with more keys than this are sorted to find repeated ones.
const FEW_KEYS: usize = 12;
/// A number with fewer characters and without an exponent is always finite.
const LONG_NUMBER: usize = 300;

/// Rejects nesting deeper than `max_depth`, numbers that overflow a double, lone surrogates, and repeated
/// keys. One pass; text that is not JSON passes, because the parser explains that better.
pub(super) fn check(text: &str, max_depth: usize) -> Result<(), Rejection> {
    let bytes = text.as_bytes();
    // The keys of all open objects; `None` where an object begins.
    let mut keys: Vec<Option<Cow<'_, str>>> = Vec::with_capacity(24);
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let (end, has_escapes) = string_end(bytes, at + 1);
                let content = text.get(at + 1..end).unwrap_or_default();
                if has_escapes && has_lone_surrogate(content.as_bytes()) {
                    return Err(lone_surrogate(text, at));
                }
                at = end + 1;
                while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
                    at += 1;
                }
                if bytes.get(at) == Some(&b':') {
                    keys.push(Some(if has_escapes { unescaped(content) } else { content.into() }));
                    at += 1;
                }
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > max_depth {
                    return Err(too_deep(max_depth));
                }
                if *byte == b'{' {
                    keys.push(None);
                }
                at += 1;
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                let start = keys.iter().rposition(Option::is_none).unwrap_or_default();
                if let Some(key) = repeated_key(&keys[start..]) {
                    return Err(given_twice(text, at, key));
                }
                keys.truncate(start);
                at += 1;
            }
            b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b'0'..=b'9' | b'-' => {
                let (end, has_exponent) = number_end(bytes, at);
                let may_overflow = has_exponent || end - at > LONG_NUMBER;
                if may_overflow && text[at..end].parse::<f64>().is_ok_and(f64::is_infinite) {
                    return Err(overflow(text, at, end));
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// The position of the closing quotation mark, or the end of the text, and whether there are escapes.
fn string_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut has_escapes) = (start, false);
    while let Some(length) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += length;
        if bytes[at] == b'"' {
            return (at, has_escapes);
        }
        has_escapes = true;
        at += 2;
    }
    (bytes.len(), has_escapes)
}

/// The position behind a number, and whether it has an exponent.
fn number_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut has_exponent) = (start, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' | b'.' | b'-' | b'+' => {}
            b'e' | b'E' => has_exponent = true,
            _ => break,
        }
        at += 1;
    }
    (at, has_exponent)
}

/// Whether half of a pair of surrogates stands alone in the escapes of a string.
fn has_lone_surrogate(content: &[u8]) -> bool {
    let mut at = 0;
    while let Some(length) = content.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += length;
        match code_unit(content, at) {
            None => at += 2,
            Some(0xD800..=0xDBFF)
                if matches!(code_unit(content, at + 6), Some(0xDC00..=0xDFFF)) =>
            {
                at += 12;
            }
            Some(0xD800..=0xDFFF) => return true,
            Some(_) => at += 6,
        }
    }
    false
}

/// The number in the escape `\uXXXX` at this position.
fn code_unit(content: &[u8], at: usize) -> Option<u32> {
    let digits = content.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// The text of a key with escapes; as it is, if it is not valid.
pub(super) fn unescaped(content: &str) -> Cow<'_, str> {
    let decoded = serde_json::from_str::<String>(&format!("\"{content}\""));
    decoded.map_or(Cow::Borrowed(content), Cow::Owned)
}

fn repeated_key<'k>(keys: &'k [Option<Cow<'_, str>>]) -> Option<&'k str> {
    let keys = keys.iter().flatten();
    if keys.clone().count() > FEW_KEYS {
        let mut sorted: Vec<&str> = keys.map(|key| &**key).collect();
        sorted.sort_unstable();
        return sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    }
    let mut rest = keys;
    while let Some(key) = rest.next() {
        if rest.clone().any(|other| other == key) {
            return Some(key);
        }
    }
    None
}

#[cold]
fn too_deep(max_depth: usize) -> Rejection {
    Rejection::malformed(format!("the JSON is nested deeper than {max_depth} levels"))
        .hint("Flatten the data, or store it elsewhere and pass a reference.")
}

#[cold]
fn given_twice(text: &str, at: usize, key: &str) -> Rejection {
    let path = path_at(text, at, Some(key));
    Rejection::malformed_at(path, "is given twice").hint("Give every key of an object once.")
}

#[cold]
fn lone_surrogate(text: &str, at: usize) -> Rejection {
    let path = path_at(text, at, None);
    let problem = "has half of a surrogate pair, such as \\ud800, which is not a character";
    Rejection::malformed_at(path, problem)
        .hint("Send characters as UTF-8, or both halves of the pair.")
}

#[cold]
fn overflow(text: &str, at: usize, end: usize) -> Rejection {
    let number: String = text[at..end].chars().take(40).collect();
    let path = path_at(text, at, None);
    Rejection::malformed_at(path, format!("is {number}, which is too large for a number"))
        .hint("Send it as a string, or a number below 1.8e308.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn field(text: &str) -> String {
        let rejection = check(text, 100).expect_err(text);
        rejection.field.expect("a path").into_owned()
    }

    #[test]
    fn repeated_keys_are_found_at_any_depth() {
        assert_eq!(field(r#"{"a":1,"b":{},"a":2}"#), "a");
        assert_eq!(field(r#"{"args":[1,[{"x":{"k":1,"k":1}}]]}"#), "args[1][0].x.k");
        assert_eq!(field(r#"{"meta":{"a":{"b":[]},"\u0061" : 1}}"#), "meta.a");
        let many = (0..500).map(|n| format!("\"k{}\":0", n % 499)).collect::<Vec<_>>().join(",");
        assert_eq!(field(&format!("[{{}},{{{many}}}]")), "[1].k0");
        let same_in_others = r#"{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":"a","c":"a"},"":{"":0}}"#;
        check(same_in_others, 100).unwrap();
    }

    #[test]
    fn numbers_that_overflow_are_found() {
        assert_eq!(field(r#"{"args":[1,1e999]}"#), "args[1]");
        assert_eq!(field(r#"{"a":-1E+400}"#), "a");
        assert_eq!(field(&format!("[{}]", "9".repeat(400))), "[0]");
        let fine = format!("[1e308,-1.7e308,1e-999,0.{},{},\"1e999\"]", "3".repeat(400), u64::MAX);
        check(&fine, 100).unwrap();
    }

    #[test]
    fn lone_surrogates_are_found_in_strings_and_keys() {
        assert_eq!(field(r#"{"args":["\ud800"]}"#), "args[0]");
        assert_eq!(field(r#"{"args":[["a\udc00\ud83d"]]}"#), "args[0][0]");
        assert_eq!(field(r#"["\ud83d\ud83d\ude00"]"#), "[0]");
        assert_eq!(field(r#"{"a":{"\uD800":1}}"#), "a");
        check(r#"["\ud83d\ude00 \\ud800 \u00e9 \\\\", "😀"]"#, 100).unwrap();
    }

    #[test]
    fn text_that_is_not_json_is_left_to_the_parser() {
        for text in ["", "}", "]}{", "\"", "\"\\", "{\"a", "{\"a\":", "1e", "-", "[1,\"\\u12", ":"]
        {
            check(text, 100).unwrap();
        }
    }
}
