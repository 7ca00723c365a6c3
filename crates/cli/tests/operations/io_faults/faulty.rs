//! A server of which one I/O call fails.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{command, preload};

/// Which call fails, and how; see `preload/faults.c`.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub at: u64,
    pub kind: &'static str,
}

/// Killed when dropped.
pub struct Faulty {
    child: Child,
    pub address: SocketAddr,
}

const FLAGS: [&str; 4] = ["--storage-reserve", "0", "--listen", "127.0.0.1:0"];
/// More calls than any run has.
const TRACE_BYTES: usize = 64 << 10;

fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = LIBRARY.get_or_init(|| {
        let directory = TempDir::new().expect("a temporary directory");
        let path = preload::compile("faults.c", directory.path());
        (directory, path)
    });
    path
}

impl Faulty {
    /// The exit code is the error if it does not start.
    pub fn start(data: &Path, fault: Option<(&Fault, &Path)>) -> Result<Self, i32> {
        let mut serve = command(&["serve"]);
        serve.args(FLAGS).arg("--data").arg(data).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some((Fault { at, kind }, trace)) = fault {
            fs::write(trace, vec![0; TRACE_BYTES]).expect("a file can be written");
            serve.env("LD_PRELOAD", library()).env("FAULT_DIRECTORY", data);
            serve.env("FAULT_TRACE", trace).env("FAULT_AT", at.to_string()).env("FAULT_KIND", kind);
        }
        let child = serve.spawn().expect("the server can be started");
        let mut run = Self { child, address: SocketAddr::from(([0; 4], 0)) };
        let mut greeting = BufReader::new(run.child.stdout.take().expect("its output is piped"));
        loop {
            let mut line = String::new();
            if greeting.read_line(&mut line).unwrap_or(0) == 0 {
                let status = run.child.wait().expect("it was started here");
                return Err(status.code().unwrap_or(-1));
            }
            let listening = line.split_once("listening on");
            if let Some((_, address)) = listening.and_then(|(_, rest)| rest.split_once("://")) {
                run.address = address.trim().parse().expect("the greeting has an address");
                std::thread::spawn(move || std::io::copy(&mut greeting, &mut std::io::sink()));
                return Ok(run);
            }
        }
    }

    /// SIGTERM. Returns the exit code.
    pub fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let _ =
            std::process::Command::new("kill").args(["-TERM", &pid]).stderr(Stdio::null()).status();
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().expect("it was started here") {
                return Some(status.code().unwrap_or(-1));
            }
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// `kill -9`. Returns the exit code if it had ended by itself.
    pub fn kill(mut self) -> Option<i32> {
        let ended = self.child.try_wait().expect("it was started here");
        let _ = self.child.kill();
        let _ = self.child.wait();
        ended.map(|status| status.code().unwrap_or(-1))
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One letter for each call.
pub fn calls(trace: &Path) -> String {
    let bytes = fs::read(trace).expect("it was written");
    let (count, calls) = bytes.split_at(8);
    let count = u64::from_ne_bytes(count.try_into().expect("8 bytes")) as usize;
    String::from_utf8_lossy(&calls[1..=count.min(TRACE_BYTES - 9)]).into_owned()
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a file can be copied");
        }
    }
}

pub fn doctor(data: &Path) -> Result<(), String> {
    let checked = command(&["doctor", "--data"]).arg(data).output().expect("doctor runs");
    match checked.status.code() {
        Some(0) => Ok(()),
        code => Err(format!("doctor: {code:?} {}", String::from_utf8_lossy(&checked.stdout))),
    }
}
