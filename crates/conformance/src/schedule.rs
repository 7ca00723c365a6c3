//! Runs the selected cases, several concurrently.

use std::{
    fs,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    assertion::Problem,
    case::Case,
    error::Error,
    http::Client,
    known::Known,
    options::{Options, Target},
    port::Ports,
    progress::Progress,
    report::{CaseReport, Report, StepFailure, Verdict},
    runner::{self, Outcome},
    server_process::ServerProcess,
    suite::{self, CaseFile},
};

/// Runs every selected case. An error means that nothing was run.
pub fn run(options: &Options) -> Result<Report, Error> {
    let options = &options.resolved()?;
    let known = Known::load(options.known.as_deref())?;
    let selection = suite::select(&options.suites, &options.only)?;
    let started = Instant::now();
    let reports = run_all(&queue(&selection.selected), &known, options);
    Ok(Report::new(reports, known.stale(&selection.all), started.elapsed()))
}

struct Queued<'a> {
    file: &'a CaseFile,
    case: Result<Case, String>,
}

/// The cases that wait longest come first, since the run cannot end before them.
fn queue(files: &[CaseFile]) -> Vec<Queued<'_>> {
    let mut queue: Vec<_> = files
        .iter()
        .map(|file| {
            let text = fs::read_to_string(&file.path).map_err(|error| error.to_string());
            Queued { file, case: text.and_then(|text| Case::parse(&text)) }
        })
        .collect();
    queue.sort_by_key(|queued| {
        std::cmp::Reverse(queued.case.as_ref().map_or(Duration::ZERO, Case::waiting))
    });
    queue
}

fn run_all(queue: &[Queued<'_>], known: &Known, options: &Options) -> Vec<CaseReport> {
    let next = AtomicUsize::new(0);
    let finished = Mutex::new((Vec::new(), Progress::new(options.progress, queue.len())));
    let ports = Ports::default();
    thread::scope(|scope| {
        for _ in 0..options.parallel().min(queue.len()) {
            scope.spawn(|| {
                while let Some(queued) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = run_one(queued, known, options, &ports);
                    let mut finished = finished.lock().unwrap_or_else(PoisonError::into_inner);
                    finished.1.finished(&report.file, report.verdict == Verdict::Fail);
                    finished.0.push(report);
                }
            });
        }
    });
    let (reports, progress) = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress.clear();
    reports
}

fn run_one(queued: &Queued<'_>, known: &Known, options: &Options, ports: &Ports) -> CaseReport {
    let started = Instant::now();
    let mut report = CaseReport {
        file: queued.file.name.clone(),
        test_id: String::new(),
        name: String::new(),
        verdict: Verdict::Fail,
        duration: Duration::ZERO,
        reason: None,
        failures: Vec::new(),
        warnings: Vec::new(),
        server_log: None,
    };
    match &queued.case {
        Ok(case) => {
            report.test_id = case.test_id.clone();
            report.name = case.name.clone();
            match attempt(case, options, ports, &mut report) {
                Ok(()) => judge(&mut report, known),
                Err(why) => report.reason = Some(why),
            }
        }
        Err(why) => report.reason = Some(why.clone()),
    }
    report.duration = started.elapsed();
    report
}

/// Runs the case, or says why it could not be run at all: that is never a known failure.
fn attempt(
    case: &Case,
    options: &Options,
    ports: &Ports,
    report: &mut CaseReport,
) -> Result<(), String> {
    if options.mode.is_strict() && !case.unknown.is_empty() {
        let problems = case.unknown.iter().cloned().map(Problem::of_unknown).collect();
        report.failures.push(StepFailure::new("the case as written", None, None, problems));
        return Err("the case says something that is not understood".into());
    }
    report.warnings.extend(case.unknown.iter().cloned());
    match &options.target {
        Target::Url(url) => {
            let outcome = runner::run(case, &Client::new(url), options.mode);
            take(outcome, report);
        }
        Target::Binary(binary) | Target::Gateway(binary) => {
            let mut server = match options.target {
                Target::Gateway(_) => ServerProcess::start_gateway(binary, ports)?,
                _ => ServerProcess::start(binary, ports)?,
            };
            let outcome = runner::run(case, &Client::new(&server.url()), options.mode);
            let crash = server.crash();
            if outcome.unanswered || crash.is_some() {
                report.server_log = Some(server.log());
            }
            take(outcome, report);
            report.warnings.extend(server.stop());
            if let Some(crash) = crash {
                return Err(crash);
            }
        }
    }
    Ok(())
}

fn take(outcome: Outcome, report: &mut CaseReport) {
    report.failures.extend(outcome.failures);
    report.warnings.extend(outcome.warnings);
}

fn judge(report: &mut CaseReport, known: &Known) {
    let failed = !report.failures.is_empty();
    let reason = known.reason(&report.file);
    (report.verdict, report.reason) = match (failed, reason) {
        (true, Some(reason)) => (Verdict::Known, Some(reason.into())),
        (true, None) => (Verdict::Fail, None),
        (false, Some(_)) => (
            Verdict::Fail,
            Some("no longer fails: remove it from the list of known failures".into()),
        ),
        (false, None) => (Verdict::Pass, None),
    };
}
