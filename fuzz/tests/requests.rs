//! The property of the `requests` target, over the corpus and mutations of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use axum::http::StatusCode;
use rota_fuzz::requests::Fixture;
use rota_fuzz::{corpus, mutate, request};

const MUTATIONS: usize = 5_000;
/// With an engine each accepted request commits.
const LIVE_MUTATIONS: usize = 1_000;

#[test]
fn every_request_of_the_corpus_parses() {
    let fixture = Fixture::without_engine();
    let mut wrong = Vec::new();
    for (name, bytes) in corpus::of("requests") {
        let parsed = request::parse(&bytes);
        assert!(parsed.is_some(), "{name} is not a request");
        let answer = fixture.check(&bytes);
        let refused = answer.as_ref().is_some_and(|answer| answer.status.is_client_error());
        if refused != name.starts_with("bad-") {
            wrong.push(format!("{name}: {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn mutated_requests_get_well_formed_answers() {
    check_mutations(&Fixture::without_engine(), MUTATIONS);
}

#[test]
fn mutated_requests_do_not_break_a_whole_server() {
    let fixture = Fixture::with_engine();
    for (name, bytes) in corpus::of("requests") {
        if !waits(&bytes) {
            assert!(fixture.check(&bytes).is_some(), "{name}");
        }
    }
    check_mutations(&fixture, LIVE_MUTATIONS);
    let health = fixture.check(b"GET /ojs/v1/health");
    assert_eq!(health.map(|answer| answer.status), Some(StatusCode::OK));
}

#[test]
fn errors_do_not_quote_all_of_a_large_request() {
    let fixture = Fixture::without_engine();
    let long = "x".repeat(20_000);
    let mut wrong = Vec::new();
    for (name, bytes) in corpus::of("requests") {
        let text = String::from_utf8(bytes).expect("the corpus is text");
        let words = text.match_indices(|c: char| !c.is_ascii_alphanumeric()).map(|(i, _)| i);
        for (start, end) in words.clone().zip(words.skip(1)).filter(|(a, b)| b - a > 1) {
            let large = format!("{}{long}{}", &text[..=start], &text[end..]);
            let checked = catch_unwind(AssertUnwindSafe(|| fixture.check(large.as_bytes())));
            if checked.is_err() {
                wrong.push(format!("{name}: {}", &text[start + 1..end]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[track_caller]
fn check_mutations(fixture: &Fixture, count: usize) {
    let seed = mutate::seed();
    let mut rng = fastrand::Rng::with_seed(seed);
    let seeds: Vec<Vec<u8>> = corpus::of("requests").into_iter().map(|(_, bytes)| bytes).collect();
    for _ in 0..count {
        let bytes = mutate::one_of(&seeds, &mut rng);
        if waits(&bytes) {
            continue;
        }
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let checked = catch_unwind(AssertUnwindSafe(|| fixture.check(&bytes)));
        checked.unwrap_or_else(|_| panic!("ROTA_SEED={seed}: {shown}"));
    }
}

/// Requests that may wait for seconds, which no test has the time for.
fn waits(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    text.contains("wait") || text.contains("prefer")
}
