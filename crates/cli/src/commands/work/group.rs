//! The process group of a command.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep};

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A command and all processes it started, unless they left the group.
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    pub fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader }
    }

    /// Sends SIGTERM to all, and SIGKILL to those that remain after the grace period.
    pub async fn stop(&mut self, child: &mut Child, kill_after: Duration) {
        let until = Instant::now() + kill_after;
        self.signal(Signal::TERM);
        while Instant::now() < until {
            let led = matches!(child.try_wait(), Ok(None));
            if !led && !self.has_members() {
                return self.leave_alone();
            }
            sleep(LOOK_EVERY).await;
        }
        self.signal(Signal::KILL);
        self.leader = None;
    }

    /// Background processes may stay, and the process id may soon be reused.
    pub fn leave_alone(&mut self) {
        self.leader = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // An error means that no process is left.
            let _ = kill_process_group(leader, signal);
        }
    }

    fn has_members(&self) -> bool {
        self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
