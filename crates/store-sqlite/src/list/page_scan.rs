//! The scan that collects the jobs of one page, skipping zones without matches.

use rota_model::{ClassId, Seq};
use rota_store::{ListQuery, Order};
use rusqlite::Connection;

use super::bounds::Bounds;
use super::scan_budget::ScanBudget;
use super::source::Source;
use super::zone_seek::{SeekResult, Seeker};
use crate::internal_error::InternalError;
use crate::row;

pub(super) struct PageScan<'a> {
    query: &'a ListQuery,
    /// Present if the list is limited to some classes.
    seeker: Option<Seeker<'a>>,
    /// The last zone that the seeker returned.
    zone: Option<Bounds>,
    budget: ScanBudget,
    found: Vec<Seq>,
    /// The last sequence number that was read or skipped.
    passed: Option<i64>,
}

pub(super) enum Step {
    /// Reopen the sources with these bounds.
    Skip(Bounds),
    /// The page is complete. The cursor is that of the next page, if there is one.
    End(Option<Seq>),
}

impl<'a> PageScan<'a> {
    pub(super) fn new(conn: &'a Connection, query: &'a ListQuery) -> Result<Self, InternalError> {
        let seeker = match &query.classes {
            Some(classes) => Some(Seeker::new(conn, classes, query.order)?),
            None => None,
        };
        let budget = ScanBudget::of(query.scan);
        Ok(Self { query, seeker, zone: None, budget, found: Vec::new(), passed: None })
    }

    pub(super) fn found(self) -> Vec<Seq> {
        self.found
    }

    pub(super) fn run(
        &mut self,
        sources: &mut [Source<'_>],
        bounds: Bounds,
    ) -> Result<Step, InternalError> {
        loop {
            let Some((key, source)) = nearest(sources, self.query.order) else {
                return Ok(Step::End(None));
            };
            if let Some(step) = self.seek(key, bounds)? {
                return Ok(step);
            }
            let is_full =
                self.found.len() >= self.query.limit.max(1).saturating_add(self.query.skip);
            if is_full || self.budget.is_exhausted() {
                return Ok(Step::End(self.passed.map(row::seq)));
            }
            let plan = source.plan;
            let Some(head) = source.take()? else { continue };
            self.passed = Some(head.key);
            self.budget.charge_row();
            let selected = plan.selects(self.query.select, head.code)
                && in_classes(self.query, head.class)
                && head.discarded.is_none_or(|at| in_time(self.query, at));
            if selected {
                self.found.push(row::seq(head.key));
            }
        }
    }

    /// Returns `None` if the job with this number may match, or else where to continue.
    fn seek(&mut self, key: i64, bounds: Bounds) -> Result<Option<Step>, InternalError> {
        let Some(seeker) = &self.seeker else { return Ok(None) };
        if self.zone.is_some_and(|zone| zone.contains(key)) {
            return Ok(None);
        }
        let zone = match seeker.seek(key, bounds, &mut self.budget)? {
            None => return Ok(Some(Step::End(None))),
            Some(SeekResult::OutOfBudget(passed)) => {
                return Ok(Some(Step::End(Some(row::seq(passed)))));
            }
            Some(SeekResult::Zone(zone)) => zone,
        };
        self.zone = Some(zone);
        if zone.contains(key) {
            return Ok(None);
        }
        self.passed = Some(zone.just_before(self.query.order));
        self.budget.charge_skip();
        Ok(Some(Step::Skip(bounds.rest_from(zone, self.query.order))))
    }
}

/// The source whose next job comes first, with that job's number.
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

/// Whether a job of the dead letter was discarded in time.
fn in_time(query: &ListQuery, at: i64) -> bool {
    query.dead.as_ref().is_none_or(|dead| {
        dead.since.is_none_or(|since| at >= since.0) && dead.until.is_none_or(|until| at < until.0)
    })
}

fn in_classes(query: &ListQuery, class: ClassId) -> bool {
    query.classes.as_ref().is_none_or(|classes| classes.binary_search(&class).is_ok())
}
