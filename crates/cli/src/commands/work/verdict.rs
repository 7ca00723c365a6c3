//! Decides the outcome of a job from how its command ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rota_client::worker::{Failure, Outcome};
use rustix::process::Signal;
use serde_json::json;
use serde_json::value::RawValue;

use super::capture::Captured;
use super::compact::compact;

/// Servers accept errors of 64 KiB in JSON, where a byte may take six.
const KEPT_WITH_ERRORS: usize = 4 << 10;
const LONGEST_MESSAGE: usize = 500;

/// A command's output.
pub(super) struct Printed {
    pub stdout: Captured,
    pub stderr: Captured,
}

impl Printed {
    pub fn keep_with(&self, failure: Failure) -> Failure {
        let kept = [("stdout", &self.stdout), ("stderr", &self.stderr)];
        kept.into_iter().fold(failure, |failure, (name, printed)| {
            match printed.end_of(KEPT_WITH_ERRORS) {
                nothing if nothing.is_empty() => failure,
                end => failure.detail(name, end),
            }
        })
    }

    fn last_words(&self) -> Option<String> {
        let text = self.stderr.end_of(KEPT_WITH_ERRORS);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().take(LONGEST_MESSAGE).collect())
    }
}

pub(super) fn of(status: ExitStatus, printed: &Printed, no_retry_exit: u8) -> Outcome {
    if status.success() {
        return Outcome::Done(result(&printed.stdout));
    }
    let failure = match (status.code(), status.signal()) {
        (Some(code), _) => {
            let text = printed.last_words().unwrap_or_else(|| format!("exit status {code}"));
            let failure = Failure::new(format!("exit.{code}"), text).detail("exit_code", code);
            if code == i32::from(no_retry_exit) { failure.no_retry() } else { failure }
        }
        (None, signal) => {
            let name = signal_name(signal.unwrap_or_default());
            let killed = format!("killed by {name}");
            let text = match printed.last_words() {
                Some(words) => format!("{killed}: {words}"),
                None => killed,
            };
            Failure::new(format!("signal.{name}"), text).detail("signal", name)
        }
    };
    printed.keep_with(failure).into()
}

/// JSON output is the result unchanged; anything else is text in an object.
fn result(stdout: &Captured) -> Option<Box<RawValue>> {
    let text = stdout.text();
    if text.trim().is_empty() {
        return None;
    }
    let shaped = match stdout.cut() {
        0 => match serde_json::from_str::<Box<RawValue>>(&text) {
            Ok(json) => return RawValue::from_string(compact(json.get())).ok(),
            Err(_) => json!({"output": text}),
        },
        cut => json!({"output": text, "cut_bytes": cut}),
    };
    RawValue::from_string(shaped.to_string()).ok()
}

fn signal_name(number: i32) -> String {
    const NAMES: [(Signal, &str); 16] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
    ];
    let known = NAMES.iter().find(|(signal, _)| signal.as_raw() == number);
    known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}
