//! What was sent and what was answered, as the clients saw it.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Jobs of one request.
pub struct Parcel {
    pub queue: &'static str,
    /// The ids that the client chose.
    pub chosen: Vec<Option<String>>,
    pub fate: Fate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// No answer came: all of it is there, or none.
    Unknown,
    /// Answered with 201 and these ids, or found to exist by its own ids.
    Accepted(Vec<String>),
    /// Answered with 503: nothing of it is there.
    Refused,
}

/// One execution: a job and the number of its attempt.
pub type Execution = (String, u64);

#[derive(Default)]
pub struct Books {
    pub parcels: HashMap<u64, Parcel>,
    pub given: HashMap<Execution, String>,
    /// Sent, answered or not.
    pub acks: HashSet<Execution>,
    pub nacks: HashSet<Execution>,
    /// Answered with 200.
    pub completed: HashMap<String, u64>,
    pub complaints: Vec<String>,
}

#[derive(Default)]
pub struct Ledger(Mutex<Books>);

impl Ledger {
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn complain(&self, complaint: impl Into<String>) {
        self.books().complaints.push(complaint.into());
    }

    pub fn complaints(&self) -> Vec<String> {
        self.books().complaints.iter().take(50).cloned().collect()
    }

    /// A worker has received an execution. Every earlier one of the job must have been given up by
    /// its own worker, since no reservation ends during the test.
    pub fn received(&self, worker: &str, id: &str, attempt: u64) {
        let mut books = self.books();
        let execution = (id.to_owned(), attempt);
        if let Some(other) = books.given.insert(execution, worker.to_owned()) {
            let text = format!("attempt {attempt} of {id} was given to {other} and to {worker}");
            books.complaints.push(text);
        }
        for earlier in 1..attempt {
            if !books.nacks.contains(&(id.to_owned(), earlier)) {
                let text = format!("{id} is at attempt {attempt}, yet nobody gave up {earlier}");
                books.complaints.push(text);
            }
        }
        if books.completed.contains_key(id) {
            let text = format!("{id} was completed and then given to {worker}");
            books.complaints.push(text);
        }
    }

    pub fn completed(&self, id: &str, attempt: u64) {
        let mut books = self.books();
        if let Some(before) = books.completed.insert(id.to_owned(), attempt) {
            let text = format!("{id} was completed by attempt {before} and by attempt {attempt}");
            books.complaints.push(text);
        }
    }
}
