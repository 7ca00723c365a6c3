//! The fuzzer's property on a stable compiler: valid envelopes, damaged in every way.

#[path = "../../../../fuzz/src/envelope.rs"]
mod envelope;

use crate::dice::Dice;

const MUTATIONS: usize = 20_000;

const VALID: [&str; 9] = [
    r#"{"type":"email.send","args":["you@example.com",1.50,-0,1e999,null,true,"\u00e9"]}"#,
    r#"{"id":"01976a3c-0000-7000-8000-00000000000f","type":"a","args":[],"queue":"q-1.x","priority":-7}"#,
    r#"{"type":"a","args":[{"a":[{"b":{}}]}],"meta":{"k":{"deep":[1]}},"x_custom":{"y":"\"}"}}"#,
    r#"{"type":"a","args":[],"options":{"queue":"r","priority":"high","tags":["x"],"metadata":{"m":1}}}"#,
    r#"{"type":"a","args":[],"scheduled_at":"2027-01-01T02:00:00+02:00","expires_at":"+P2D"}"#,
    r#"{"type":"a","args":[],"delay_until":"+PT2S","timeout":5,"timeout_ms":5000,"visibility_timeout":9}"#,
    r#"{"type":"a","args":[],"pending":true,"schema":"urn:x","specversion":"1.0.0","state":"completed"}"#,
    r#"{"type":"a","args":[],"retry":{"max_attempts":9,"initial_interval":"PT1S","max_interval":"PT9S",
        "backoff_coefficient":1.5,"jitter":false,"non_retryable_errors":["E*"],"on_exhaustion":"discard"}}"#,
    r#"{"type":"a","args":[],"attempt":9,"result":1,"errors":[],"error":{},"worker_id":"w","created_at":1}"#,
];

/// Bytes that mean something here.
const WORDS: [&str; 22] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "null",
    "true",
    "\\u0000",
    "\\ud800",
    "1e999",
    "-",
    "\"state\":\"completed\"",
    "\"type\":\"b\"",
    "\"id\":null",
    "\"options\":{}",
    "\"queue\":\"z\"",
    "\"args\":[1]",
    "\"st\\u0061te\":1",
    "\u{feff}",
];

#[test]
fn whatever_is_accepted_is_well_formed_and_not_forged() {
    let seed = Dice::seed();
    let mut dice = Dice::new(seed);
    for text in VALID {
        assert!(envelope::check(text.as_bytes()), "{text}");
    }
    let mut accepted = 0;
    for _ in 0..MUTATIONS {
        let bytes = mutated(&mut dice);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let checked = std::panic::catch_unwind(|| envelope::check(&bytes));
        accepted += usize::from(checked.unwrap_or_else(|_| panic!("ROTA_SEED={seed}: {shown}")));
    }
    println!("ROTA_SEED={seed}: {accepted} of {MUTATIONS} mutations were accepted");
    assert!(accepted > MUTATIONS / 50, "too few of them get past the parser: {accepted}");
}

fn mutated(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = VALID[dice.below(VALID.len())].as_bytes().to_vec();
    for _ in 0..1 + dice.below(3) {
        mutate(&mut bytes, dice);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(bytes.len());
    match dice.below(8) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
        1 => bytes.truncate(at),
        2 => {
            let end = at + dice.below(bytes.len() - at);
            bytes.drain(at..end.min(at + 20));
        }
        3 => {
            let word = WORDS[dice.below(WORDS.len())];
            bytes.splice(at..at, word.bytes());
        }
        4 => {
            let other = VALID[dice.below(VALID.len())].as_bytes();
            let from = dice.below(other.len());
            let end = from + dice.below(other.len() - from);
            bytes.splice(at..at, other[from..end].iter().copied());
        }
        5 => insert_member(bytes, WORDS[14 + dice.below(7)]),
        6 => insert_member(bytes, &member_of_another(dice)),
        _ => replace_value(bytes, dice),
    }
}

/// A member more at the beginning of the object, so that the result is often still JSON.
fn insert_member(bytes: &mut Vec<u8>, member: &str) {
    if bytes.first() == Some(&b'{') {
        bytes.splice(1..1, format!("{member},").into_bytes());
    }
}

fn member_of_another(dice: &mut Dice) -> String {
    let other: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(VALID[1 + dice.below(VALID.len() - 1)]).unwrap_or_default();
    let skip = dice.below(other.len());
    match other.iter().nth(skip) {
        Some((key, value)) => format!("{}:{value}", serde_json::json!(key)),
        None => "\"x\":1".to_owned(),
    }
}

/// Puts another JSON value behind one of the colons.
fn replace_value(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let values = ["null", "0", "-1", "1e9", "\"\"", "[]", "{}", "true", "\"high\"", "\"+PT1S\""];
    let colons: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, b)| **b == b':').map(|(i, _)| i).collect();
    if colons.is_empty() {
        return;
    }
    let start = colons[dice.below(colons.len())] + 1;
    let end = bytes[start..].iter().position(|b| *b == b',').map_or(start, |n| start + n);
    bytes.splice(start..end, values[dice.below(values.len())].bytes());
}
