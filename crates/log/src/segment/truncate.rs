//! Giving up segments.

use super::directory::{failed, path_of};
use super::options::Durability;
use super::segment_log::SegmentLog;
use super::spares::Spare;
use crate::LogError;
use crate::files::Files;

impl<F: Files> SegmentLog<F> {
    /// Recycles or removes the segments that are entirely below an index, oldest first. The
    /// directory is synced after each, so a power cut cannot leave a gap.
    pub(super) fn give_up(&mut self, below: u64) -> Result<(), LogError> {
        while self.segments.len() > 1 && self.last_of(0) < below {
            self.give_up_oldest()?;
        }
        Ok(())
    }

    fn give_up_oldest(&mut self) -> Result<(), LogError> {
        self.check_usable().map_err(|error| LogError::Io(error.to_string()))?;
        let oldest = self.segments[0];
        let path = path_of(&self.directory, oldest.name);
        self.cursor = None;
        let reusable = self.spares.len() < self.options.spare_segments
            && oldest.bytes == self.options.segment_bytes;
        let mut recycled = None;
        if reusable {
            let spare = self.spares.next_path();
            let file = self.files.open(&path).map_err(|error| failed("open", &path, &error))?;
            self.files.rename(&path, &spare).map_err(|error| failed("rename", &path, &error))?;
            recycled = Some(Spare { path: spare, file, bytes: oldest.bytes });
        } else {
            self.files.remove(&path).map_err(|error| failed("remove", &path, &error))?;
        }
        self.segments.remove(0);
        if self.options.durability == Durability::Fsync {
            // The file must not be overwritten while it could still come back under its old name.
            self.files.sync_dir(&self.directory).map_err(|error| {
                let error = failed("sync", &self.directory, &error);
                self.broken = Some(error.to_string());
                error
            })?;
        }
        if let Some(spare) = recycled {
            self.spares.add(spare);
        }
        Ok(())
    }
}
