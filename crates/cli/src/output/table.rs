//! Aligned tables for people, within the width of the terminal.

use super::wrap::{paragraph, wrapped};
use super::{shortened, width};

const BETWEEN: &str = "  ";
/// Names are not shortened below this width while other columns can be hidden.
const SHORTEST_NAME: usize = 16;
/// A last column of text is not wrapped to less than this, so that an id fits.
const NARROWEST_TEXT: usize = 36;
/// The indentation of what belongs to the row above.
const INDENT: &str = "    ";

/// Aligned columns without borders. Rows can be added and taken out in portions; later portions keep
/// the layout of the first.
///
/// If the columns do not fit, text in the last column is wrapped or moves below its row, then columns
/// are hidden in a given order, and at last each row becomes a list of its cells.
pub(crate) struct Table {
    header: Vec<&'static str>,
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
    /// Right-aligned columns of numbers.
    right: Vec<usize>,
    /// Columns to hide, the first ones first.
    expendable: Vec<usize>,
    /// Columns that are hidden for lack of room.
    hidden: Vec<usize>,
    /// Columns that say nothing.
    removed: Vec<usize>,
    has_text: bool,
    names_can_be_shortened: bool,
    has_header: bool,
    /// Decided with the first portion.
    layout: Option<Layout>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Columns,
    /// The last column has this width, and more lines if needed.
    WrappedText(usize),
    /// The last column is below its row, and has this width.
    TextBelow(usize),
    /// One line for each cell, of this width.
    Stacked(usize),
}

