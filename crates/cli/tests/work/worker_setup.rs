//! A server, a directory, and workers in it.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Server, command};

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Bench {
    pub server: Server,
    dir: TempDir,
}

/// A running `rota work`.
pub struct Work {
    child: Child,
    stdout: Reading,
    stderr: Reading,
}

/// One that has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(&[])
    }

    pub fn with(server_flags: &[&str]) -> Self {
        Self { server: Server::start_with(server_flags), dir: TempDir::new().unwrap() }
    }

    /// With a server that may be away for a while.
    pub fn apart() -> Self {
        Self { server: Server::start_apart(&[]), dir: TempDir::new().unwrap() }
    }

    /// A worker whose command is this bash script, run in a directory of this test.
    pub fn work(&self, flags: &[&str], script: &str) -> Work {
        self.work_with(&[flags, &["--", "bash", "-c", script]].concat())
    }

    pub fn work_with(&self, arguments: &[&str]) -> Work {
        let mut command = command(&["work", "--url", &self.server.url("")]);
        command.args(arguments).current_dir(self.dir.path());
        Work::start(command)
    }

    /// Works off what is waiting.
    #[track_caller]
    pub fn once(&self, flags: &[&str], script: &str) -> Ended {
        let ended = self.work(&[&["--once"], flags].concat(), script).wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What a script has written to a file in its directory.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits until a script has written something to a file.
    #[track_caller]
    pub fn wait_for_text(&self, name: &str) -> String {
        wait_until(&format!("no script has written {name}"), || self.text(name).ends_with('\n'));
        self.text(name).trim().to_owned()
    }

    /// Waits until so many fetches wait for jobs.
    #[track_caller]
    pub fn wait_for_fetches(&self, count: u64) {
        wait_until(&format!("there are not {count} fetches"), || {
            self.server.get("/ojs/v1/admin/stats").expect(200)["waiting_fetches"] == count
        });
    }

    /// Waits for the process whose id a script has written to end.
    #[track_caller]
    pub fn wait_for_end_of(&self, name: &str) {
        let id = self.wait_for_text(name);
        wait_until(&format!("{name}, {id}, still runs"), || !is_running(&id));
    }
}

impl Work {
    pub fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the worker can be started");
        let stdout = Reading::of(child.stdout.take().unwrap());
        let stderr = Reading::of(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").arg(format!("-{name}")).arg(id).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits until it has said this on standard error.
    #[track_caller]
    pub fn wait_for_words(&self, words: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.stderr.text().contains(words) {
            assert!(Instant::now() < until, "no '{words}' in: {}", self.stderr.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    pub fn wait(mut self) -> Ended {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let (stdout, stderr) = (self.stdout.end(), self.stderr.end());
                return Ended { code: status.code(), stdout, stderr };
            }
            assert!(Instant::now() < until, "it does not end: {}", self.stderr.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The lines of `--json`.
    pub fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

struct Reading {
    text: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Reading {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let filled = text.clone();
        let thread = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                filled.lock().unwrap().extend_from_slice(&chunk[..count]);
            }
        });
        Self { text, thread: Some(thread) }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    fn end(&mut self) -> String {
        self.thread.take().unwrap().join().unwrap();
        self.text()
    }
}

#[track_caller]
pub fn wait_until(complaint: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{complaint}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process that has ended and that nobody has asked about yet does not run.
fn is_running(id: &str) -> bool {
    let shown = Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
    let state = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}
