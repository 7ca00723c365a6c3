//! Text that is drawn over what stood there before.

/// To the upper left corner; what stands there is written over line by line, which does not flicker.
const HOME: &str = "\u{1b}[H";
const CLEAR_TO_THE_RIGHT: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// Makes room for the first screen.
pub(crate) const CLEAR: &str = "\u{1b}[H\u{1b}[J";

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