impl Table {
    pub fn new(header: &[&'static str]) -> Self {
        Self {
            header: header.to_vec(),
            widths: header.iter().map(|title| title.len()).collect(),
            rows: Vec::new(),
            right: Vec::new(),
            expendable: Vec::new(),
            hidden: Vec::new(),
            removed: Vec::new(),
            has_text: false,
            names_can_be_shortened: false,
            has_header: true,
            layout: None,
        }
    }

    /// A table of names and values, one per line.
    pub fn of_fields() -> Self {
        Self { has_header: false, ..Self::new(&["", ""]).with_text() }
    }

    pub fn numbers_in(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.right = columns.into_iter().collect();
        self
    }

    /// Columns to hide in this order if there is no room for all.
    pub fn hide_first(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.expendable = columns.into_iter().collect();
        self
    }

    /// The last column is text that may be wrapped.
    pub fn with_text(mut self) -> Self {
        self.has_text = true;
        self
    }

    /// Names in the first column may be shortened. They stay different, but cannot be copied.
    pub fn with_short_names(mut self) -> Self {
        self.names_can_be_shortened = true;
        self
    }

    /// Removes a column if all of its cells are the same. To be called before the first portion.
    pub fn remove_if_same(&mut self, column: usize) {
        let mut cells = self.rows.iter().map(|row| &row[column]);
        let first = cells.next();
        if cells.all(|cell| Some(cell) == first) {
            self.removed.push(column);
        }
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

    /// Returns the rows since the last call, below the header if it was not printed yet.
    pub fn take(&mut self) -> String {
        self.take_within(width())
    }

    /// The same within another width than that of the terminal.
    pub fn take_within(&mut self, width: usize) -> String {
        let mut rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return String::new();
        }
        let is_first = self.layout.is_none();
        let layout = self.layout.unwrap_or_else(|| self.choose(width));
        self.layout = Some(layout);
        if self.names_can_be_shortened {
            let names: Vec<&str> = rows.iter().map(|row| &*row[0]).collect();
            let short = shortened(&names, self.widths[0]);
            rows.iter_mut().zip(short).for_each(|(row, name)| row[0] = name);
        }
        let mut out = String::new();
        if is_first && self.has_header && !matches!(layout, Layout::Stacked(_)) {
            let titles = match layout {
                Layout::TextBelow(_) => &self.header[..self.header.len() - 1],
                _ => &self.header[..],
            };
            let titles: Vec<String> = titles.iter().map(|title| (*title).into()).collect();
            self.line(&mut out, &titles);
        }
        rows.iter().for_each(|row| self.draw(&mut out, row, layout));
        out
    }

    /// What is not shown, once the table is complete.
    pub fn note(&self) -> Option<String> {
        let mut hidden = self.hidden.clone();
        hidden.sort_unstable();
        let names: Vec<&str> = hidden.into_iter().map(|column| self.header[column]).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        (!names.is_empty()).then(|| format!("no room for {}; --json has all", names.join(", ")))
    }

    /// Returns the rest and the note about what is not shown.
    pub fn finish(&mut self) -> String {
        let mut out = self.take();
        out.extend(self.note().map(|note| format!("{}\n", paragraph(&note))));
        out
    }

    fn is_shown(&self, column: usize) -> bool {
        !self.hidden.contains(&column) && !self.removed.contains(&column)
    }

    /// The width of the columns before this one, with the gaps behind them.
    fn width_before(&self, end: usize) -> usize {
        let shown = (0..end).filter(|column| self.is_shown(*column));
        shown.map(|column| self.widths[column] + BETWEEN.len()).sum()
    }

    fn choose(&mut self, width: usize) -> Layout {
        let last = self.widths.len() - 1;
        let mut expendable = self.expendable.clone().into_iter();
        loop {
            if let Some(layout) = self.fitting(width) {
                return layout;
            }
            match expendable.next() {
                Some(column) => self.hidden.push(column),
                None => break,
            }
        }
        if self.names_can_be_shortened {
            let others = self.width_before(last + 1) - BETWEEN.len() - self.widths[0];
            self.widths[0] = self.widths[0].min(width.saturating_sub(others).max(1));
            return Layout::Columns;
        }
        self.hidden.clear();
        Layout::Stacked(width)
    }

    fn fitting(&mut self, width: usize) -> Option<Layout> {
        let last = self.widths.len() - 1;
        let before = self.width_before(last);
        // Notes without a title need no room if there are none.
        let text = if self.is_shown(last) { self.widths[last] } else { 0 };
        let all = if text == 0 { before.saturating_sub(BETWEEN.len()) } else { before + text };
        if all <= width {
            return Some(Layout::Columns);
        }
        if self.names_can_be_shortened {
            let name = self.widths[0].min(SHORTEST_NAME);
            let room = (width + self.widths[0]).saturating_sub(all);
            (room >= name).then(|| self.widths[0] = room)?;
            return Some(Layout::Columns);
        }
        if !self.has_text || !self.is_shown(last) {
            return None;
        }
        if !self.has_header {
            // Names and values: a value that has no room beside its name is below it.
            return Some(Layout::WrappedText(width.saturating_sub(before)));
        }
        if before + NARROWEST_TEXT <= width {
            return Some(Layout::WrappedText(width - before));
        }
        let fits = before <= width + BETWEEN.len();
        fits.then(|| Layout::TextBelow(width.saturating_sub(INDENT.len())))
    }

    fn draw(&self, out: &mut String, cells: &[String], layout: Layout) {
        let last = cells.len() - 1;
        match layout {
            Layout::Columns => self.line(out, cells),
            Layout::Stacked(width) => self.stack(out, cells, width),
            Layout::TextBelow(width) => {
                self.line(out, &cells[..last]);
                let lines = wrapped(&cells[last], width);
                let lines = lines.iter().filter(|line| !line.is_empty());
                lines.for_each(|line| out.push_str(&format!("{INDENT}{line}\n")));
            }
            Layout::WrappedText(width) => {
                let lines = wrapped(&cells[last], width);
                let is_too_long = lines.iter().any(|line| line.chars().count() > width);
                if is_too_long && !self.has_header {
                    self.line(out, &cells[..last]);
                    out.push_str(&format!("{BETWEEN}{}\n", cells[last]));
                    return;
                }
                let has_long_word = cells[last].split(' ').any(|word| word.chars().count() > width);
                if has_long_word && self.has_header {
                    // An id that has no room beside the other cells.
                    let below = (self.width_before(last) + width).saturating_sub(INDENT.len());
                    return self.draw(out, cells, Layout::TextBelow(below));
                }
                let indent = " ".repeat(self.width_before(last));
                let mut row = cells.to_vec();
                row[last] = lines[0].clone();
                self.line(out, &row);
                lines[1..].iter().for_each(|line| out.push_str(&format!("{indent}{line}\n")));
            }
        }
    }

    fn line(&self, out: &mut String, cells: &[String]) {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            if !self.is_shown(column) {
                continue;
            }
            match self.right.contains(&column) {
                true => line.push_str(&format!("{cell:>width$}{BETWEEN}")),
                false => line.push_str(&format!("{cell:width$}{BETWEEN}")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }

    fn stack(&self, out: &mut String, cells: &[String], width: usize) {
        let label = |column: usize| self.header[column].to_lowercase();
        let longest = (1..cells.len()).map(|column| label(column).len()).max().unwrap_or(0);
        out.push_str(&format!("{}\n", cells[0]));
        for (column, cell) in cells.iter().enumerate().skip(1) {
            if cell.is_empty() || !self.is_shown(column) {
                continue;
            }
            let mut before = format!("{BETWEEN}{:longest$}{BETWEEN}", label(column));
            let mut indent = before.len();
            let is_too_long =
                |word: &str| word.chars().count() > width.saturating_sub(before.len());
            if cell.split(' ').any(is_too_long) {
                // An id gets all the room there is.
                indent = INDENT.len();
                before = format!("{BETWEEN}{}\n{INDENT}", label(column));
            }
            let lines = wrapped(cell, width.saturating_sub(indent));
            let lines = lines.join(&format!("\n{}", " ".repeat(indent)));
            out.push_str(&format!("{before}{lines}\n"));
        }
    }
}

/// Errors and arguments come from others and must not control the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests;
