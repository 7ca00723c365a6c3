//! Command-line options of `rota-conformance`.

use std::path::PathBuf;

use crate::{error::Error, mode::Mode};

/// What to run, against what, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder with the case files.
    pub suites: PathBuf,
    /// Starts of paths below that folder; all cases when empty.
    pub only: Vec<String>,
    pub target: Target,
    pub mode: Mode,
    /// How many cases run at a time. Without a number: several where each has a server of its own,
    /// and one where they share a server and would see each other's jobs.
    pub jobs: Option<usize>,
    /// A list of known failures in place of the one that is compiled in.
    pub known: Option<PathBuf>,
    /// Whether to show on standard error how far the run is.
    pub progress: bool,
}

#[derive(Debug, Clone)]
pub enum Target {
    /// A server that runs already and is shared by all cases.
    Url(String),
    /// A program that is started afresh for each case.
    Binary(PathBuf),
    /// The same, with a gateway in front of it.
    Gateway(PathBuf),
}

impl Options {
    pub fn new(suites: impl Into<PathBuf>, target: Target) -> Options {
        Options {
            suites: suites.into(),
            only: Vec::new(),
            target,
            mode: Mode::default(),
            jobs: None,
            known: None,
            progress: false,
        }
    }

    /// With the server's program as an absolute path, so that a bare name means the file that was
    /// checked and not one from the search path.
    pub(crate) fn resolved(&self) -> Result<Options, Error> {
        let mut options = self.clone();
        if let Target::Binary(binary) | Target::Gateway(binary) = &mut options.target {
            match binary.canonicalize() {
                Ok(found) if found.is_file() => *binary = found,
                _ => return Err(Error::NoServer(binary.clone())),
            }
        }
        Ok(options)
    }

    pub(crate) fn parallel(&self) -> usize {
        let default = match self.target {
            Target::Url(_) => 1,
            Target::Binary(_) | Target::Gateway(_) => 8,
        };
        self.jobs.unwrap_or(default).max(1)
    }
}
