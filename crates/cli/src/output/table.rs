//! Aligned tables for people.

use super::shortened;

/// Names are not shortened below this width while other columns could be dropped.
const SHORTEST_NAME: usize = 16;
const BETWEEN: &str = "  ";

/// Aligned columns without borders. Rows can be added and taken out in portions; later
/// portions keep the widths of earlier ones.
pub(crate) struct Table {
    header: Vec<&'static str>,
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
    /// Right-aligned columns of numbers.
    right: Vec<usize>,
    /// Columns that do not fit.
    hidden: Vec<usize>,
    header_is_due: bool,
}

impl Table {
    pub fn new(header: &[&'static str]) -> Self {
        Self {
            header: header.to_vec(),
            widths: header.iter().map(|title| title.len()).collect(),
            rows: Vec::new(),
            right: Vec::new(),
            hidden: Vec::new(),
            header_is_due: true,
        }
    }

    /// A table of names and values, one per line.
    pub fn of_fields() -> Self {
        Self { header_is_due: false, ..Self::new(&["", ""]) }
    }

    pub fn numbers_in(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.right = columns.into_iter().collect();
        self
    }

    pub fn row(&mut self, cells: Vec<String>) {
        let cells: Vec<String> = cells.iter().map(|cell| printable(cell)).collect();
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        self.rows.push(cells);
    }

    pub fn field(&mut self, name: &str, value: impl Into<String>) {
        self.row(vec![name.to_owned(), value.into()]);
    }

    pub fn field_if(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    /// Limits the width of lines: shortens the names in the first column, and if that is not
    /// enough, drops columns in this order.
    pub fn fit(&mut self, width: usize, expendable: &[usize]) {
        let mut expendable = expendable.iter();
        loop {
            let others = (1..self.widths.len()).filter(|column| !self.hidden.contains(column));
            let taken: usize = others
                .map(|column| self.widths[column])
                .filter(|width| *width > 0)
                .map(|width| width + BETWEEN.len())
                .sum();
            let left = width.saturating_sub(taken);
            if left < self.widths[0].min(SHORTEST_NAME)
                && let Some(column) = expendable.next()
            {
                self.hidden.push(*column);
                continue;
            }
            self.widths[0] = self.widths[0].min(left.max(1));
            return;
        }
    }

    /// Returns the rows since the last call, below the header if it was not printed yet.
    pub fn take(&mut self) -> String {
        let mut out = String::new();
        let rows = std::mem::take(&mut self.rows);
        if self.header_is_due && !rows.is_empty() {
            let header: Vec<String> = self.header.iter().map(|title| (*title).into()).collect();
            self.line(&mut out, &header);
            self.header_is_due = false;
        }
        for row in &rows {
            self.line(&mut out, row);
        }
        out
    }

    fn line(&self, out: &mut String, cells: &[String]) {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            if self.hidden.contains(&column) {
                continue;
            }
            if column > 0 {
                line.push_str(BETWEEN);
            }
            let cell = shortened(cell, *width);
            match self.right.contains(&column) {
                true => line.push_str(&format!("{cell:>width$}")),
                false => line.push_str(&format!("{cell:width$}")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Errors and arguments come from others and must not control the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_cell_cannot_steer_the_terminal() {
        let mut table = Table::new(&["A"]);
        table.row(vec!["\u{1b}[31mred\n".into()]);
        assert_eq!(table.take(), "A\n\u{fffd}[31mred\u{fffd}\n");
    }

    #[test]
    fn columns_are_as_wide_as_needed() {
        let mut table = Table::new(&["NAME", "N", "NOTE"]).numbers_in([1]);
        table.row(vec!["grüße".into(), "7".into(), String::new()]);
        table.row(vec!["a".into(), "1200".into(), "x".into()]);
        assert_eq!(table.take(), "NAME      N  NOTE\ngrüße     7\na      1200  x\n");
    }

    #[test]
    fn what_does_not_fit_is_shortened_or_left_out() {
        let drawn = |width| {
            let mut table = Table::new(&["TENANT", "N", "NOTE"]).numbers_in([1]);
            table.row(vec!["tenant-000000000001".into(), "7".into(), "late".into()]);
            table.fit(width, &[2, 1]);
            table.take()
        };
        let whole = "TENANT               N  NOTE\ntenant-000000000001  7  late\n";
        assert_eq!((drawn(usize::MAX), drawn(28)), (whole.into(), whole.into()));
        assert_eq!(drawn(26), "TENANT             N  NOTE\ntenant-0…00000001  7  late\n");
        assert_eq!(drawn(24), "TENANT               N\ntenant-000000000001  7\n");
        assert_eq!(drawn(10), "TENANT\ntenan…0001\n");
        assert_eq!(drawn(0), "…\n…\n");
    }

    #[test]
    fn a_second_portion_has_no_header() {
        let mut table = Table::new(&["A"]);
        assert_eq!(table.take(), "");
        table.row(vec!["1".into()]);
        assert_eq!(table.take(), "A\n1\n");
        table.row(vec!["2".into()]);
        assert_eq!(table.take(), "2\n");
    }
}
