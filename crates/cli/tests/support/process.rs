//! A process whose every word is kept.

use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::command;
use super::wire::Wire;

/// Killed when dropped.
pub struct Process {
    child: Child,
    stdout: Words,
    stderr: Words,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

struct Words {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Process {
    pub fn spawn(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("rota can be started");
        let stdout = Words::gather(child.stdout.take().expect("it is piped"));
        let stderr = Words::gather(child.stderr.take().expect("it is piped"));
        Self { child, stdout, stderr }
    }

    /// `rota serve` on a port of its own choice.
    pub fn serve(dir: &Path, flags: &[&str]) -> Self {
        let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--data"]);
        Self::spawn(command.arg(dir).args(flags))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stdout(&self) -> String {
        self.stdout.so_far()
    }

    pub fn stderr(&self) -> String {
        self.stderr.so_far()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it was started here").is_none()
    }

    /// Where it listens, as it says itself; `None` when it ended instead.
    pub fn address(&mut self) -> Option<SocketAddr> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let text = self.stdout();
            let place = text.lines().find_map(|line| line.split_once("listening on  http://"));
            // The greeting is complete when its last line is.
            if let Some((_, address)) = place.filter(|_| text.contains("email.send")) {
                return Some(address.trim().parse().expect("an address"));
            }
            if !self.is_running() {
                return None;
            }
            assert!(Instant::now() < until, "it neither listens nor ends: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A connection to a server that must be running.
    pub fn connect(&mut self) -> Wire {
        let address = self.address().unwrap_or_else(|| panic!("it ended: {}", self.stderr()));
        Wire::open(address).expect("it listens")
    }

    pub fn signal(&self, name: &str) {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for it to end by itself.
    pub fn end(mut self) -> Ended {
        let until = Instant::now() + Duration::from_secs(60);
        while self.is_running() {
            assert!(Instant::now() < until, "it does not end: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(2));
        }
        let status: ExitStatus = self.child.wait().expect("it was started here");
        Ended {
            code: status.code(),
            stdout: self.stdout.all_of_it(),
            stderr: self.stderr.all_of_it(),
        }
    }

    /// At once, and whether or not it has ended by itself meanwhile.
    pub fn kill(mut self) {
        self.child.kill().expect("it was started here");
        self.end();
    }

    pub fn terminate(self) -> Ended {
        self.signal("TERM");
        self.end()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Words {
    fn gather(mut from: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let shared = text.clone();
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                let mut text = shared.lock().unwrap_or_else(PoisonError::into_inner);
                text.push_str(&String::from_utf8_lossy(&chunk[..n]));
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn all_of_it(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        self.so_far()
    }
}

/// Runs `rota` to its end, with these variables besides none of its own.
pub fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    Process::spawn(command(arguments).envs(environment.iter().copied())).end()
}
