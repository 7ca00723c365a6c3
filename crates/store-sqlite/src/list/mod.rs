//! Pages of jobs, in the order of their sequence numbers.
//!
//! Living and finished jobs lie in two tables that are walked side by side, so that a job which
//! finishes between two pages keeps its place and is seen exactly once. A list of some classes leaps
//! over zones that have none of them.

mod bounds;
mod effort;
mod seek;
mod source;
mod walk;

use rota_store::{ListPage, ListQuery};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::read;
use source::Source;
use walk::{Step, Walk};

pub(crate) fn list(conn: &Connection, query: &ListQuery) -> Result<ListPage, Fault> {
    if query.classes.as_ref().is_some_and(Vec::is_empty) {
        return Ok(ListPage::default());
    }
    let Some(mut bounds) = bounds::of(conn, query)? else {
        return Ok(ListPage::default());
    };
    let plans = source::plans(query.select);
    let mut statements =
        plans.iter().map(|plan| plan.prepare(conn, query.order)).collect::<Result<Vec<_>, _>>()?;
    let mut walk = Walk::new(conn, query)?;
    let next = loop {
        let mut sources = plans
            .iter()
            .zip(&mut statements)
            .map(|(plan, statement)| Source::open(statement, *plan, bounds))
            .collect::<Result<Vec<_>, _>>()?;
        match walk.go_on(&mut sources, bounds)? {
            Step::Leap(rest) => bounds = rest,
            Step::End(next) => break next,
        }
    };
    let seqs = walk.found();
    let records = read::records(conn, &seqs)?
        .into_iter()
        .zip(&seqs)
        .map(|(record, seq)| record.ok_or_else(|| Fault::Damaged(format!("job {seq} has no body"))))
        .collect::<Result<_, _>>()?;
    Ok(ListPage { records, next })
}
