//! Redraws text in place on a terminal.

use super::width;

/// Moves to the upper left corner; overwriting line by line avoids flicker.
const HOME: &str = "\u{1b}[H";
const CLEAR_TO_THE_RIGHT: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// Makes room for the first screen.
pub(crate) const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// The size that can be drawn without wrapping or scrolling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub columns: usize,
    pub lines: usize,
}

impl Room {
    /// For a terminal that does not report its size.
    const ANY: Self = Self { columns: usize::MAX, lines: usize::MAX };

    /// As many lines as needed, for what is printed once.
    pub fn once() -> Self {
        Self { columns: width(), ..Self::ANY }
    }

    pub fn is_endless(self) -> bool {
        self.lines == usize::MAX
    }

    /// The terminal's current size, which may have changed.
    pub fn now() -> Self {
        match rustix::termios::tcgetwinsize(std::io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Self {
                columns: size.ws_col.into(),
                // The cursor is below the drawing.
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
