//! Faults of our own making, to prove that the oracle sees them.

use rota_engine::{Effects, Reply};
use rota_store::Mutation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// The store forgets a row that it has committed.
    DropRow,
    /// The store keeps a wrong number of finished jobs.
    Miscount,
    /// An answer goes out before its batch is committed, and the process dies.
    EarlyReply,
    /// The same claim is handed to two fetches.
    DeliverTwice,
    /// A paused queue is resumed behind everyone's back.
    SecretResume,
    /// Reservations end an hour early.
    FastClock,
    /// An execution counts twice.
    SkipAttempt,
    /// Two jobs are handed out in the wrong order.
    SwapClaims,
    /// A failed job is retried without its wait.
    NoBackoff,
    /// A completed job is made available again.
    Resurrect,
}

impl Sabotage {
    /// Falsifies what the engine decided.
    pub(crate) fn falsify(self, effects: &mut Effects, reply: &mut Reply) {
        let mutations = &mut effects.mutations;
        match self {
            Sabotage::SkipAttempt => {
                for mutation in mutations {
                    if let Mutation::Claim(claim) = mutation {
                        claim.attempt += 1;
                    }
                }
                let replies = effects.woken.iter_mut().map(|(_, reply)| reply);
                for reply in replies.chain([reply]) {
                    if let Reply::Fetched(claims) = reply {
                        claims.iter_mut().for_each(|c| c.attempt += 1);
                    }
                }
            }
            Sabotage::SwapClaims => swap_claims(mutations, reply),
            Sabotage::NoBackoff => {
                for mutation in mutations {
                    if let Mutation::Backoff(backoff) = mutation {
                        backoff.due.0 -= 100_000;
                    }
                }
            }
            Sabotage::Resurrect => {
                let finished = mutations.iter().find_map(|mutation| match mutation {
                    Mutation::Finish(f) if f.ending == rota_model::Ending::Completed => {
                        Some((f.seq, f.at))
                    }
                    _ => None,
                });
                mutations
                    .extend(finished.map(|(seq, enqueued)| Mutation::Revive { seq, enqueued }));
            }
            _ => {}
        }
    }
}

fn swap_claims(mutations: &mut [Mutation], reply: &mut Reply) {
    let Reply::Fetched(claims) = reply else {
        return;
    };
    let [first, second, ..] = &mut claims[..] else {
        return;
    };
    std::mem::swap(first, second);
    let at: Vec<_> =
        (0..mutations.len()).filter(|&i| matches!(mutations[i], Mutation::Claim(_))).collect();
    if let [a, b, ..] = at[..] {
        mutations.swap(a, b);
    }
}
