//! The command `rota-conformance`. It exits with 0 if no case failed, 1 if one did, and 2 if nothing could be run.

use std::{
    io::{self, IsTerminal, Write},
    num::NonZeroUsize,
    path::PathBuf,
    process::ExitCode,
};

use clap::{ArgGroup, Parser};
use rota_conformance::{Mode, Options, Report, Target, run};

/// Run the public OJS conformance cases against a server
#[derive(Debug, Parser)]
#[command(name = "rota-conformance", version, group(ArgGroup::new("target").required(true)))]
struct Arguments {
    /// Folder with the case files
    #[arg(long, value_name = "DIR")]
    suites: PathBuf,

    /// Run only the cases whose path below the folder starts like this; may be repeated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,

    /// A server that is running already; all cases share it
    #[arg(long, group = "target", value_name = "URL")]
    url: Option<String>,

    /// A server program, started afresh for each case
    #[arg(long, group = "target", value_name = "PATH")]
    server_bin: Option<PathBuf>,

    /// With --server-bin: put the program's gateway in front of each server (`federate`)
    #[arg(long, requires = "server_bin")]
    gateway: bool,

    /// Check everything, and fail a case that is not fully understood
    #[arg(long)]
    strict: bool,

    /// Cases to run at a time [default: 8, or 1 with --url]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Print the report as one JSON document
    #[arg(long)]
    json: bool,

    /// List of known failures, in place of the one that is compiled in
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
}

fn main() -> ExitCode {
    // A usage error ends with code 2 here, by clap itself.
    let arguments = Arguments::parse();
    let json = arguments.json;
    let report = match run(&arguments.into_options()) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("rota-conformance: {error}");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = print(&report, json) {
        eprintln!("rota-conformance: cannot print the report: {error}");
        return ExitCode::from(2);
    }
    match report.is_success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// With `--json` standard output is the document alone, so the closing line goes to standard error.
fn print(report: &Report, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)?;
        eprintln!("{}", report.closing_line());
    } else {
        write!(out, "{report}")?;
    }
    out.flush()
}

impl Arguments {
    fn into_options(self) -> Options {
        let target = match (self.url, self.server_bin) {
            (Some(url), _) => Target::Url(url),
            (None, binary) => {
                let binary = binary.expect("clap requires one of the targets");
                if self.gateway { Target::Gateway(binary) } else { Target::Binary(binary) }
            }
        };
        Options {
            only: self.only,
            mode: if self.strict { Mode::Strict } else { Mode::Lenient },
            jobs: self.jobs.map(NonZeroUsize::get),
            known: self.known,
            progress: io::stderr().is_terminal(),
            ..Options::new(self.suites, target)
        }
    }
}
