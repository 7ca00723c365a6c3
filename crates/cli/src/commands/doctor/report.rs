//! The doctor's report.

use serde_json::{Value, json};

use super::finding::{Finding, Level};
use crate::Failure;
use crate::output::{plural, print, print_json, printable};

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
            section.findings.iter().for_each(|finding| line(&mut out, finding));
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

fn line(out: &mut String, finding: &Finding) {
    let what = printable(&finding.what);
    out.push_str(&format!("  {:8} {:12} {what}\n", finding.level.word(), finding.check));
    if let Some(advice) = &finding.advice {
        out.push_str(&format!("  {:21} {advice}\n", ""));
    }
}
