//! The width that output may have.

use std::sync::OnceLock;

/// The variable `COLUMNS`, else the width of the terminal. Unlimited for pipes and files.
pub(crate) fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let given = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
        given.filter(|columns| *columns > 0).unwrap_or_else(terminal)
    })
}

fn terminal() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => usize::MAX,
    }
}
