//! The results of a run.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::{
    assertion::Problem,
    http::{Request, Response},
};

mod render;

/// Bodies are cut to this many characters: enough to see what went wrong.
const SHOWN: usize = 800;

#[derive(Debug, Serialize)]
pub struct Report {
    pub passed: usize,
    pub failed: usize,
    /// Cases that failed as the list of known failures says.
    pub known: usize,
    #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
    pub duration: Duration,
    pub warnings: Vec<String>,
    /// In the order of their files.
    pub cases: Vec<CaseReport>,
}

#[derive(Debug, Serialize)]
pub struct CaseReport {
    pub file: String,
    pub test_id: String,
    pub name: String,
    pub verdict: Verdict,
    #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
    pub duration: Duration,
    /// Why the case is known to fail, or why it fails apart from its steps.
    pub reason: Option<String>,
    pub failures: Vec<StepFailure>,
    pub warnings: Vec<String>,
    /// The end of what the server wrote, where it may explain the failure.
    pub server_log: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Fail,
    Known,
}

#[derive(Debug, Serialize)]
pub struct StepFailure {
    pub step: String,
    pub request: Option<String>,
    pub response: Option<String>,
    pub problems: Vec<Problem>,
}

impl Report {
    pub fn new(mut cases: Vec<CaseReport>, warnings: Vec<String>, duration: Duration) -> Report {
        cases.sort_by(|a, b| a.file.cmp(&b.file));
        let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count();
        Report {
            passed: count(Verdict::Pass),
            failed: count(Verdict::Fail),
            known: count(Verdict::Known),
            duration,
            warnings,
            cases,
        }
    }

    pub fn is_success(&self) -> bool {
        self.failed == 0
    }

    /// `N passed, N failed`, and the known failures as skipped.
    pub fn closing_line(&self) -> String {
        let counts = format!("{} passed, {} failed", self.passed, self.failed);
        match self.known {
            0 => counts,
            known => format!("{counts}, {known} skipped"),
        }
    }
}

impl StepFailure {
    pub fn new(
        step: &str,
        request: Option<&Request>,
        response: Option<&Response>,
        problems: Vec<Problem>,
    ) -> StepFailure {
        StepFailure {
            step: step.into(),
            request: request.map(show_request),
            response: response.map(show_response),
            problems,
        }
    }
}

fn show_request(request: &Request) -> String {
    let mut shown = format!("{} {}", request.method, request.path);
    for (name, value) in &request.headers {
        shown.push_str(&format!("\n{name}: {value}"));
    }
    if let Some(body) = &request.body {
        shown.push_str(&format!("\n{}", cut(body)));
    }
    shown
}

fn show_response(response: &Response) -> String {
    let mut shown = response.status.to_string();
    for (name, value) in &response.headers {
        shown.push_str(&format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes())));
    }
    if !response.text.is_empty() {
        shown.push_str(&format!("\n{}", cut(&response.text)));
    }
    shown
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ... ({} bytes in all)", &text[..end], text.len()),
        None => text.into(),
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_millis().try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(verdict: Verdict) -> CaseReport {
        CaseReport {
            file: "a/b.json".into(),
            test_id: "T-1".into(),
            name: "a case".into(),
            verdict,
            duration: Duration::from_millis(12),
            reason: None,
            failures: Vec::new(),
            warnings: Vec::new(),
            server_log: None,
        }
    }

    #[test]
    fn the_closing_line_counts_known_failures_as_skipped() {
        let report = |verdicts: &[Verdict]| {
            let cases = verdicts.iter().map(|verdict| case(*verdict)).collect();
            Report::new(cases, Vec::new(), Duration::ZERO)
        };
        use Verdict::{Fail, Known, Pass};
        assert_eq!(report(&[Pass, Fail, Pass]).closing_line(), "2 passed, 1 failed");
        assert_eq!(report(&[Pass, Known]).closing_line(), "1 passed, 0 failed, 1 skipped");
        assert!(report(&[Pass, Known]).is_success());
        assert!(!report(&[Fail]).is_success());
    }

    #[test]
    fn long_bodies_are_cut_between_characters() {
        let shown = cut(&"ä".repeat(SHOWN + 1));
        assert!(shown.starts_with(&"ä".repeat(SHOWN)));
        assert!(shown.ends_with("(1602 bytes in all)"));
        assert_eq!(cut("short"), "short");
    }
}
