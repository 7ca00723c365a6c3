//! Formats the report as text.

use std::fmt::{Display, Formatter, Result};

use super::{CaseReport, Report, StepFailure, Verdict};

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for case in &self.cases {
            write!(out, "{case}")?;
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        writeln!(out, "{}", self.closing_line())
    }
}

impl Display for CaseReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let verdict = match self.verdict {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Known => "KNOWN",
        };
        let milliseconds = self.duration.as_millis();
        writeln!(
            out,
            "{verdict:5} {} {} {} ({milliseconds} ms)",
            self.file, self.test_id, self.name
        )?;
        if let Some(reason) = &self.reason {
            indented(out, "", reason)?;
        }
        // What fails as expected needs no more than its reason.
        if self.verdict == Verdict::Fail {
            self.failures.iter().try_for_each(|failure| write!(out, "{failure}"))?;
        }
        for warning in &self.warnings {
            writeln!(out, "      warning: {warning}")?;
        }
        match &self.server_log {
            Some(log) => indented(out, "server: ", log),
            None => Ok(()),
        }
    }
}

impl Display for StepFailure {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "      {}", self.step)?;
        for problem in &self.problems {
            writeln!(out, "        {}: {}", problem.what, problem.why)?;
            writeln!(out, "          expected {}", problem.expected)?;
            writeln!(out, "          actual   {}", super::cut(&problem.actual))?;
        }
        if let Some(request) = &self.request {
            indented(out, "  > ", request)?;
        }
        if let Some(response) = &self.response {
            indented(out, "  < ", response)?;
        }
        Ok(())
    }
}

fn indented(out: &mut Formatter<'_>, mark: &str, text: &str) -> Result {
    text.lines().try_for_each(|line| writeln!(out, "      {mark}{line}"))
}
