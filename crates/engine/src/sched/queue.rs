//! Queues: their lanes in dispatch order, their settings, and their counts.

use std::collections::{BTreeMap, BTreeSet};

use ahash::RandomState;
use rota_model::mutation::Counts;
use rota_model::{ClassId, Millis, QueueName, Seq, State};
use serde::{Deserialize, Serialize};

use crate::stats::Stats;
use crate::{QueueSettings, WaiterId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueIx(pub u32);

pub(crate) struct Queues {
    all: Vec<Queue>,
    by_name: std::collections::HashMap<QueueName, QueueIx, RandomState>,
}

pub(crate) struct Queue {
    pub row: QueueRow,
    pub name: QueueName,
    /// Non-empty lanes by priority, then by the age of their heads.
    levels: BTreeMap<i16, BTreeSet<(Seq, ClassId)>>,
    /// Living jobs by state.
    live: [u64; State::ALL.len()],
    pub done: Counts,
    pub waiters: BTreeSet<WaiterId>,
    pub stats: Stats,
}

/// What is kept of a queue on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueRow {
    pub created: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Millis>,
    #[serde(default)]
    pub settings: QueueSettings,
}

impl Queues {
    pub fn new(hasher: RandomState) -> Self {
        Self { all: Vec::new(), by_name: std::collections::HashMap::with_hasher(hasher) }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn find(&self, name: &str) -> Option<QueueIx> {
        self.by_name.get(name).copied()
    }

    pub fn add(&mut self, name: QueueName, row: QueueRow) -> QueueIx {
        let ix = QueueIx(self.all.len() as u32);
        self.by_name.insert(name.clone(), ix);
        self.all.push(Queue {
            row,
            name,
            levels: BTreeMap::new(),
            live: [0; State::ALL.len()],
            done: Counts::default(),
            waiters: BTreeSet::new(),
            stats: Stats::default(),
        });
        ix
    }

    pub fn get(&self, ix: QueueIx) -> &Queue {
        &self.all[ix.0 as usize]
    }

    pub fn get_mut(&mut self, ix: QueueIx) -> &mut Queue {
        &mut self.all[ix.0 as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.all.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.all.iter_mut()
    }

    pub fn indexes(&self) -> impl Iterator<Item = QueueIx> + use<> {
        (0..self.all.len() as u32).map(QueueIx)
    }
}

impl Queue {
    /// The lane whose head is next: the highest priority, and there the oldest head.
    pub fn next_lane(&self) -> Option<ClassId> {
        let (_, level) = self.levels.last_key_value()?;
        level.first().map(|&(_, class)| class)
    }

    /// A lane's head is another now; `None` means that the lane was or is empty.
    pub fn move_lane(&mut self, class: ClassId, priority: i16, was: Option<Seq>, is: Option<Seq>) {
        if was == is {
            return;
        }
        let level = self.levels.entry(priority).or_default();
        if let Some(was) = was {
            level.remove(&(was, class));
        }
        if let Some(is) = is {
            level.insert((is, class));
        }
        if level.is_empty() {
            self.levels.remove(&priority);
        }
    }

    pub fn count(&self, state: State) -> u64 {
        if state.is_terminal() {
            self.done.of_state(state)
        } else {
            self.live[state.code() as usize]
        }
    }

    pub fn enter(&mut self, state: State) {
        self.live[state.code() as usize] += 1;
    }

    pub fn leave(&mut self, state: State) {
        self.live[state.code() as usize] -= 1;
    }

    pub fn may_dispatch(&self) -> bool {
        let room = |most: u32| self.count(State::Active) < u64::from(most);
        self.row.paused.is_none() && self.row.settings.concurrency.is_none_or(room)
    }
}
