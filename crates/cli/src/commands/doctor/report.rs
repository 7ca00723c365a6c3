//! The doctor's report.

use serde_json::{Value, json};

use super::finding::{Finding, Level};
use crate::Failure;
use crate::output::{plural, print, print_json, printable, width, wrapped};

/// Where the text of a finding begins, in characters.
const INDENT: usize = 24;
/// Narrower terminals have no room for text beside the name of a check.
const MIN_WIDTH: usize = 60;

/// All findings, grouped by what was checked.
#[derive(Debug, Default)]
pub(super) struct Report {
    sections: Vec<Section>,
}

#[derive(Debug)]
struct Section {
    area: &'static str,
    title: String,
    findings: Vec<Finding>,
}

impl Report {
    pub fn add(&mut self, area: &'static str, title: String, findings: Vec<Finding>) {
        self.sections.push(Section { area, title, findings });
    }

    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    pub fn problems(&self) -> u64 {
        self.count(Level::Problem)
    }

    pub fn print(&self, as_json: bool) -> Result<(), Failure> {
        if as_json { print_json(&self.json()) } else { print(&self.text()) }
    }

    fn count(&self, level: Level) -> u64 {
        let all = self.sections.iter().flat_map(|section| &section.findings);
        all.filter(|finding| finding.level == level).count() as u64
    }

    fn json(&self) -> Value {
        let sections: Vec<Value> = self.sections.iter().map(Section::json).collect();
        json!({
            "checked": sections,
            "warnings": self.count(Level::Warning),
            "problems": self.problems(),
        })
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for section in &self.sections {
            out.push_str(&format!("{}\n", section.title));
            section.findings.iter().for_each(|finding| line(&mut out, finding, width()));
            out.push('\n');
        }
        let warnings = plural(self.count(Level::Warning), "warning", "warnings");
        let problems = plural(self.problems(), "problem", "problems");
        out.push_str(&match (self.count(Level::Warning), self.problems()) {
            (0, 0) => "No problems found.\n".to_owned(),
            (_, 0) => format!("{warnings}, no problems.\n"),
            (0, _) => format!("{problems}.\n"),
            _ => format!("{problems}, {warnings}.\n"),
        });
        out
    }
}

impl Section {
    fn json(&self) -> Value {
        json!({"area": self.area, "subject": self.title, "findings": self.findings})
    }
}

/// A finding and its advice, in lines of at most `width` characters. On a narrow terminal, the text begins
/// below the name of the check.
fn line(out: &mut String, finding: &Finding, width: usize) {
    let is_narrow = width < MIN_WIDTH;
    let indent = if is_narrow { 4 } else { INDENT };
    let room = width.saturating_sub(indent).max(1);
    let texts = [Some(&finding.what), finding.advice.as_ref()];
    let mut lines = texts.into_iter().flatten().flat_map(|text| wrapped(&printable(text), room));
    let title = format!("  {:8} {}", finding.level.word(), finding.check);
    match if is_narrow { None } else { lines.next() } {
        Some(first) => out.push_str(&format!("{title:INDENT$}{first}\n")),
        None => out.push_str(&format!("{title}\n")),
    }
    lines.for_each(|line| out.push_str(&format!("{:indent$}{line}\n", "")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_fit_the_terminal() {
        let finding = Finding {
            check: "data",
            level: Level::Warning,
            what: "The server uses another directory: /var/lib/rota, not /srv/rota.".to_owned(),
            advice: Some(
                "To check the server's data: `rota doctor --data /var/lib/rota`.".to_owned(),
            ),
        };
        for width in [40, 80] {
            let mut out = String::new();
            line(&mut out, &finding, width);
            assert!(out.lines().all(|line| line.chars().count() <= width), "{out}");
            assert!(out.contains("warning  data"), "{out}");
        }
        let mut out = String::new();
        line(&mut out, &finding, usize::MAX);
        assert_eq!(out.lines().count(), 2, "{out}");
    }
}
