//! The glossary in `ARCHITECTURE.md` has the words of the code, and the code has no others for them.

use std::fs;

use crate::{architecture, root, rust_files, table};

/// The crates whose names and comments are held to the list of words that are not used. In the others, the
/// same words are ordinary English.
const JUDGED: [&str; 6] = ["client", "engine", "model", "server", "store", "store-sqlite"];

/// The source of all crates, in lower case.
fn sources() -> Vec<(String, String)> {
    let crates = root().join("crates");
    let files = rust_files(&crates);
    let in_source = |path: &std::path::PathBuf| path.iter().any(|part| part == "src");
    let read = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        (path.strip_prefix(&crates).unwrap().display().to_string(), text)
    };
    files.into_iter().filter(in_source).map(read).collect()
}

/// Whether a word or name occurs by itself, or as a part of a longer name between underscores.
fn occurs(text: &str, word: &str) -> bool {
    let is_letter = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !is_letter(before) && !is_letter(after)
    })
}

#[test]
fn every_term_occurs_in_the_code() {
    let terms = table(&architecture(), "## Glossary");
    assert!((30..=60).contains(&terms.len()), "{} terms", terms.len());
    let sources = sources();
    for row in terms {
        let (term, meaning) = (row[0].to_lowercase(), &row[1]);
        assert!(meaning.len() > 10, "{term} has no meaning");
        let name = term.replace(' ', "_");
        let known = sources.iter().any(|(_, text)| {
            [term.clone(), name.clone(), format!("{name}s")].iter().any(|word| occurs(text, word))
        });
        assert!(known, "the glossary explains '{term}', which the code never mentions");
    }
}

#[test]
fn no_banned_word_occurs_in_the_code() {
    let banned = table(&architecture(), "### Words that are not used");
    assert!(banned.len() >= 10);
    let mut found = Vec::new();
    let read = |path: &str| JUDGED.iter().any(|name| path.starts_with(&format!("{name}/")));
    for (path, text) in sources().into_iter().filter(|(path, _)| read(path)) {
        for row in &banned {
            for word in row[0].split(", ").map(|word| word.trim_matches('`').to_lowercase()) {
                if occurs(&text, &word) {
                    found.push(format!("{path}: '{word}'; use {}", row[1]));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
