//! What became of every job of the demo.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rota_client::federation::Event;

/// The regions. The first is the local one, and the one that is killed.
pub(super) const IDS: [&str; 3] = ["eu-west-1", "us-east-1", "ap-south-1"];
/// How many of the last happenings are shown.
const NOTES: usize = 8;

pub(super) struct Shared {
    began: Instant,
    tally: Mutex<Tally>,
}

#[derive(Default)]
pub(super) struct Tally {
    pub by_region: [Region; IDS.len()],
    /// Jobs for any region that no region took. The caller was told.
    pub not_taken: u64,
    /// Jobs for one region that were refused, and why the last one was.
    pub pins_refused: u64,
    pub last_refusal: Option<String>,
    pub failovers: u64,
    /// Jobs that two regions may have had, and what was found out about each.
    pub duplicates: u64,
    pub notes: Vec<(Duration, String)>,
    pub killed: Option<Duration>,
    pub back: Option<Duration>,
    runs: HashMap<String, u32>,
}

#[derive(Default, Clone)]
pub(super) struct Region {
    /// Jobs for any region.
    pub free: u64,
    /// Jobs for this region.
    pub pinned: u64,
    pub done: u64,
}

impl Shared {
    pub fn new() -> Self {
        Self { began: Instant::now(), tally: Mutex::default() }
    }

    pub fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, text: String) {
        let passed = self.began.elapsed();
        self.lock().notes.push((passed, text));
    }

    /// Writes down what happened between regions.
    pub fn hear(&self, event: &Event) {
        match event {
            Event::Failover { .. } => self.lock().failovers += 1,
            Event::Duplicate { .. } => self.lock().duplicates += 1,
            Event::CircuitChanged { region, circuit } => {
                self.note(format!("the circuit breaker of {region} is {}", circuit.as_str()));
            }
            Event::HealthChanged { region, healthy: true, .. } => {
                self.note(format!("{region} is healthy again"));
            }
            Event::HealthChanged { region, healthy: false, reason } => {
                let reason = reason.as_deref().unwrap_or("no reason is known");
                self.note(format!("{region} is not healthy: {reason}"));
            }
            Event::NoDuplicate { .. }
            | Event::DoubtForgotten { .. }
            | Event::RegistryNotRenewed { .. } => {}
        }
    }
}

impl Tally {
    pub fn took(&mut self, region: &str, id: &str, pinned: bool) {
        self.runs.entry(id.to_owned()).or_insert(0);
        if let Some(region) = self.region(region) {
            match pinned {
                true => region.pinned += 1,
                false => region.free += 1,
            }
        }
    }

    pub fn ran(&mut self, region: &str, id: &str) {
        *self.runs.entry(id.to_owned()).or_insert(0) += 1;
        if let Some(region) = self.region(region) {
            region.done += 1;
        }
    }

    fn region(&mut self, id: &str) -> Option<&mut Region> {
        let place = IDS.iter().position(|known| *known == id)?;
        self.by_region.get_mut(place)
    }

    /// Jobs that were taken and have not run.
    pub fn waiting(&self) -> usize {
        self.runs.values().filter(|runs| **runs == 0).count()
    }

    /// Jobs that ran more than once.
    pub fn twice(&self) -> usize {
        self.runs.values().filter(|runs| **runs > 1).count()
    }

    pub fn enqueued(&self) -> u64 {
        self.by_region.iter().map(|region| region.free + region.pinned).sum()
    }

    pub fn last_notes(&self) -> &[(Duration, String)] {
        &self.notes[self.notes.len().saturating_sub(NOTES)..]
    }
}
