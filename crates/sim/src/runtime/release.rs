//! Answers that go out together.

use std::rc::Rc;

use rota_engine::Reply;
use rota_store::Mutation;

use super::Step;

/// The answers of a batch that go out at once, or those that wait until the view has the batch.
#[derive(Default)]
pub struct Release {
    pub batch: u64,
    pub answers: Vec<Answer>,
}

/// What goes out of a step.
pub struct Answer {
    pub step: Rc<Step>,
    /// The reply to the request itself.
    pub reply: bool,
    /// The replies to requests that had been waiting.
    pub woken: bool,
}

impl Release {
    /// The answers of a batch: those that go out when it is committed, and those that wait for the view. Only the
    /// view knows how many bytes a deletion frees.
    pub fn of(batch: u64, steps: &[Rc<Step>]) -> (Self, Self) {
        let answer = |step: &Rc<Step>, reply, woken| Answer { step: step.clone(), reply, woken };
        let early = steps.iter().map(|step| answer(step, !is_late(step), true)).collect();
        let late = steps.iter().filter(|step| is_late(step));
        let late = late.map(|step| answer(step, true, false)).collect();
        (Self { batch, answers: early }, Self { batch, answers: late })
    }
}

fn is_late(step: &Step) -> bool {
    let deletes = || step.mutations.iter().any(|mutation| matches!(mutation, Mutation::Delete(_)));
    !matches!(step.reply, Reply::Waiting | Reply::Fetched(_)) && deletes()
}
