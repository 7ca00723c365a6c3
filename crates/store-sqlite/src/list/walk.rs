//! From row to row, and over those that cannot be meant.

use rota_model::{ClassId, Seq};
use rota_store::{ListQuery, Order};
use rusqlite::Connection;

use super::bounds::Bounds;
use super::effort::Effort;
use super::seek::{Seeker, Sought};
use super::source::Source;
use crate::fault::Fault;
use crate::row;

pub(super) struct Walk<'a> {
    query: &'a ListQuery,
    /// Only for a list of some classes.
    seeker: Option<Seeker<'a>>,
    /// Where the seeker said that jobs may be.
    worth: Option<Bounds>,
    effort: Effort,
    found: Vec<Seq>,
    /// Everything up to here has been considered.
    passed: Option<i64>,
}

pub(super) enum Step {
    /// The sources are to be opened anew with these bounds.
    Leap(Bounds),
    /// The page is complete, and this is where the next one begins.
    End(Option<Seq>),
}

impl<'a> Walk<'a> {
    pub(super) fn new(conn: &'a Connection, query: &'a ListQuery) -> Result<Self, Fault> {
        let seeker = match &query.classes {
            Some(classes) => Some(Seeker::new(conn, classes, query.order)?),
            None => None,
        };
        let effort = Effort::of(query.scan);
        Ok(Self { query, seeker, worth: None, effort, found: Vec::new(), passed: None })
    }

    pub(super) fn found(self) -> Vec<Seq> {
        self.found
    }

    pub(super) fn go_on(
        &mut self,
        sources: &mut [Source<'_>],
        bounds: Bounds,
    ) -> Result<Step, Fault> {
        loop {
            let Some((key, source)) = nearest(sources, self.query.order) else {
                return Ok(Step::End(None));
            };
            if let Some(step) = self.seek(key, bounds)? {
                return Ok(step);
            }
            let is_full = self.found.len() >= self.query.limit.max(1);
            if is_full || self.effort.is_over() {
                return Ok(Step::End(self.passed.map(row::seq)));
            }
            let plan = source.plan;
            let Some(head) = source.take()? else { continue };
            self.passed = Some(head.key);
            self.effort.pass_row();
            if plan.selects(self.query.select, head.code) && in_classes(self.query, head.class) {
                self.found.push(row::seq(head.key));
            }
        }
    }

    /// `None` when the job of this number is worth a look.
    fn seek(&mut self, key: i64, bounds: Bounds) -> Result<Option<Step>, Fault> {
        let Some(seeker) = &self.seeker else { return Ok(None) };
        if self.worth.is_some_and(|worth| worth.contains(key)) {
            return Ok(None);
        }
        let worth = match seeker.seek(key, bounds, &mut self.effort)? {
            None => return Ok(Some(Step::End(None))),
            Some(Sought::NotUpTo(passed)) => return Ok(Some(Step::End(Some(row::seq(passed))))),
            Some(Sought::In(worth)) => worth,
        };
        self.worth = Some(worth);
        if worth.contains(key) {
            return Ok(None);
        }
        self.passed = Some(worth.just_before(self.query.order));
        self.effort.leap();
        Ok(Some(Step::Leap(bounds.rest_from(worth, self.query.order))))
    }
}

/// The source whose next job comes first, and that job's number.
fn nearest<'s, 'r>(
    sources: &'s mut [Source<'r>],
    order: Order,
) -> Option<(i64, &'s mut Source<'r>)> {
    let waiting =
        sources.iter_mut().filter_map(|source| source.head.map(|head| (head.key, source)));
    match order {
        Order::OldestFirst => waiting.min_by_key(|(key, _)| *key),
        Order::NewestFirst => waiting.max_by_key(|(key, _)| *key),
    }
}

fn in_classes(query: &ListQuery, class: ClassId) -> bool {
    query.classes.as_ref().is_none_or(|classes| classes.binary_search(&class).is_ok())
}
