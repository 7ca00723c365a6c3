//! Text that is drawn over what stood there before.

/// To the upper left corner; what stands there is written over line by line, which does not flicker.
const HOME: &str = "\u{1b}[H";
const CLEAR_TO_THE_RIGHT: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// Makes room for the first screen.
pub(crate) const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// How much can be drawn without a line being wrapped or the first one scrolling away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub columns: usize,
    pub lines: usize,
}

impl Room {
    /// Of a terminal that does not tell its size.
    pub const ANY: Self = Self { columns: usize::MAX, lines: usize::MAX };

    /// Of the terminal as it is now; somebody may have changed its size since the last time.
    pub fn now() -> Self {
        match rustix::termios::tcgetwinsize(std::io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Self {
                columns: size.ws_col.into(),
                // The cursor stands below what is drawn.
                lines: usize::from(size.ws_row) - 1,
            },
            _ => Self::ANY,
        }
    }
}

pub(crate) fn screen(text: &str) -> String {
    let lines = text.lines().map(|line| format!("{line}{CLEAR_TO_THE_RIGHT}\n"));
    format!("{HOME}{}{CLEAR_BELOW}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::screen;

    #[test]
    fn a_shorter_table_leaves_nothing_of_a_longer_one() {
        assert_eq!(screen("A\n\nB\n"), "\u{1b}[HA\u{1b}[K\n\u{1b}[K\nB\u{1b}[K\n\u{1b}[J");
    }
}
