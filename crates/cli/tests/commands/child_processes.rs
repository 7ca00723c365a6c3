//! What a process has started, and whether it is still there.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub fn children(id: u32) -> Vec<String> {
    let shown = Command::new("pgrep").arg("-P").arg(id.to_string()).output().unwrap();
    String::from_utf8(shown.stdout).unwrap().lines().map(str::to_owned).collect()
}

pub fn is_running(id: &str) -> bool {
    Command::new("kill").args(["-0", id]).stderr(Stdio::null()).status().unwrap().success()
}

#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
