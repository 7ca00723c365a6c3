//! The kinds of damage that a check can find.

use std::collections::BTreeMap;
use std::fmt;

use crate::internal_error::InternalError;

/// A rule that the database violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Page,
    WriteAheadLog,
    Structure,
    Unreadable,
    JobWithoutState,
    LiveAndFinished,
    LiveWithoutJob,
    FinishedWithoutJob,
    ErrorsWithoutJob,
    MalformedJob,
    MalformedLive,
    MalformedFinished,
    MissingTimer,
    SizeMismatch,
    IdMismatch,
    MissingPurgeEntry,
    UnknownClass,
    ClassMismatch,
    SeqNotAssigned,
    MissingInZones,
    Counts,
    MalformedClass,
    MalformedNamed,
    MalformedHistory,
    JournalAhead,
    DeadLetterMismatch,
    AuditLog,
    StoredBytes,
}

impl Rule {
    /// The stable name used in JSON output.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.names().0
    }

    /// Whether the file itself is unreadable, as opposed to inconsistent rows.
    #[must_use]
    pub fn is_broken(self) -> bool {
        matches!(self, Rule::Page | Rule::Structure | Rule::Unreadable)
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Rule::Page => ("page", "pages do not match their checksums"),
            Rule::WriteAheadLog => {
                ("write_ahead_log", "the last transactions in the write-ahead log cannot be read")
            }
            Rule::Structure => ("structure", "SQLite finds the file damaged"),
            Rule::Unreadable => ("unreadable", "parts of the file cannot be read"),
            Rule::JobWithoutState => {
                ("job_without_state", "jobs that are neither living nor finished")
            }
            Rule::LiveAndFinished => {
                ("living_and_finished", "jobs that are both living and finished")
            }
            Rule::LiveWithoutJob => ("living_without_job", "living jobs without a body"),
            Rule::FinishedWithoutJob => ("finished_without_job", "finished jobs without a body"),
            Rule::ErrorsWithoutJob => ("errors_without_job", "errors of jobs that do not exist"),
            Rule::MalformedJob => ("malformed_job", "jobs with an id of the wrong length"),
            Rule::MalformedLive => ("malformed_living", "living jobs that cannot be read"),
            Rule::MalformedFinished => ("malformed_finished", "finished jobs that cannot be read"),
            Rule::MissingTimer => {
                ("missing_timer", "active, scheduled or retryable jobs without a time")
            }
            Rule::SizeMismatch => {
                ("another_size", "living jobs whose size is not that of their body")
            }
            Rule::IdMismatch => ("anothers_id", "jobs that cannot be found by their id"),
            Rule::MissingPurgeEntry => {
                ("kept_for_ever", "finished jobs that retention does not know about")
            }
            Rule::UnknownClass => ("unknown_class", "jobs of a class that does not exist"),
            Rule::ClassMismatch => ("another_class", "jobs that are in two classes"),
            Rule::SeqNotAssigned => {
                ("number_not_given_yet", "jobs with a number that was not given out yet")
            }
            Rule::MissingInZones => {
                ("not_on_the_map", "jobs that lists of their queue or tenant pass over")
            }
            Rule::Counts => ("counts", "classes whose finished jobs are counted wrongly"),
            Rule::MalformedClass => ("malformed_class", "classes that cannot be read"),
            Rule::MalformedNamed => (
                "malformed_named",
                "queues, schedules, workers, settings, tenants, pools or limits that cannot be read",
            ),
            Rule::MalformedHistory => ("malformed_history", "statistics that cannot be read"),
            Rule::DeadLetterMismatch => {
                ("dead_letter", "jobs of the dead letter that are listed or counted wrongly")
            }
            Rule::AuditLog => ("audit_log", "the audit log was changed outside of Rota"),
            Rule::StoredBytes => ("stored_bytes", "tenants whose stored bytes are counted wrongly"),
            Rule::JournalAhead => {
                ("journal_ahead", "entries of the journal of commits that were not made yet")
            }
        }
    }
}

/// All violations of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub rule: Rule,
    pub count: u64,
    /// The first three.
    pub examples: Vec<String>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, phrase) = self.rule.names();
        let more = if self.count > self.examples.len() as u64 { ", ..." } else { "" };
        let examples = self.examples.join(", ");
        match self.rule {
            Rule::Page | Rule::WriteAheadLog | Rule::Structure | Rule::Unreadable => {
                write!(f, "{phrase}: {examples}{more}")
            }
            _ => write!(f, "{phrase}: {} ({examples}{more})", self.count),
        }
    }
}

#[derive(Default)]
pub(super) struct Damages {
    by_rule: BTreeMap<Rule, Damage>,
}

const EXAMPLES: usize = 3;

impl Damages {
    pub(super) fn found(&mut self, rule: Rule, example: impl ToString) {
        let damage =
            self.by_rule.entry(rule).or_insert(Damage { rule, count: 0, examples: Vec::new() });
        damage.count += 1;
        if damage.examples.len() < EXAMPLES {
            damage.examples.push(example.to_string());
        }
    }

    /// Unwraps a result and records an error as `Unreadable`, unless SQLite has already reported the
    /// cause in more detail.
    pub(super) fn record_error<T>(&mut self, read: Result<T, InternalError>) -> Option<T> {
        match read {
            Ok(read) => return Some(read),
            Err(_) if self.by_rule.contains_key(&Rule::Structure) => {}
            Err(error) => self.found(Rule::Unreadable, error),
        }
        None
    }
}

impl From<Damages> for Vec<Damage> {
    fn from(damages: Damages) -> Self {
        damages.by_rule.into_values().collect()
    }
}
