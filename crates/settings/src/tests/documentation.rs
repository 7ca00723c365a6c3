use std::fmt::Write;
use std::path::Path;

use super::Sources;
use crate::declarations;
use crate::named::fields as named_fields;

const NAMED: &str = "## Tenants, pools, rate limits and replay rules";
const PAGE: &str = include_str!("../../../../docs/configuration.md");
const PAGE_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
const BEGIN: &str = "<!-- settings: generated, see the note below the table -->\n";
const END: &str = "<!-- end of settings -->";

#[test]
fn the_table_shows_what_is_declared() {
    let (before, rest) = PAGE.split_once(BEGIN).expect("the first marker");
    let (shown, after) = rest.split_once(END).expect("the second marker");
    let declared = rendered();
    if shown == declared {
        return;
    }
    if std::env::var("UPDATE_DOCS").is_ok_and(|update| update == "1") {
        let page = format!("{before}{BEGIN}{declared}{END}{after}");
        std::fs::write(Path::new(PAGE_PATH), page).unwrap();
        return;
    }
    panic!(
        "docs/configuration.md is behind the declared settings; to update it run\n    \
         UPDATE_DOCS=1 cargo test -p rota-settings"
    );
}

#[test]
fn the_example_file_is_valid() {
    let sources = Sources { file: Some(block("toml")), ..Sources::default() };
    let settings = sources.resolve().unwrap();
    let set = settings.table().into_iter().filter(|row| row.value != row.default);
    assert!(set.count() > 5, "the example changes something");
}

#[test]
fn the_example_error_is_what_is_printed() {
    let sources = Sources {
        flags: &[("limits.body_bytes", "512KiB")],
        environment: &[("ROTA_LISTEN", "8080")],
        file: Some("\n\n\n\n\n\nretention.complete = '7d'"),
    };
    let error = sources.resolve().unwrap_err();
    assert_eq!(block("text").trim_end(), error.to_string());
}

#[test]
fn the_example_of_named_tables_is_valid_in_both_forms() {
    let sources = Sources { file: Some(block_after(NAMED, "toml")), ..Sources::default() };
    let from_file = sources.resolve().unwrap();
    assert_eq!(from_file.tenants.len(), 3);
    assert!(!from_file.pools.is_empty() && !from_file.rate_limits.is_empty());

    let lines = block_after(NAMED, "sh").lines();
    let assignment = |line: &'static str| {
        let (name, value) = line.strip_prefix("export ").unwrap().split_once('=').unwrap();
        (name, value.strip_prefix('\'').unwrap().strip_suffix('\'').unwrap())
    };
    let variables: Vec<_> = lines.map(assignment).collect();
    let sources = Sources { environment: &variables, ..Sources::default() };
    let from_variables = sources.resolve().unwrap();
    assert_eq!(from_variables.tenants, from_file.tenants);
    assert_eq!(from_variables.pools, from_file.pools);
    assert_eq!(from_variables.rate_limits, from_file.rate_limits);
}

#[test]
fn every_field_of_the_named_tables_is_documented() {
    let (_, section) = PAGE.split_once(NAMED).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    for (table, field) in named_fields() {
        assert!(section.contains(&format!("`{field}`")), "{table}: {field}");
    }
}

fn rendered() -> String {
    let mut table = String::from(
        "\n| Key | Environment | Flag | Default | Meaning |\n| --- | --- | --- | --- | --- |\n",
    );
    for setting in declarations() {
        writeln!(
            table,
            "| `{}` | `{}` | `{}` | `{}` | {} Accepts {}. |",
            setting.key,
            setting.environment,
            setting.flag,
            setting.default,
            setting.help,
            setting.accepts,
        )
        .unwrap();
    }
    table.push('\n');
    table
}

/// The first fenced block of this language.
fn block(language: &str) -> &'static str {
    block_after("# Configuration", language)
}

fn block_after(heading: &str, language: &str) -> &'static str {
    let (_, below) = PAGE.split_once(heading).expect("the heading");
    let (_, rest) = below.split_once(&format!("```{language}\n")).expect("the block");
    let (block, _) = rest.split_once("```").expect("its end");
    block
}
