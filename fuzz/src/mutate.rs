//! Seeded mutations, so that the tests exercise the properties without a fuzzer.

use fastrand::Rng;

/// Fragments that mean something to the parsers.
const WORDS: [&str; 29] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "?",
    "&",
    "%ff",
    "*",
    "null",
    "true",
    "\\u0000",
    "\\ud800",
    "1e999",
    "\"\\udc00\\ud800\"",
    "{\"a\":1,\"\\u0061\":2}",
    "-",
    "\u{feff}",
    "\"state\":\"completed\"",
    "\"type\":\"b\"",
    "\"id\":null",
    "\"options\":{}",
    "\"queue\":\"z\"",
    "\"args\":[1]",
    "\"st\\u0061te\":1",
    "\"retry\":{\"max_attemps\":5}",
];
/// The first of `WORDS` that is a whole member of an object.
const FIRST_MEMBER: usize = 21;
const VALUES: [&str; 13] = [
    "null",
    "0",
    "-1",
    "1e9",
    "1e999",
    "\"\\ud800\"",
    "{\"a\":{},\"a\":{}}",
    "\"\"",
    "[]",
    "{}",
    "true",
    "\"high\"",
    "\"+PT1S\"",
];

/// The seed in `ROTA_SEED`, or 1: without it, every run is the same.
#[must_use]
pub fn seed() -> u64 {
    let given = std::env::var("ROTA_SEED").ok();
    given.map_or(1, |text| text.parse().expect("ROTA_SEED is a number"))
}

/// One of the seeds with one to three mutations.
#[must_use]
pub fn one_of(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..rng.usize(1..=3) {
        mutate(&mut bytes, seeds, rng);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.usize(..=bytes.len());
    match rng.usize(..8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << rng.usize(..8),
        1 => bytes.truncate(at),
        2 => {
            let end = rng.usize(at..=bytes.len()).min(at + 20);
            bytes.drain(at..end);
        }
        3 => insert(bytes, at, WORDS[rng.usize(..WORDS.len())].as_bytes()),
        4 => {
            let other = &seeds[rng.usize(..seeds.len())];
            let from = rng.usize(..=other.len());
            let end = rng.usize(from..=other.len());
            insert(bytes, at, &other[from..end]);
        }
        5 => insert_member(bytes, WORDS[rng.usize(FIRST_MEMBER..WORDS.len())]),
        6 => insert_member(bytes, &member_of(&seeds[rng.usize(..seeds.len())], rng)),
        _ => replace_value(bytes, rng),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    bytes.splice(at..at, more.iter().copied());
}

/// Adds a first member to the outermost object, so that the result is often valid JSON.
fn insert_member(bytes: &mut Vec<u8>, member: &str) {
    if let Some(start) = bytes.iter().position(|byte| *byte == b'{') {
        insert(bytes, start + 1, format!("{member},").as_bytes());
    }
}

fn member_of(other: &[u8], rng: &mut Rng) -> String {
    let start = other.iter().position(|byte| *byte == b'{').unwrap_or(other.len());
    let members: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&other[start..]).unwrap_or_default();
    match members.iter().nth(rng.usize(..=members.len())) {
        Some((key, value)) => format!("{}:{value}", serde_json::json!(key)),
        None => "\"x\":1".to_owned(),
    }
}

/// Puts another JSON value behind one of the colons.
fn replace_value(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let colons: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] == b':').collect();
    let Some(colon) = rng.choice(colons) else { return };
    let start = colon + 1;
    let end = bytes[start..].iter().position(|byte| *byte == b',').map_or(start, |n| start + n);
    bytes.splice(start..end, VALUES[rng.usize(..VALUES.len())].bytes());
}
