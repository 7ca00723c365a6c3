//! The counters of a limit as stored, and how they are restored.

use rota_model::Rate;
use serde::{Deserialize, Serialize};

use super::pace::Pace;
use super::{Limit, Window};
use crate::Now;

/// Counters in wall-clock time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LimitState {
    /// The batch after which these were the counters.
    pub as_of: u64,
    pub windows: Vec<WindowState>,
    /// When the last start was due, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_us: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_us: Option<i64>,
    /// All starts. Files of version 0.1.0 have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<(i64, u32)>,
}

/// A window as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowState {
    period_ms: u64,
    /// Whether starts are recorded one by one.
    exact: bool,
    /// Times in milliseconds, with the number of starts at each.
    starts: Vec<(i64, u32)>,
}

impl Limit {
    /// `None` if no start counts any more.
    pub fn state(&self, as_of: u64, now: Now) -> Option<LimitState> {
        let (mono, offset) = (now.mono as i64, now.wall.0 - now.mono as i64);
        self.remembered_until().filter(|until| *until > mono)?;
        let in_wall = |(at, n): (i64, u32)| (at.saturating_add(offset), n);
        let windows = self.windows.iter().map(|window| WindowState {
            period_ms: window.period_ms(),
            exact: window.is_exact(),
            starts: window.starts().map(in_wall).collect(),
        });
        let in_wall_us = |us: i64| us.saturating_add(offset.saturating_mul(1_000));
        let last_us = self.pace.due_us().map(in_wall_us);
        let started_us = last_us.map(|_| in_wall_us(self.pace.started_us()));
        let history = self.history.starts().map(in_wall).collect();
        Some(LimitState { as_of, windows: windows.collect(), last_us, started_us, history })
    }

    pub fn restore(&mut self, state: &LimitState, now: Now) {
        let offset = now.wall.0 - now.mono as i64;
        let watched = std::mem::take(&mut self.windows);
        for kept in &state.windows {
            let mut window = Window::new(kept.period_ms, if kept.exact { 1 } else { u32::MAX });
            kept.starts.iter().for_each(|&(at, n)| window.record(at - offset, n));
            self.windows.insert(self.first_from(kept.period_ms), window);
        }
        let longest = state.windows.iter().max_by_key(|window| window.period_ms);
        let history = match longest {
            Some(longest) if state.history.is_empty() => &longest.starts,
            _ => &state.history,
        };
        history.iter().for_each(|&(at, n)| self.history.record(at - offset, n));
        // Jobs loaded before this may use other periods, whose windows need the restored starts.
        for window in watched {
            let limit = if window.is_exact() { 1 } else { u32::MAX };
            self.window(Rate { limit, period_ms: window.period_ms() });
        }
        let in_mono = |us: i64| us.saturating_sub(offset.saturating_mul(1_000));
        let started = state.started_us.or(state.last_us).map_or(i64::MIN / 2, in_mono);
        self.pace = state.last_us.map_or(Pace::none(), |us| Pace::at(in_mono(us), started));
    }

    /// Adds `n` starts that were journaled after the counters were stored. `at` is in the limits'
    /// clock.
    pub fn replay(&mut self, at: i64, n: u32, rates: &[Rate], throttle: Option<Rate>) {
        for rate in rates {
            self.window(*rate);
        }
        self.windows.iter_mut().for_each(|window| window.record(at, n));
        self.history.record(at, n);
        for _ in 0..n {
            match throttle {
                Some(rate) => self.pace.record(rate, at),
                None => self.pace.note(at),
            }
        }
    }
}
