//! The measured server, as a child process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::http::Target;
use crate::{BenchError, Options};

pub(crate) struct Process {
    child: Child,
    pub target: Target,
    /// Kept open, because a server that cannot write its output might stop.
    _output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts `rota serve` with this data directory.
    pub fn serve(options: &Options, data: &Path) -> Result<Self, BenchError> {
        Self::serve_with(options, data, [])
    }

    /// Starts `rota serve` with this data directory and these flags.
    pub fn serve_with<'a>(
        options: &Options,
        data: &Path,
        flags: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, BenchError> {
        let mut command = Command::new(&options.binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--durability"])
            .arg(&options.durability)
            .arg("--data")
            .arg(data)
            .args(flags);
        without_settings(&mut command);
        Self::start(command)
    }

    /// Starts `rota federate` with this description of the regions.
    pub fn federate(options: &Options, config: &Path) -> Result<Self, BenchError> {
        let mut command = Command::new(&options.binary);
        command.args(["federate", "--listen", "127.0.0.1:0", "--config"]).arg(config);
        without_settings(&mut command);
        // What it logs at the end is not a result.
        command.stderr(Stdio::null());
        Self::start(command)
    }

    /// Starts the echo server.
    pub fn echo(options: &Options) -> Result<Self, BenchError> {
        let mut command = Command::new(&options.binary);
        command.args(["bench", "echo-server"]);
        Self::start(command)
    }

    fn start(mut command: Command) -> Result<Self, BenchError> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // A signal from the terminal must end the measurement, which then stops its servers.
            .process_group(0)
            .spawn()
            .map_err(|error| BenchError::Server(format!("it cannot be started: {error}")))?;
        let output = child.stdout.take().expect("the output is piped");
        let mut output = BufReader::new(output);
        match greeting(&mut output) {
            Some(address) => Ok(Self { child, target: address.into(), _output: output }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(BenchError::Server("the server ended before it was ready".into()))
            }
        }
    }

    /// Resident memory in bytes; `None` if the system does not report it.
    pub fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    }

    /// Stops the server gracefully.
    pub fn stop(mut self) -> Result<(), BenchError> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM).map_err(std::io::Error::from)?;
        }
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(BenchError::Server(format!("the server ended badly: {status}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Settings in the environment must not affect the measurement.
fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"ROTA_") {
            command.env_remove(name);
        }
    }
}

fn greeting(output: &mut impl BufRead) -> Option<SocketAddr> {
    let mut line = String::new();
    loop {
        line.clear();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let url = line.split_once("http://").or_else(|| line.split_once("https://"));
        if let Some((_, address)) = url {
            return address.trim().parse().ok();
        }
    }
}
