//! Starts a separate server for one case.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{
    http::{Client, Request},
    port::{Lease, Ports},
};

const POLL: Duration = Duration::from_millis(10);
const START_LIMIT: Duration = Duration::from_secs(10);
const STOP_LIMIT: Duration = Duration::from_secs(3);
/// A port can be lost to a stranger between its choice and the server's bind.
const START_ATTEMPTS: usize = 3;
const LOG_LINES: usize = 40;

/// The region that a gateway routes to: the public cases pin jobs to it.
const REGION: &str = "eu-west-1";

#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    lease: Lease,
    /// Holds the data and the log; removed with this value.
    home: TempDir,
    /// The server behind it, if this is a gateway.
    behind: Option<Box<ServerProcess>>,
}

impl ServerProcess {
    /// Starts `binary serve` on a free port and waits until it is healthy.
    pub fn start(binary: &Path, ports: &Ports) -> Result<ServerProcess, String> {
        ServerProcess::start_with(binary, ports, ServerProcess::spawn)
    }

    /// The same, and `binary federate` in front of it.
    pub fn start_gateway(binary: &Path, ports: &Ports) -> Result<ServerProcess, String> {
        let server = ServerProcess::start(binary, ports)?;
        let url = server.url();
        let mut gateway = ServerProcess::start_with(binary, ports, |binary, ports| {
            ServerProcess::spawn_gateway(binary, ports, &url)
        })?;
        gateway.behind = Some(Box::new(server));
        Ok(gateway)
    }

    fn start_with(
        binary: &Path,
        ports: &Ports,
        spawn: impl Fn(&Path, &Ports) -> io::Result<ServerProcess>,
    ) -> Result<ServerProcess, String> {
        let mut attempt = 1;
        loop {
            let mut server = spawn(binary, ports)
                .map_err(|error| format!("cannot start {}: {error}", binary.display()))?;
            match server.wait_until_healthy() {
                Ok(()) => return Ok(server),
                Err(NotHealthy::Exited(_)) if attempt < START_ATTEMPTS => attempt += 1,
                Err(why) => return Err(format!("{why}\n{}", server.log())),
            }
        }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.lease.port)
    }

    /// The end of what the server wrote.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.home.path().join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        let own = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        match &self.behind {
            Some(behind) => format!("{own}\nbehind it:\n{}", behind.log()),
            None => own,
        }
    }

    /// Says how the server has ended without being asked to.
    pub fn crash(&mut self) -> Option<String> {
        match self.child.try_wait().ok().flatten() {
            Some(status) => Some(format!("the server ended on its own: {status}")),
            None => self.behind.as_mut().and_then(|behind| behind.crash()),
        }
    }

    /// Asks the server to end, and kills it when it does not; then there is something to tell.
    pub fn stop(mut self) -> Option<String> {
        if self.crash().is_some() {
            return None;
        }
        terminate(&self.child);
        let deadline = Instant::now() + STOP_LIMIT;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(Some(_)) => return None,
                _ => thread::sleep(POLL),
            }
        }
        Some(format!("the server did not end within {} s and was killed", STOP_LIMIT.as_secs()))
    }

    fn spawn(binary: &Path, ports: &Ports) -> io::Result<ServerProcess> {
        let lease = ports.lease()?;
        let home = tempfile::Builder::new().prefix("rota-conformance-").tempdir()?;
        let data = home.path().join("data");
        fs::create_dir(&data)?;
        let log = File::create(home.path().join("log"))?;
        let child = Command::new(binary)
            .arg("serve")
            .args(["--listen", &format!("127.0.0.1:{}", lease.port)])
            .arg("--data")
            .arg(&data)
            .env("ROTA_TESTING_DIRECTIVES", "true")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(ServerProcess { child, lease, home, behind: None })
    }

    fn spawn_gateway(binary: &Path, ports: &Ports, url: &str) -> io::Result<ServerProcess> {
        let lease = ports.lease()?;
        let home = tempfile::Builder::new().prefix("rota-conformance-").tempdir()?;
        let regions = home.path().join("regions.json");
        let region = serde_json::json!({"id": REGION, "url": url});
        let settings = serde_json::json!({"local_region": REGION, "regions": [region]});
        fs::write(&regions, settings.to_string())?;
        let log = File::create(home.path().join("log"))?;
        let child = Command::new(binary)
            .arg("federate")
            .args(["--listen", &format!("127.0.0.1:{}", lease.port)])
            .arg("--config")
            .arg(&regions)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(ServerProcess { child, lease, home, behind: None })
    }

    fn wait_until_healthy(&mut self) -> Result<(), NotHealthy> {
        let client = Client::with_timeout(&self.url(), Duration::from_secs(1));
        let health = Request::get("/ojs/v1/health");
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(NotHealthy::Exited(status));
            }
            if client.send(&health).is_ok_and(|response| response.status == 200) {
                return Ok(());
            }
            thread::sleep(POLL);
        }
        Err(NotHealthy::Silent)
    }
}

impl Drop for ServerProcess {
    /// No server outlives its case, however that ends.
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_reaped = self.child.wait();
    }
}

#[derive(Debug, thiserror::Error)]
enum NotHealthy {
    #[error("the server ended before it was healthy: {0}")]
    Exited(ExitStatus),
    #[error("the server was not healthy within {} s", START_LIMIT.as_secs())]
    Silent,
}

/// The child is not yet reaped, so its id cannot be another process by now.
fn terminate(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _sent = pid.map(|pid| kill_process(pid, Signal::TERM));
}
