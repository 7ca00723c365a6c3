//! Runs the steps of one case against a server.

use std::thread;

use serde_json::Value;

use crate::{
    assertion::{Problem, find_in_body},
    case::{Case, Step},
    context::Context,
    exchange::{Breakage, Exchange, perform},
    http::Client,
    mode::Mode,
    path::Path,
    report::StepFailure,
};

#[derive(Debug, Default)]
pub struct Outcome {
    pub failures: Vec<StepFailure>,
    pub warnings: Vec<String>,
    /// The server gave no answer, so its log may say more.
    pub unanswered: bool,
}

/// A step that fails does not end the case: what comes after it may tell more. Only a step that
/// could not be carried out at all does.
pub fn run(case: &Case, client: &Client, mode: Mode) -> Outcome {
    let mut outcome = Outcome::default();
    let mut context = Context::default();
    for group in case.groups() {
        let steps = &case.steps[group];
        let exchanges = perform_together(steps, &context, client, mode);
        let mut broken = false;
        for (step, exchange) in steps.iter().zip(exchanges) {
            broken |= exchange.broken.is_some();
            outcome.unanswered |= exchange.broken == Some(Breakage::Unanswered);
            conclude(step, exchange, &mut context, &mut outcome);
        }
        if broken {
            break;
        }
    }
    outcome
}

fn perform_together(
    steps: &[Step],
    context: &Context,
    client: &Client,
    mode: Mode,
) -> Vec<Exchange> {
    if let [step] = steps {
        return vec![perform(step, context, client, mode)];
    }
    thread::scope(|scope| {
        let running: Vec<_> =
            steps.iter().map(|step| scope.spawn(|| perform(step, context, client, mode))).collect();
        running.into_iter().map(|step| step.join().expect("a step does not panic")).collect()
    })
}

/// Keeps what later steps need, and reports what was wrong.
fn conclude(step: &Step, exchange: Exchange, context: &mut Context, outcome: &mut Outcome) {
    let Exchange { request, response, findings, .. } = exchange;
    let mut problems = findings.problems;
    if let Some(response) = &response {
        context.record(&step.id, response);
        problems.extend(capture(step, &response.json, context));
    }
    outcome.warnings.extend(findings.warnings);
    if !problems.is_empty() {
        let failure = StepFailure::new(&step.id, request.as_ref(), response.as_ref(), problems);
        outcome.failures.push(failure);
    }
}

fn capture(step: &Step, body: &Value, context: &mut Context) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, path) in &step.captures {
        let found = Path::parse(path)
            .map(|path| find_in_body(&path, body, step.action.looks_into_job()))
            .and_then(|value| value.ok_or_else(|| "there is nothing to capture".into()));
        match found {
            Ok(value) => context.capture(name, value),
            Err(why) => problems.push(Problem {
                what: format!("capture of {name}"),
                expected: format!("a value at {path}"),
                actual: "nothing".into(),
                why,
            }),
        }
    }
    problems
}
