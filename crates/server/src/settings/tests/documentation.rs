use std::fmt::Write;
use std::path::Path;

use super::Sources;
use crate::settings::declarations;

const PAGE: &str = include_str!("../../../../../docs/configuration.md");
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
         UPDATE_DOCS=1 cargo test -p rota-server settings::"
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
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    block
}
