//! Whether a job is still as it was when it was selected, for deletions, retries and pruning.

use rota_model::row::JobRow;
use rota_model::{Ending, State};

use crate::{Refusal, Selected, Target, Unchanged};

impl Unchanged {
    pub(crate) fn check(self, target: &Target) -> Result<(), Refusal> {
        match self.includes(target) {
            true => Ok(()),
            false => Err(Refusal::NoLongerSelected { state: target.state() }),
        }
    }

    pub(crate) fn includes(self, target: &Target) -> bool {
        let state = target.state();
        match (self.selected, &target.now) {
            (Selected::Waiting, JobRow::Live(_)) => state != State::Active,
            (Selected::Ended(only), JobRow::Done(done)) => {
                done.at <= self.by && only.is_none_or(|only| state == only)
            }
            (Selected::DeadLetter, JobRow::Done(done)) => {
                done.at <= self.by && done.ending == Ending::DeadLetter
            }
            _ => false,
        }
    }
}
