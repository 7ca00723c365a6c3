//! The kinds of attacks of a hostile tenant.

use super::role::{HUGE, Role};

/// More names than a turn can use.
const NAMES_PER_TURN: u64 = 1 << 32;

/// What a hostile tenant does with its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    Flood,
    HugePayloads,
    SlowBodies,
    UnreadAnswers,
    NewNames,
    EventStreams,
    LongPolls,
    Lists,
    AllAtOnce,
}

impl Attack {
    pub const ALL: [Self; 9] = [
        Self::Flood,
        Self::HugePayloads,
        Self::SlowBodies,
        Self::UnreadAnswers,
        Self::NewNames,
        Self::EventStreams,
        Self::LongPolls,
        Self::Lists,
        Self::AllAtOnce,
    ];

    /// The word that names it on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Flood => "flood",
            Self::HugePayloads => "huge-payloads",
            Self::SlowBodies => "slow-bodies",
            Self::UnreadAnswers => "unread-answers",
            Self::NewNames => "new-names",
            Self::EventStreams => "event-streams",
            Self::LongPolls => "long-polls",
            Self::Lists => "lists",
            Self::AllAtOnce => "all-at-once",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Flood => "a flood of enqueues",
            Self::HugePayloads => "huge payloads",
            Self::SlowBodies => "slow bodies",
            Self::UnreadAnswers => "unread answers",
            Self::NewNames => "new ids, keys, queues and types",
            Self::EventStreams => "event streams",
            Self::LongPolls => "long polls",
            Self::Lists => "lists",
            Self::AllAtOnce => "all of it at once",
        }
    }

    /// What each connection does. The numbers are for a strength of 64, and scale with it.
    /// `turn` is the number of the attack's turn: names that are new must differ from those of another one.
    pub(super) fn roles(self, strength: usize, turn: u64) -> Vec<Role> {
        let scaled = |count: u64| (count * strength as u64 / 64).max(1);
        let many = |count: u64, role: fn(u64) -> Role| (0..scaled(count)).map(role);
        let flood = |count| many(count, |_| Role::Enqueue { payload: 200 });
        match self {
            Self::Flood => flood(256).collect(),
            Self::HugePayloads => many(64, |_| Role::Enqueue { payload: HUGE }).collect(),
            Self::SlowBodies => many(2_000, |_| Role::SlowBody).collect(),
            Self::UnreadAnswers => many(256, |_| Role::Unread).collect(),
            Self::NewNames => {
                let (step, first) = (scaled(64), turn * NAMES_PER_TURN);
                (first..first + step).map(|next| Role::NewNames { next, step }).collect()
            }
            // Without events, a stream has nothing to do.
            Self::EventStreams => many(1_000, |_| Role::Stream).chain(flood(16)).collect(),
            Self::LongPolls => many(3_000, |number| Role::LongPoll { number }).collect(),
            Self::Lists => many(64, |number| Role::List { number }).collect(),
            Self::AllAtOnce => {
                let single = Self::ALL.into_iter().filter(|attack| *attack != Self::AllAtOnce);
                single.flat_map(|attack| attack.roles(strength, turn)).collect()
            }
        }
    }

    /// Jobs that the hostile tenant has before it attacks: how many requests, and bytes of each.
    pub(super) fn stock(self) -> Option<(u64, usize)> {
        match self {
            Self::UnreadAnswers | Self::AllAtOnce => Some((32, HUGE)),
            Self::Lists => Some((20_000, 200)),
            _ => None,
        }
    }
}
