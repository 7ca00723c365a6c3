//! The table of commands in `docs/cli.md` is what the program says about itself.

use std::fmt::Write;

use crate::support::command;
use crate::{CLI_PAGE, update_or_compare};

#[test]
fn the_table_of_commands_is_that_of_the_program() {
    let _page = CLI_PAGE.lock();
    update_or_compare("docs/cli.md", "commands", &table());
}

fn table() -> String {
    let mut out = String::from("\n| Command | What it does | Subcommands |\n| --- | --- | --- |\n");
    for (name, about) in entries(&help(&[])) {
        if name == "help" {
            continue;
        }
        let inner = entries(&help(&[&name]));
        let inner: Vec<String> = inner.iter().map(|(name, _)| format!("`{name}`")).collect();
        let inner: Vec<String> = inner.into_iter().filter(|name| name != "`help`").collect();
        let _ = writeln!(out, "| `rota {name}` | {about} | {} |", inner.join(", "));
    }
    out.push('\n');
    out
}

fn help(path: &[&str]) -> String {
    let output = command(path).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Names and descriptions of the commands in a help text: those in its unnamed lists.
fn entries(help: &str) -> Vec<(String, String)> {
    let lists = help.split("\n\n").filter(|part| {
        let title = part.trim_start().lines().next().unwrap_or_default();
        title.ends_with(':') && !["Options:", "Examples:", "Arguments:"].contains(&title)
    });
    let lines = lists.flat_map(|part| part.trim_start().lines().skip(1));
    let entry = |line: &str| {
        let (name, about) = line.strip_prefix("  ")?.split_once("  ")?;
        let is_name = name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        (is_name && !name.is_empty() && !name.starts_with('-'))
            .then(|| (name.to_owned(), about.trim().to_owned()))
    };
    lines.filter_map(entry).collect()
}
