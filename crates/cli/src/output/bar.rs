//! A bar that compares a share with its entitlement.

const WIDTH: usize = 20;

/// Draws the actual share, with `|` at the entitled one; both relative to `most`.
pub(crate) fn bar(actual: f64, entitled: f64, most: f64) -> String {
    if most <= 0.0 {
        return String::new();
    }
    let place = |share: f64| ((share / most).clamp(0.0, 1.0) * WIDTH as f64).round() as usize;
    let (filled, mark) = (place(actual), place(entitled));
    let shown = (0..=WIDTH).map(|column| match column {
        _ if column == mark => '|',
        // The mark is between cells.
        _ if column < filled + usize::from(column > mark) => '#',
        _ => ' ',
    });
    shown.collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn the_mark_stands_where_the_bar_should_end() {
        assert_eq!(bar(0.5, 0.5, 0.5), "####################|");
        assert_eq!(bar(0.25, 0.5, 0.5), "##########          |");
        assert_eq!(bar(0.5, 0.25, 0.5), "##########|##########");
        assert_eq!(bar(0.0, 0.0, 0.5), "|");
        assert_eq!(bar(0.0, 0.0, 0.0), "");
    }
}
