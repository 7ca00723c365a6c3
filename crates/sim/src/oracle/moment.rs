//! When something happened, as far as a restart can tell.

use rota_model::Millis;

/// In true time. A restart knows of what was before it by the wall clock only, which may have been set
/// since: after it happened, or after it was last written down. So it may hold it to be older or
/// younger than it is.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub earliest: i64,
    pub latest: i64,
    wall: Millis,
}

/// A new process.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    pub at: i64,
    pub wall: Millis,
    /// When the last one last wrote something down, in true time and by the wall clock.
    pub written: i64,
    pub written_wall: Millis,
}

impl Restart {
    /// By how much true time seems to have gone on since.
    fn moved(&self) -> i64 {
        self.at - self.wall.since(self.written_wall) - self.written
    }
}

impl Moment {
    pub fn new(at: i64, wall: Millis) -> Self {
        Self { earliest: at, latest: at, wall }
    }

    /// It was before there was a limit that it would count for: a restart may remember it nevertheless.
    pub fn need_not_count(&mut self) {
        self.earliest = i64::MIN;
    }

    pub fn after(&mut self, restart: &Restart) {
        let by_wall = restart.at - restart.wall.since(self.wall);
        let moved = restart.moved();
        self.earliest = self.earliest.min(by_wall).min(self.earliest.saturating_add(moved));
        self.latest = self.latest.max(by_wall).max(self.latest + moved);
    }
    /// The same of something that counts from when its batch was written.
    pub fn after_with_its_batch(&mut self, restart: &Restart) {
        self.after(restart);
        self.latest = self.latest.max(restart.written + restart.moved());
    }
}
