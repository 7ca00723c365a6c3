//! Bounds the true time of an event whose wall-clock time was stored before a restart.

use rota_model::Millis;

/// A range of true times. What is written down is in wall-clock time, by the clock of the moment at
/// which it was written, and may be written again at any later moment. A restart reads whichever was
/// written last, so a clock that was set meanwhile makes it look older or younger than it is.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub earliest: i64,
    pub latest: i64,
    /// The wall-clock times under which it may have been written down so far.
    written: (i64, i64),
}

/// A new process.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    pub at: i64,
    pub wall: Millis,
    /// The wall clock when the last process last wrote something down.
    pub written_wall: Millis,
}

impl Restart {
    /// The true time that this process takes a wall-clock time for.
    fn believed(&self, wall: i64) -> i64 {
        wall.saturating_sub(self.wall.0).saturating_add(self.at)
    }
}

impl Moment {
    pub fn new(at: i64, wall: Millis) -> Self {
        Self { earliest: at, latest: at, written: (wall.0, wall.0) }
    }

    /// It was before there was a limit that it would count for: a restart may remember it nevertheless.
    pub fn need_not_count(&mut self) {
        (self.earliest, self.written.0) = (i64::MIN, i64::MIN);
    }

    /// It may be written down now.
    pub fn may_be_written(&mut self, at: i64, wall: Millis) {
        let by_clock = |moment: i64| moment.saturating_sub(at).saturating_add(wall.0);
        self.written.0 = self.written.0.min(by_clock(self.earliest));
        self.written.1 = self.written.1.max(by_clock(self.latest));
    }

    pub fn after(&mut self, restart: &Restart) {
        self.earliest = restart.believed(self.written.0);
        self.latest = restart.believed(self.written.1);
    }

    /// The same of something that counts from when its batch was written.
    pub fn after_with_its_batch(&mut self, restart: &Restart) {
        self.after(restart);
        self.latest = self.latest.max(restart.believed(restart.written_wall.0));
    }
}
