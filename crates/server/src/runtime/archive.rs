//! The archive of the dead letter: files of JSON lines, one for each day, that are only appended to.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rota_model::Millis;
use rota_store::Record;
use rota_store_sqlite::private_files;

/// Where and how jobs are archived.
#[derive(Clone)]
pub struct Archive {
    directory: PathBuf,
    /// Writes a job as clients see it.
    pub(super) write_job: fn(&mut Vec<u8>, &Record),
}

impl Archive {
    #[must_use]
    pub fn new(directory: PathBuf, write_job: fn(&mut Vec<u8>, &Record)) -> Self {
        Self { directory, write_job }
    }

    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// Appends lines to the file of the day, and returns once they are on disk.
    pub(super) fn append(&self, now: Millis, lines: &[u8]) -> io::Result<()> {
        let is_new = !self.directory.exists();
        private_files::create_directory(&self.directory)?;
        let mut time = Vec::new();
        now.write_rfc3339(&mut time);
        let day = String::from_utf8_lossy(&time[..time.len().min(10)]).into_owned();
        let path = self.directory.join(format!("dead-letter-{day}.jsonl"));
        let is_new = is_new || !path.exists();
        let mut file = private_files::file_options().create(true).append(true).open(&path)?;
        let before = file.metadata()?.len();
        let written = file.write_all(lines).and_then(|()| file.sync_data());
        if written.is_err() {
            // Half a line would spoil the next one.
            let _ = file.set_len(before);
        }
        written?;
        if is_new {
            File::open(&self.directory)?.sync_all()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_appended_to_the_file_of_their_day() {
        let directory = std::env::temp_dir().join(format!("rota-archive-{}", std::process::id()));
        let archive = Archive::new(directory.join("archive"), |_, _| {});
        let day = Millis::parse_rfc3339("2026-02-13T10:00:00Z").unwrap();
        archive.append(day, b"{\"a\":1}\n").unwrap();
        archive.append(day, b"{\"a\":2}\n").unwrap();
        archive.append(day.saturating_add_ms(86_400_000), b"{}\n").unwrap();
        let read = |name: &str| fs::read_to_string(archive.path().join(name)).unwrap();
        assert_eq!(read("dead-letter-2026-02-13.jsonl"), "{\"a\":1}\n{\"a\":2}\n");
        assert_eq!(read("dead-letter-2026-02-14.jsonl"), "{}\n");
        fs::remove_dir_all(directory).unwrap();
    }
}
