//! Output of commands: tables, lists, JSON.

mod bar;
mod each;
mod keys;
mod list;
mod number;
mod plural;
mod screen;
mod shorten;
mod table;
mod time;
mod width;
mod wrap;

use std::io::{ErrorKind, Write};

use serde::Serialize;

use crate::Failure;

pub(crate) use bar::bar;
pub(crate) use each::{each, each_told};
pub(crate) use keys::Keys;
pub(crate) use list::List;
pub(crate) use number::{decimal, percent};
pub(crate) use plural::{grouped, plural};
pub(crate) use screen::{CLEAR, Room, screen};
pub(crate) use shorten::{cut, shortened};
pub(crate) use table::{Table, printable};
pub(crate) use time::{milliseconds, moment, relative};
pub(crate) use width::width;
pub(crate) use wrap::{paragraph, wrapped};

/// Prints to standard output unchanged.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // `rota ... | head`: the reader has closed the pipe, so there is nothing more to do.
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(cause) => Err(Failure::error(format!("the output cannot be written: {cause}"))),
    }
}

pub(crate) fn print_line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}

/// Prints one JSON document on one line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::error(e.to_string()))?;
    print_line(&text)
}

/// Prints a note for people to standard error; it is not part of the result.
pub(crate) fn remark(text: &str) {
    // A note that cannot be printed is not an error.
    let _ = writeln!(std::io::stderr(), "{text}");
}
