//! Output of `rota work`.

use std::io::Write;

use rota_client::Job;
use rota_client::worker::{Ending, Event, Finished, Reported};
use serde_json::{Value, json};

use crate::output::{milliseconds, plural, printable, relative, remark};

/// Logs starts and ends to standard error, and prints results for scripts to standard output.
pub(super) struct Log {
    pub quiet: bool,
    pub json: bool,
}

impl Log {
    pub fn tell(&self, event: &Event<'_>) {
        let text = match event {
            Event::Finished(finished) => {
                if self.json {
                    print_line(&line(finished));
                }
                ended(finished)
            }
            Event::Started(job) => format!("started   {}", named(job)),
            Event::Ready { worker_id } => format!("ready     {worker_id}"),
            Event::Away(error) => return remark(&format!("waiting for the server: {error}")),
            Event::Back => return remark("the server is back"),
            Event::Quieted => return remark("an operator said: fetch no more for now"),
            Event::Resumed => return remark("an operator said: fetch again"),
            Event::Draining { running: 0 } => "ending".to_owned(),
            Event::Draining { running } => {
                let running = plural(*running as u64, "command", "commands");
                format!("ending with {running} left to finish; a second signal stops at once")
            }
            Event::Stopping { running } => {
                format!("stopping {}", plural(*running as u64, "command", "commands"))
            }
        };
        if !self.quiet {
            remark(&printable(&text));
        }
    }
}

/// Keep working even if the reader of the output has gone.
fn print_line(value: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}

fn named(job: &Job) -> String {
    format!("{} {} attempt {}", job.kind, job.id, job.attempt)
}

fn ended(finished: &Finished) -> String {
    let name = named(&finished.job);
    let duration = milliseconds(finished.duration.as_secs_f64() * 1_000.0);
    let text = match &finished.ending {
        Ending::Completed => format!("completed {name} in {duration}"),
        Ending::Failed(failure) => {
            format!("failed    {name} in {duration}: {}{}", failure.message, what_next(finished))
        }
        Ending::HandedBack => format!("returned  {name} after {duration}"),
        Ending::Unstarted => format!("returned  {name} unstarted"),
        Ending::Cancelled => format!("cancelled {name} after {duration}"),
        Ending::Lost => format!("lost      {name} after {duration}: it is not ours any more"),
    };
    match &finished.reported {
        Reported::Taken(taken) => match &taken.left_out {
            Some(error) => format!("{text} (kept without its output: {error})"),
            None => text,
        },
        Reported::Refused(error) => format!("{text} (the server did not take it: {error})"),
        Reported::GivenUp(error) => format!("{text} (the server does not know: {error})"),
        Reported::Unneeded => text,
    }
}

fn what_next(finished: &Finished) -> String {
    let settled = match &finished.reported {
        Reported::Taken(taken) => taken.settled.as_ref(),
        _ => None,
    };
    let Some(settled) = settled else { return String::new() };
    match &settled.next_attempt_at {
        Some(time) => format!("; again {}", relative(time)),
        None => format!("; {}", settled.state),
    }
}

fn line(finished: &Finished) -> Value {
    let job = &finished.job;
    let (outcome, failure) = match &finished.ending {
        Ending::Completed => ("completed", None),
        Ending::Failed(failure) => ("failed", Some(failure)),
        Ending::HandedBack | Ending::Unstarted => ("returned", None),
        Ending::Cancelled => ("cancelled", None),
        Ending::Lost => ("lost", None),
    };
    let (reported, settled) = match &finished.reported {
        Reported::Taken(taken) => ("taken", taken.settled.as_ref()),
        Reported::Refused(_) => ("rejected", None),
        Reported::GivenUp(_) => ("given_up", None),
        Reported::Unneeded => ("unneeded", None),
    };
    json!({
        "job_id": job.id,
        "type": job.kind,
        "queue": job.queue,
        "attempt": job.attempt,
        "outcome": outcome,
        "duration_ms": finished.duration.as_millis() as u64,
        "error": failure.map(|failure| json!({
            "type": failure.kind,
            "message": failure.message,
            "retryable": failure.retryable,
            "details": failure.details,
        })),
        "reported": reported,
        "state": settled.map(|settled| settled.state.clone()),
        "next_attempt_at": settled.and_then(|settled| settled.next_attempt_at.clone()),
    })
}
