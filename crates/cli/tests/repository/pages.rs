//! Pages for contributors name files, links and code that exist.

use crate::{read, root};

const PAGES: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    "fuzz/README.md",
];
/// What begins like this, between backquotes, is a path.
const DIRECTORIES: [&str; 6] = ["crates/", "docs/", "examples/", "fuzz/", "scripts/", ".ci/"];

#[test]
fn snippets_are_in_the_files_that_are_named_with_them() {
    let page = read("CONTRIBUTING.md");
    let mut checked = 0;
    for block in page.split("\n```rust ").skip(1) {
        let (path, rest) = block.split_once('\n').expect("the path ends the line");
        let (snippet, _) = rest.split_once("\n```").expect("the snippet ends");
        let source = read(path);
        assert!(
            source.contains(snippet),
            "CONTRIBUTING.md is out of date, {path} does not contain:\n{snippet}"
        );
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} snippets were found");
}

#[test]
fn tests_that_are_named_exist() {
    let page = read("CONTRIBUTING.md");
    let name = "a_waiting_fetch_is_answered_when_a_job_is_enqueued";
    assert!(page.contains(&format!("--test protocol {name}`")), "the command to run one test");
    assert!(read("crates/cli/tests/protocol/fetch_waiting.rs").contains(&format!("fn {name}()")));
}

#[test]
fn paths_exist() {
    for page in PAGES {
        let text = read(page);
        for quoted in text.split('`').skip(1).step_by(2) {
            let path = quoted.split([' ', '\n', '{']).next().unwrap_or_default();
            if DIRECTORIES.iter().any(|directory| path.starts_with(directory)) {
                assert!(root().join(path).exists(), "{page} names {path}, which does not exist");
            }
        }
    }
}

#[test]
fn links_lead_somewhere() {
    for page in PAGES {
        let text = read(page);
        let base = root().join(page);
        let base = base.parent().expect("a page is in a directory");
        for after in text.split("](").skip(1) {
            let target = after.split(')').next().unwrap_or_default();
            if target.starts_with("http") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { root().join(page) } else { base.join(path) };
            let linked = std::fs::read_to_string(&file);
            assert!(file.exists(), "{page} links to {target}, which does not exist");
            let found = anchor.is_empty() || linked.is_ok_and(|text| has_anchor(&text, anchor));
            assert!(found, "{page} links to {target}, but there is no such heading");
        }
    }
}

/// Whether a heading of this page has the anchor, by the rules of GitHub.
fn has_anchor(page: &str, anchor: &str) -> bool {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    });
    anchors.into_iter().any(|own| own == anchor)
}
