//! The programs in `examples/`, as processes, against a real server.

#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::Server;

/// Enqueues a good and a bad address, and waits until the worker has run both.
#[track_caller]
fn check(mut producer: Command, worker: Command) {
    let server = Server::start();
    let mut worker = Running::start(worker, &server);
    producer.args(["you@example.com", "nobody"]).env("ROTA_URL", server.url(""));
    let enqueued = producer.output().expect("the producer starts");
    let errors = String::from_utf8_lossy(&enqueued.stderr);
    assert!(enqueued.status.success(), "the producer failed: {errors}");
    let ids = String::from_utf8_lossy(&enqueued.stdout);
    let [good, bad] = ids.lines().collect::<Vec<_>>()[..] else {
        panic!("expected the ids of two jobs, got: {ids}");
    };
    let sent = server.wait_for_state(good, "completed");
    assert_eq!(sent["result"]["sent"], "you@example.com", "{sent}");
    let failed = server.wait_for_state(bad, "discarded");
    assert_eq!(failed["attempt"], 1, "it was not retried: {failed}");
    let message = failed["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(message, "no address: nobody", "{failed}");
    worker.terminate();
}

#[test]
fn python() {
    let script = |name| runtime("python3", &format!("examples/python/{name}.py"));
    check(script("producer"), script("worker"));
}

#[test]
fn javascript() {
    let script = |name| runtime("node", &format!("examples/javascript/{name}.mjs"));
    check(script("producer"), script("worker"));
}

#[test]
fn go() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = |name: &str| {
        let (source, built) =
            (root().join(format!("examples/go/{name}.go")), directory.path().join(name));
        let mut compiler = Command::new("go");
        let status = compiler.arg("build").arg("-o").arg(&built).arg(source).status();
        let status = status.expect("this test needs go, which scripts/test installs");
        assert!(status.success(), "{name}.go does not compile");
        Command::new(built)
    };
    check(program("producer"), program("worker"));
}

#[test]
fn rust() {
    check(built("producer"), built("worker"));
}

#[test]
fn shell() {
    require("jq");
    let mut worker = support::command(&["work", "--queue", "email", "--"]);
    worker.arg(root().join("examples/shell/send-email.sh"));
    check(Command::new(root().join("examples/shell/producer.sh")), worker);
}

#[test]
fn each_is_short() {
    let mut seen = 0;
    for language in ["go", "javascript", "python", "rust", "shell"] {
        let directory = root().join("examples").join(language);
        for file in std::fs::read_dir(directory).expect("the directory is there") {
            let path = file.expect("it can be listed").path();
            let text = std::fs::read_to_string(&path).expect("it is text");
            let lines = text.lines().count();
            assert!(lines < 60, "{} has {lines} lines", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 10, "a producer and a worker in each language");
}

/// A script with its interpreter.
#[track_caller]
fn runtime(program: &str, script: &str) -> Command {
    require(program);
    let mut command = Command::new(program);
    command.arg(root().join(script));
    command
}

/// Skipping a test silently would let an example rot.
#[track_caller]
fn require(program: &str) {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "this test needs {program}, which scripts/test installs"
    );
}

/// An example in Rust. Cargo builds it before it runs all tests of the package, into the directory
/// beside this test's; before it runs this test alone, it does not.
#[track_caller]
fn built(name: &str) -> Command {
    let test = std::env::current_exe().expect("this test is a file");
    let directory = test.ancestors().nth(2).expect("cargo puts tests into target/PROFILE/deps");
    let path = directory.join("examples").join(name);
    if !path.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        let built = cargo.args(["build", "--quiet", "-p", "rota", "--examples"]).status();
        assert!(built.is_ok_and(|status| status.success()), "cargo builds the examples");
    }
    Command::new(path)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A worker; killed when dropped.
struct Running(std::process::Child);

impl Running {
    fn start(mut command: Command, server: &Server) -> Self {
        let command = command.env("ROTA_URL", server.url("")).stdout(Stdio::null());
        Self(command.spawn().expect("the worker starts"))
    }

    /// SIGTERM, after which it must end well within seconds.
    #[track_caller]
    fn terminate(&mut self) {
        let pid = self.0.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.is_ok_and(|status| status.success()), "kill runs");
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.0.try_wait().expect("it was started here") {
                assert!(status.success(), "the worker ended with {status}");
                return;
            }
            assert!(Instant::now() < until, "the worker goes on after SIGTERM");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
