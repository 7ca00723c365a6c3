//! Runs one step: waits, sends its request and checks the response.

use std::thread;

use crate::{
    action::Action,
    assertion::{self, Findings, Problem},
    case::Step,
    context::Context,
    http::{Client, Request, Response},
    mode::Mode,
    template,
};

#[derive(Debug, Default)]
pub struct Exchange {
    pub request: Option<Request>,
    pub response: Option<Response>,
    pub findings: Findings,
    /// The step could not be carried out, so the steps after it have nothing to build on.
    pub broken: Option<Breakage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakage {
    /// The request refers to something that no earlier step has left.
    NotSent,
    /// There was no answer.
    Unanswered,
}

pub fn perform(step: &Step, context: &Context, client: &Client, mode: Mode) -> Exchange {
    thread::sleep(step.delay);
    match &step.action {
        Action::Send(_) | Action::Operate(_) => match request(step, context) {
            Ok(request) => send(step, request, context, client, mode),
            Err(why) => broken(None, Breakage::NotSent, &why),
        },
        Action::Assert => Exchange {
            findings: assertion::check(step, None, context, mode),
            ..Exchange::default()
        },
        // Unknown actions were told when the case was read.
        Action::Wait | Action::Unknown(_) => Exchange::default(),
    }
}

/// Sends as often as the step says, and stops at the first answer that is not as expected.
fn send(step: &Step, request: Request, context: &Context, client: &Client, mode: Mode) -> Exchange {
    let mut exchange = Exchange { request: Some(request.clone()), ..Exchange::default() };
    for _ in 0..step.repeat {
        match client.send(&request) {
            Ok(response) => {
                exchange.findings = assertion::check(step, Some(&response), context, mode);
                exchange.response = Some(response);
            }
            Err(why) => return broken(Some(request), Breakage::Unanswered, &why),
        }
        if !exchange.findings.problems.is_empty() {
            break;
        }
    }
    exchange
}

fn request(step: &Step, context: &Context) -> Result<Request, String> {
    let (method, path, body) = match &step.action {
        Action::Operate(operation) => {
            let arguments = template::fill(&step.request.clone().into(), context)?;
            operation.request(arguments.as_object().unwrap_or(&step.request))?
        }
        Action::Send(method) => {
            let body = step.body.as_ref().map(|body| template::fill(body, context)).transpose()?;
            (method.clone(), template::fill_text(&step.path, context)?, body)
        }
        _ => return Err("the step sends nothing".into()),
    };
    let headers = step.headers.iter().map(|(name, value)| {
        template::fill_text(value, context).map(|value| (name.clone(), value))
    });
    Ok(Request {
        method,
        path,
        headers: headers.collect::<Result<_, _>>()?,
        body: step.raw_body.clone().or_else(|| body.map(|body| body.to_string())),
    })
}

fn broken(request: Option<Request>, breakage: Breakage, why: &str) -> Exchange {
    let problem = Problem {
        what: "request".into(),
        expected: "an answer".into(),
        actual: "none".into(),
        why: why.into(),
    };
    let findings = Findings { problems: vec![problem], warnings: Vec::new() };
    Exchange { request, response: None, findings, broken: Some(breakage) }
}
