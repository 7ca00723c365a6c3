//! What the documents say about the code is compared with the code.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod examples;
mod gateway;
mod glossary;
mod module_map;
mod permissions;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Held by tests that may write `docs/cli.md`.
static CLI_PAGE: Mutex<()> = Mutex::new(());

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn architecture() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// All `.rs` files below a folder, in the order of their paths.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The rows of the Markdown table below a heading, without its header, split into cells.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let below = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{heading}")).1;
    let rows = below.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells =
        |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// Compares the part of a page between the markers `<!-- name: begin -->` and `<!-- name: end -->` with
/// what it should be, or writes it if `UPDATE_DOCS` is set.
#[track_caller]
fn update_or_compare(page: &str, name: &str, wanted: &str) {
    let path = root().join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page}: no {begin}"));
    let (current, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page}: no {end}"));
    if current == wanted {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, format!("{before}{begin}{wanted}{end}{after}")).unwrap();
        return;
    }
    let differs = current.lines().zip(wanted.lines()).find(|(is, wanted)| is != wanted);
    panic!(
        "the {name} in {page} are out of date: {differs:?}\n\
         update them with: UPDATE_DOCS=1 cargo test -p rota --test docs"
    );
}
