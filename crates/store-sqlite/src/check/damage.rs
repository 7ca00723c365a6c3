use std::collections::BTreeMap;
use std::fmt;

use crate::fault::Fault;

/// What must hold, and did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Structure,
    Unreadable,
    NowhereToBeFound,
    LivingAndFinished,
    LivingWithoutJob,
    FinishedWithoutJob,
    ErrorsWithoutJob,
    MalformedJob,
    MalformedLiving,
    MalformedFinished,
    MissingTimer,
    AnotherSize,
    AnothersId,
    KeptForEver,
    UnknownClass,
    AnotherClass,
    NumberNotGivenYet,
    NotOnTheMap,
    Counts,
    MalformedClass,
    MalformedNamed,
    MalformedHistory,
    JournalAhead,
}

impl Rule {
    /// For scripts.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.names().0
    }

    /// The file itself cannot be trusted, not only some of what it says.
    #[must_use]
    pub fn is_broken(self) -> bool {
        matches!(self, Rule::Structure | Rule::Unreadable)
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Rule::Structure => ("structure", "SQLite finds the file damaged"),
            Rule::Unreadable => ("unreadable", "parts of the file cannot be read"),
            Rule::NowhereToBeFound => {
                ("job_without_state", "jobs that are neither living nor finished")
            }
            Rule::LivingAndFinished => {
                ("living_and_finished", "jobs that are both living and finished")
            }
            Rule::LivingWithoutJob => ("living_without_job", "living jobs without a body"),
            Rule::FinishedWithoutJob => ("finished_without_job", "finished jobs without a body"),
            Rule::ErrorsWithoutJob => ("errors_without_job", "errors of jobs that do not exist"),
            Rule::MalformedJob => ("malformed_job", "jobs with an id of the wrong length"),
            Rule::MalformedLiving => ("malformed_living", "living jobs that cannot be read"),
            Rule::MalformedFinished => ("malformed_finished", "finished jobs that cannot be read"),
            Rule::MissingTimer => {
                ("missing_timer", "active, scheduled or retryable jobs without a time")
            }
            Rule::AnotherSize => {
                ("another_size", "living jobs whose size is not that of their body")
            }
            Rule::AnothersId => ("anothers_id", "jobs that cannot be found by their id"),
            Rule::KeptForEver => {
                ("kept_for_ever", "finished jobs that retention does not know about")
            }
            Rule::UnknownClass => ("unknown_class", "jobs of a class that does not exist"),
            Rule::AnotherClass => ("another_class", "jobs that are in two classes"),
            Rule::NumberNotGivenYet => {
                ("number_not_given_yet", "jobs with a number that was not given out yet")
            }
            Rule::NotOnTheMap => {
                ("not_on_the_map", "jobs that lists of their queue or tenant pass over")
            }
            Rule::Counts => ("counts", "classes whose finished jobs are counted wrongly"),
            Rule::MalformedClass => ("malformed_class", "classes that cannot be read"),
            Rule::MalformedNamed => (
                "malformed_named",
                "queues, schedules, workers, settings, tenants, pools or limits that cannot be read",
            ),
            Rule::MalformedHistory => ("malformed_history", "statistics that cannot be read"),
            Rule::JournalAhead => {
                ("journal_ahead", "entries of the journal of commits that were not made yet")
            }
        }
    }
}

/// One kind of damage, however often it was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub rule: Rule,
    pub count: u64,
    /// The first few.
    pub examples: Vec<String>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, phrase) = self.rule.names();
        let more = if self.count > self.examples.len() as u64 { ", ..." } else { "" };
        let examples = self.examples.join(", ");
        match self.rule {
            Rule::Structure | Rule::Unreadable => write!(f, "{phrase}: {examples}{more}"),
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

    /// What was read, unless it could not be. SQLite says more about why, if it knows.
    pub(super) fn unless<T>(&mut self, read: Result<T, Fault>) -> Option<T> {
        match read {
            Ok(read) => return Some(read),
            Err(_) if self.by_rule.contains_key(&Rule::Structure) => {}
            Err(fault) => self.found(Rule::Unreadable, fault),
        }
        None
    }
}

impl From<Damages> for Vec<Damage> {
    fn from(damages: Damages) -> Self {
        damages.by_rule.into_values().collect()
    }
}
