//! Single key presses at a terminal.

use std::io::{IsTerminal, Read};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

/// Reads keys without waiting for a line and without showing them. Dropping it restores the terminal.
pub(crate) struct Keys {
    pressed: mpsc::Receiver<u8>,
    before: Termios,
}

impl Keys {
    /// Returns `None` if standard input is not a terminal.
    pub fn listen() -> Option<Self> {
        let stdin = std::io::stdin();
        let before = stdin.is_terminal().then(|| tcgetattr(&stdin).ok())??;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Now, &modes).ok()?;
        let (out, pressed) = mpsc::channel(16);
        // A thread of its own, because a read cannot be interrupted: it ends with the process.
        std::thread::spawn(move || {
            let mut byte = [0];
            while let Ok(1) = std::io::stdin().read(&mut byte) {
                if out.blocking_send(byte[0]).is_err() {
                    return;
                }
            }
        });
        Some(Self { pressed, before })
    }

    /// Waits for this key, forever if there will be none.
    pub async fn wait_for(keys: &mut Option<Self>, key: u8) {
        if let Some(keys) = keys {
            while let Some(pressed) = keys.pressed.recv().await {
                if pressed == key {
                    return;
                }
            }
        }
        std::future::pending().await
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // Nothing can be done if the terminal is gone.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
