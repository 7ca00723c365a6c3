//! Pages of jobs, in the order of their sequence numbers.
//!
//! Living and finished jobs lie in two tables that are walked side by side, so that a job which
//! finishes between two pages keeps its place and is seen exactly once.

mod bounds;
mod source;

use rota_model::{ClassId, Seq};
use rota_store::{ListPage, ListQuery, Order};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::read;
use crate::row;
use source::Source;

pub(crate) fn list(conn: &Connection, query: &ListQuery) -> Result<ListPage, Fault> {
    if query.classes.as_ref().is_some_and(Vec::is_empty) {
        return Ok(ListPage::default());
    }
    let Some(bounds) = bounds::of(conn, query)? else {
        return Ok(ListPage::default());
    };
    let plans = source::plans(query.select);
    let mut statements =
        plans.iter().map(|plan| plan.prepare(conn, query.order)).collect::<Result<Vec<_>, _>>()?;
    let mut sources = plans
        .iter()
        .zip(&mut statements)
        .map(|(plan, statement)| Source::open(statement, *plan, bounds))
        .collect::<Result<Vec<_>, _>>()?;
    let (seqs, next) = walk(&mut sources, query)?;
    let records = read::records(conn, &seqs)?
        .into_iter()
        .zip(&seqs)
        .map(|(record, seq)| record.ok_or_else(|| Fault::Damaged(format!("job {seq} has no body"))))
        .collect::<Result<_, _>>()?;
    Ok(ListPage { records, next })
}

/// The jobs of the page, and where the next one begins.
fn walk(sources: &mut [Source<'_>], query: &ListQuery) -> Result<(Vec<Seq>, Option<Seq>), Fault> {
    let mut seqs = Vec::new();
    let mut last = None;
    for _ in 0..query.scan.max(1) {
        if seqs.len() >= query.limit.max(1) {
            break;
        }
        let Some(source) = nearest(sources, query.order) else {
            return Ok((seqs, None));
        };
        let plan = source.plan;
        let Some(head) = source.take()? else { continue };
        last = Some(row::seq(head.key));
        if plan.selects(query.select, head.code) && in_classes(query, head.class) {
            seqs.push(row::seq(head.key));
        }
    }
    let more = sources.iter().any(|source| source.head.is_some());
    Ok((seqs, last.filter(|_| more)))
}

fn nearest<'s, 'r>(sources: &'s mut [Source<'r>], order: Order) -> Option<&'s mut Source<'r>> {
    let waiting =
        sources.iter_mut().filter_map(|source| source.head.map(|head| (head.key, source)));
    match order {
        Order::OldestFirst => waiting.min_by_key(|(key, _)| *key),
        Order::NewestFirst => waiting.max_by_key(|(key, _)| *key),
    }
    .map(|(_, source)| source)
}

fn in_classes(query: &ListQuery, class: ClassId) -> bool {
    query.classes.as_ref().is_none_or(|classes| classes.binary_search(&class).is_ok())
}
