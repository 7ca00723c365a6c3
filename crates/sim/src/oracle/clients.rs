//! Records what clients were told, which must never be revoked.

use std::collections::{BTreeMap, BTreeSet};

use rota_engine::{Claimed, Command, Reply, Settle, WaiterId};
use rota_model::{Seq, State};

use super::violation::{Check, Rule, ensure};
use super::world::World;
use crate::request::Ticket;
use crate::runtime::Step;

#[derive(Default)]
pub(super) struct Clients {
    /// Jobs whose acceptance was told to someone.
    acknowledged: BTreeSet<Seq>,
    /// How often a job's completion was told to someone.
    completed: BTreeMap<Seq, u32>,
    /// Which step's claim of a job was handed to whom.
    handed: BTreeMap<(u64, Seq), Ticket>,
    /// Requests that have had their answer.
    answered: BTreeSet<Ticket>,
}

impl Clients {
    /// An answer went out.
    pub fn told(&mut self, step: &Step) -> Check {
        if step.ticket != Ticket(0) && !matches!(step.reply, Reply::Waiting) {
            self.answer(step.ticket)?;
        }
        match (&step.command, &step.reply) {
            (_, Reply::Enqueued(accepted)) => {
                self.acknowledged.extend(accepted.jobs.iter().map(|a| a.seq));
            }
            (_, Reply::Fetched(claims)) => self.hand(step, step.ticket, claims)?,
            (Command::Settle(words), Reply::Settled(outcomes)) => {
                for (word, outcome) in words.iter().zip(outcomes) {
                    if let (Settle::Ack(ack), Ok(_)) = (word, outcome) {
                        self.complete(ack.job.seq)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A fetch or an enqueue that had been waiting was answered.
    pub fn woken(&mut self, step: &Step, waiter: WaiterId, reply: &Reply) -> Check {
        self.answer(Ticket(waiter.0))?;
        match reply {
            Reply::Fetched(claims) => self.hand(step, Ticket(waiter.0), claims),
            Reply::Enqueued(accepted) => {
                self.acknowledged.extend(accepted.jobs.iter().map(|a| a.seq));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// All that was acknowledged is there, unless it was deleted on purpose.
    pub fn check_kept(&self, committed: &World) -> Check {
        for seq in &self.acknowledged {
            let kept = committed.jobs.contains_key(seq) || committed.deleted.contains(seq);
            ensure(kept, Rule::Lost, || format!("job {seq} was acknowledged and is lost"))?;
        }
        for seq in self.completed.keys() {
            let job = committed.jobs.get(seq);
            let stays = job.is_none_or(|job| job.state() == State::Completed);
            ensure(stays, Rule::CompletedTwice, || {
                format!("job {seq} was told to be completed and is {:?}", job.map(|j| j.state()))
            })?;
        }
        Ok(())
    }

    fn answer(&mut self, ticket: Ticket) -> Check {
        ensure(self.answered.insert(ticket), Rule::Waiting, || {
            format!("request {} was answered twice", ticket.0)
        })
    }

    fn hand(&mut self, step: &Step, to: Ticket, claims: &[Claimed]) -> Check {
        for claim in claims {
            let other = self.handed.insert((step.number, claim.seq), to);
            ensure(other.is_none(), Rule::HandedTwice, || {
                format!("job {} went to {other:?} and to {to:?}", claim.seq)
            })?;
        }
        Ok(())
    }

    fn complete(&mut self, seq: Seq) -> Check {
        let times = self.completed.entry(seq).or_default();
        *times += 1;
        ensure(*times == 1, Rule::CompletedTwice, || {
            format!("job {seq} was completed {times} times")
        })
    }
}
