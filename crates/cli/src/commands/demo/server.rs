//! A server process for the duration of the demo.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// How long a clean shutdown may take; the data is discarded anyway.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stopped when dropped, at the latest.
pub(super) struct Server {
    child: Child,
    /// Kept open, because the server might stop if its output is closed.
    output: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Server {
    /// Runs `rota serve` with these settings; data and log are under this path.
    pub fn start(settings: &[(&str, &str)], at: &Path) -> std::io::Result<Self> {
        Self::start_listening("127.0.0.1:0", settings, at)
    }

    /// The same, at this address.
    pub fn start_listening(
        address: &str,
        settings: &[(&str, &str)],
        at: &Path,
    ) -> std::io::Result<Self> {
        let log = at.with_extension("log");
        let mut command = Command::new(std::env::current_exe()?);
        command
            // A demo is not about the disk: no fsync and no reserve.
            .args(["serve", "--listen", address, "--log-level", "error"])
            .args(["--durability", "os", "--storage-reserve", "0", "--data"])
            .arg(at)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            // A signal from the terminal goes to the demo, which then stops its servers.
            .process_group(0);
        // Ignore settings in the environment.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"ROTA_") {
                command.env_remove(name);
            }
        }
        let mut child = command.envs(settings.iter().copied()).spawn()?;
        let output = child.stdout.take().expect("the output is piped");
        Ok(Self { child, output: BufReader::new(output), log })
    }

    /// The server's address once it listens; `None` if it exited.
    pub async fn url(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            if let Some((_, address)) = line.split_once("http://") {
                return Some(format!("http://{}", address.trim()));
            }
        }
    }

    /// The last log line, which says why it exited.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().rfind(|line| !line.trim().is_empty());
        last.unwrap_or("it said nothing").trim_start_matches("rota: ").to_owned()
    }

    /// Kills it, as a power cut would.
    pub async fn kill(&mut self) {
        // It may have exited already.
        let _ = self.child.kill().await;
    }

    /// Stops it cleanly, or kills it.
    pub async fn stop(&mut self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            // It may have exited already.
            let _ = kill_process(pid, Signal::TERM);
        }
        if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.start_kill().is_ok() {
            // Killed processes end soon; the data is removed next.
            while matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
