//! Listing jobs page by page, in the order of their sequence numbers.
//!
//! Live and finished jobs are in two tables, which are merged by sequence number. So a job that
//! finishes between two pages keeps its position and is listed exactly once. A list of some classes
//! skips zones that have no jobs of them.

mod bounds;
mod page_scan;
mod scan_budget;
mod source;
mod zone_seek;

use rota_store::{ListPage, ListQuery, Record};
use rusqlite::Connection;

use crate::internal_error::InternalError;
use crate::lookup;
use bounds::Bounds;
use page_scan::{PageScan, Step};
use source::Source;

pub(crate) fn list(conn: &Connection, query: &ListQuery) -> Result<ListPage, InternalError> {
    if query.classes.as_ref().is_some_and(Vec::is_empty) {
        return Ok(ListPage::default());
    }
    let Some(mut bounds) = Bounds::of(conn, query)? else {
        return Ok(ListPage::default());
    };
    let plans = source::plans(query);
    let mut statements =
        plans.iter().map(|plan| plan.prepare(conn, query.order)).collect::<Result<Vec<_>, _>>()?;
    let mut scan = PageScan::new(conn, query)?;
    let next = loop {
        let mut sources = plans
            .iter()
            .zip(&mut statements)
            .map(|(plan, statement)| Source::open(statement, *plan, query, bounds))
            .collect::<Result<Vec<_>, _>>()?;
        match scan.run(&mut sources, bounds)? {
            Step::Skip(rest) => bounds = rest,
            Step::End(next) => break next,
        }
    };
    let mut seqs = scan.found();
    seqs.drain(..query.skip.min(seqs.len()));
    let records: Vec<Record> = lookup::records(conn, &seqs, query.max_bytes)?
        .into_iter()
        .zip(&seqs)
        .map(|(record, seq)| {
            record.ok_or_else(|| InternalError::Corrupt(format!("job {seq} has no body")))
        })
        .collect::<Result<_, _>>()?;
    let is_cut = records.len() < seqs.len();
    let next = if is_cut { records.last().map(|record| record.seq) } else { next };
    Ok(ListPage { records, next })
}
