//! Signals that `rota work` handles.

use rota_client::worker::Trigger;
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::Failure;
use crate::output::remark;

/// Signals, with the meaning that the specification gives them for workers.
pub(super) fn listen(trigger: Trigger) -> Result<(), Failure> {
    let listen = |kind| signal(kind).map_err(|e| Failure::error(format!("signals: {e}")));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut pause = listen(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
    let mut resume = listen(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    tokio::spawn(async move {
        let mut drains = false;
        loop {
            tokio::select! {
                Some(()) = pause.recv() => {
                    trigger.quiet();
                    remark("no more jobs are fetched until SIGCONT");
                    continue;
                }
                Some(()) = resume.recv() => {
                    trigger.resume();
                    continue;
                }
                Some(()) = terminate.recv() => {}
                Some(()) = interrupt.recv() => {}
                else => return,
            }
            match drains {
                false => trigger.drain(),
                true => trigger.stop_now(),
            }
            drains = true;
        }
    });
    Ok(())
}
