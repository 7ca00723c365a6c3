//! A server for the time of the demo, in a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// How long it may take to end in order; its data is thrown away anyhow.
const PATIENCE: Duration = Duration::from_secs(5);

/// Gone when dropped, at the latest.
pub(super) struct Server {
    child: Child,
    /// Kept open: a server whose output nobody takes might stop.
    output: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Server {
    /// `rota serve` with these settings, its data and its log under this path.
    pub fn start(settings: &[(&str, &str)], at: &Path) -> std::io::Result<Self> {
        let log = at.with_extension("log");
        let mut command = Command::new(std::env::current_exe()?);
        command
            // Fairness is shown, not the disk: no waiting for fsync, no space set aside.
            .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error"])
            .args(["--durability", "os", "--storage-reserve", "0", "--data"])
            .arg(at)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            // A signal from the terminal is for the demo, which then ends its servers.
            .process_group(0);
        // Settings of the surroundings are for other servers.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"ROTA_") {
                command.env_remove(name);
            }
        }
        let mut child = command.envs(settings.iter().copied()).spawn()?;
        let output = child.stdout.take().expect("the output is piped");
        Ok(Self { child, output: BufReader::new(output), log })
    }

    /// Its address, as soon as it listens; `None` when it ended instead.
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

    /// The last that it logged, which says why it ended.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().rfind(|line| !line.trim().is_empty());
        last.unwrap_or("it said nothing").trim_start_matches("rota: ").to_owned()
    }

    /// Ends it in order, or else without.
    pub async fn stop(&mut self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            // It may be gone already.
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
            // Nobody can resist for long; its data is removed next.
            while matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
