//! The examples in the documents are run against a real server, and print what the documents say.
//!
//! In a block that is marked `console`, lines after `$ ` are commands and the others their output. A
//! comment `<!-- run ... -->` has commands that prepare the next examples. Ids, times and numbers may
//! differ; ids that a command prints are known to the commands after it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{Server, binary, command};
use crate::{CLI_PAGE, root};

const ADDRESS: &str = "127.0.0.1:8080";

#[test]
fn the_examples_of_the_readme_are_real() {
    check("README.md");
}

#[test]
fn the_examples_of_the_command_line_are_real() {
    let _page = CLI_PAGE.lock();
    check("docs/cli.md");
}

fn check(page: &str) {
    let path = root().join(page);
    let text = fs::read_to_string(&path).unwrap();
    let mut session = Session::start();
    let mut out = String::new();
    let mut wrong = Vec::new();
    let mut lines = text.lines();
    let mut examples = 0;
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let end = match line {
            "```console" => "```",
            "<!-- run" => "-->",
            _ => continue,
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
        if end == "-->" {
            let (said, ok) = session.run(&block.join("\n"));
            assert!(ok, "{page}: cannot prepare: {block:?}\n{said}");
            out.push_str(&block.join("\n"));
        } else {
            for example in split(&block) {
                examples += 1;
                let said = session.check(&example, &mut wrong);
                out.push_str(&format!(
                    "{}{}{said}",
                    example.typed,
                    if said.is_empty() { "" } else { "\n" }
                ));
                out.push('\n');
            }
            out.truncate(out.trim_end().len());
        }
        out.push_str(&format!("\n{end}\n"));
    }
    assert!(examples >= 5, "only {examples} examples were found in {page}");
    if !wrong.is_empty() && std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, out).unwrap();
        return;
    }
    let advice = "update them with: UPDATE_DOCS=1 cargo test -p rota --test docs";
    assert!(
        wrong.is_empty(),
        "examples in {page} are out of date:\n{}\n{advice}",
        wrong.join("\n")
    );
}

struct Example {
    /// With `$ ` and all its lines.
    typed: String,
    expected: String,
}

fn split(block: &[&str]) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut continues = false;
    for line in block {
        if line.starts_with("$ ") {
            examples.push(Example { typed: (*line).to_owned(), expected: String::new() });
        } else if let Some(example) = examples.last_mut() {
            let part = if continues { &mut example.typed } else { &mut example.expected };
            if continues || !part.is_empty() {
                part.push('\n');
            }
            part.push_str(line);
        }
        continues = line.ends_with('\\') && (continues || line.starts_with("$ "));
    }
    examples
}

/// A directory, a server and the ids that were seen so far.
struct Session {
    server: Server,
    home: TempDir,
    /// From the documents to this run.
    ids: BTreeMap<String, String>,
}

impl Session {
    fn start() -> Self {
        let home = TempDir::new().unwrap();
        std::os::unix::fs::symlink(binary(), home.path().join("rota")).unwrap();
        Self { server: Server::start(), home, ids: BTreeMap::new() }
    }

    /// Runs an example, notes it if its output is not as expected, and returns what the document
    /// should say.
    fn check(&mut self, example: &Example, wrong: &mut Vec<String>) -> String {
        let (said, _) = self.run(example.typed.trim_start_matches("$ "));
        let (documented, real) = (ids(&example.expected), ids(&said));
        if documented.len() == real.len() {
            self.ids.extend(documented.into_iter().zip(real));
        }
        let back =
            self.ids.iter().fold(said, |text, (document, real)| text.replace(real, document));
        if normal(&back) == normal(&example.expected) {
            return example.expected.clone();
        }
        wrong
            .push(format!("{}\nprints\n{back}\ninstead of\n{}\n", example.typed, example.expected));
        back
    }

    /// What a shell prints for this, and whether it succeeded.
    fn run(&self, script: &str) -> (String, bool) {
        let script = self
            .ids
            .iter()
            .fold(script.to_owned(), |text, (document, real)| text.replace(document, real));
        let address = self.server.address().to_string();
        let search = format!("{}:{}", self.home.path().display(), std::env::var("PATH").unwrap());
        let environment = command(&[]);
        let removed = environment.get_envs().filter(|(_, value)| value.is_none());
        let mut shell = Command::new("bash");
        for (name, _) in removed {
            shell.env_remove(name);
        }
        let output = shell
            .args(["-c", &format!("exec 2>&1\n{}", script.replace(ADDRESS, &address))])
            .env("PATH", search)
            .env("ROTA_URL", format!("http://{address}"))
            .env("COLUMNS", "100")
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap().replace(&address, ADDRESS);
        let said = said.replace(&shown(self.home.path()), ".");
        (said.trim_end().to_owned(), output.status.success())
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// All UUIDs in a text.
fn ids(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut start = 0;
    while start + 36 <= text.len() {
        match text.get(start..start + 36).filter(|part| is_id(part)) {
            Some(id) => {
                found.push(id.to_owned());
                start += 36;
            }
            None => start += 1,
        }
    }
    found
}

fn is_id(text: &str) -> bool {
    let places = [8, 13, 18, 23];
    text.char_indices().all(|(at, letter)| match places.contains(&at) {
        true => letter == '-',
        false => letter.is_ascii_digit() || ('a'..='f').contains(&letter),
    })
}

/// The words without what differs from run to run: ids, numbers, times, widths of columns, and where
/// lines are wrapped.
fn normal(text: &str) -> String {
    let text = ids(text).iter().fold(text.to_owned(), |text, id| text.replace(id, "ID"));
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = without_numbers(word);
        match (&*word, words.last().map(|before| &**before)) {
            // `2s ago`, `in 2h`, `now`.
            ("ago" | "ago)" | "ago:", Some(_)) => drop(words.pop()),
            (time, Some("in" | "(in")) if is_duration(time) => drop(words.pop()),
            ("now" | "(now)" | "now:", _) => {}
            _ => words.push(word),
        }
    }
    words.join(" ")
}

/// `0` for each number: `0s`, `0-0-0T0:0:0.0Z`, `0ms`.
fn without_numbers(word: &str) -> String {
    let mut out = String::new();
    for letter in word.chars() {
        let is_digit = letter.is_ascii_digit() || (letter == ',' && out.ends_with('0'));
        if !is_digit {
            out.push(letter);
        } else if !out.ends_with('0') {
            out.push('0');
        }
    }
    out
}

fn is_duration(word: &str) -> bool {
    word.starts_with('0') && word.chars().all(|letter| "0smhd):".contains(letter))
}
