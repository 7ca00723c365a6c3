//! The module map in `ARCHITECTURE.md` is the first sentence of each module's own documentation.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::{root, rust_files, update_or_compare};

/// In these crates and folders the modules of each folder are listed, too; elsewhere a folder is one line.
const IN_DETAIL: [&str; 3] = ["engine", "server", "store-sqlite"];

#[test]
fn the_module_map_is_that_of_the_tree() {
    update_or_compare("ARCHITECTURE.md", "module map", &module_map());
}

fn module_map() -> String {
    let crates = root().join("crates");
    let mut names: Vec<String> = fs::read_dir(&crates)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut map = String::new();
    for name in names {
        let _ = write!(map, "\n### `{name}`\n\n| module | what it is |\n| --- | --- |\n");
        for (module, sentence) in modules(&crates.join(&name).join("src"), &name) {
            let _ = writeln!(map, "| `{module}` | {sentence} |");
        }
    }
    map.push('\n');
    map
}

/// The modules of a crate with their first sentences.
fn modules(source: &Path, name: &str) -> BTreeMap<String, String> {
    let mut modules = BTreeMap::new();
    for file in rust_files(source) {
        let path = file.strip_prefix(source).unwrap().with_extension("");
        let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let is_folder = parts.last() == Some(&"mod");
        let parts = if is_folder { &parts[..parts.len() - 1] } else { &parts[..] };
        let depth = if IN_DETAIL.contains(&name) { usize::MAX } else { 1 };
        let is_root = matches!(parts, ["lib" | "main"]);
        let is_test = parts.iter().any(|part| matches!(*part, "tests" | "suite"));
        if is_root || is_test || parts.len() > depth {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let module = format!("{}{}", parts.join("/"), if is_folder { "/" } else { "" });
        let sentence = first_sentence(&text);
        assert!(!sentence.is_empty(), "{} has no documentation", file.display());
        modules.insert(module, sentence);
    }
    modules
}

fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph: Vec<&str> = lines.map(str::trim).take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.find(". ").unwrap_or(paragraph.trim_end_matches('.').len());
    paragraph[..end].replace('|', "\\|")
}
