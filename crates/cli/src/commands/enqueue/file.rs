//! Enqueues many jobs from a file of JSON lines.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use rota_client::{Client, Error};
use serde_json::json;
use serde_json::value::RawValue;

use super::warn_of_quotas;
use crate::Failure;
use crate::output::{plural, print_json, print_line};

/// Jobs and bytes per request; by default, servers accept 1,000 and 16 MiB.
const MOST_JOBS: usize = 500;
const MOST_BYTES: usize = 4 << 20;
/// More than a server accepts for one job.
const LONGEST_LINE: u64 = 16 << 20;

pub(super) async fn enqueue(client: &Client, path: &Path, as_json: bool) -> Result<(), Failure> {
    let name =
        if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    let cannot = |cause| Failure::usage(format!("{name} cannot be read: {cause}"));
    let (reader, bytes): (Box<dyn Read>, _) = match path == Path::new("-") {
        true => (Box::new(std::io::stdin().lock()), None),
        false => {
            let file = File::open(path).map_err(cannot)?;
            let length = file.metadata().map_err(cannot)?.len();
            (Box::new(file), Some(length))
        }
    };
    let mut lines = Lines { reader: BufReader::new(reader), name: name.clone(), line: 0, bytes: 0 };
    let progress = progress(bytes);
    let (mut jobs, mut batches) = (0, 0);
    let mut exceeded = BTreeSet::new();
    loop {
        let first = lines.line + 1;
        let batch = lines.batch().map_err(|failure| stopped(failure, jobs, first));
        let sent = match batch {
            Ok(batch) if batch.is_empty() => break,
            Ok(batch) => send(client, &batch, &name, jobs).await.map(|over| {
                exceeded.extend(over);
                batch.len() as u64
            }),
            Err(failure) => Err(failure),
        };
        jobs += sent.inspect_err(|_| progress.finish_and_clear())?;
        batches += 1;
        progress.set_position(lines.bytes);
        progress.set_message(plural(jobs, "job", "jobs"));
    }
    progress.finish_and_clear();
    let exceeded = Vec::from_iter(exceeded);
    if as_json {
        let mut told = json!({"enqueued": jobs, "batches": batches});
        if !exceeded.is_empty() {
            told["quota_exceeded"] = json!(exceeded);
        }
        return print_json(&told);
    }
    warn_of_quotas(&exceeded);
    print_line(&format!(
        "enqueued {} in {}",
        plural(jobs, "job", "jobs"),
        plural(batches, "batch", "batches")
    ))
}

/// The names of the quotas that the batch exceeded.
async fn send(
    client: &Client,
    batch: &[Line],
    name: &str,
    before: u64,
) -> Result<Vec<String>, Failure> {
    let jobs: Vec<&RawValue> = batch.iter().map(|line| &*line.job).collect();
    let error = match client.enqueue_batch_with_warnings(&jobs).await {
        Ok(enqueued) => return Ok(enqueued.quota_exceeded),
        Err(error) => error,
    };
    let unknown = matches!(error, Error::Interrupted { .. } | Error::Timeout { .. });
    let index = error.refusal().and_then(|refusal| refusal.details.get("index")?.as_u64());
    let wrong = index.and_then(|index| batch.get(usize::try_from(index).ok()?).zip(Some(index)));
    let mut failure = Failure::from(error);
    if let Some((line, index)) = wrong {
        // Report the line in the file instead of the index in the batch.
        let prefix = format!("job at index {index}: ");
        let message = failure.message.strip_prefix(&prefix).unwrap_or(&failure.message);
        failure.message = format!("line {} of {name}: {message}", line.number);
        failure = failure.detail("line", line.number);
    }
    let first = batch.first().map_or(0, |line| line.number);
    if !unknown {
        return Err(stopped(failure, before, first));
    }
    let last = batch.last().map_or(0, |line| line.number);
    let hint = format!(
        "The lines before {first} are enqueued ({}). Whether those from {first} to {last} are is not \
         known; look before you repeat them.",
        plural(before, "job", "jobs")
    );
    Err(failure.hint(hint).detail("enqueued", before).detail("next_line", first))
}

/// A batch is accepted as a whole or not at all, so the line to resume from is known.
fn stopped(failure: Failure, enqueued: u64, first: u64) -> Failure {
    let why = failure.hint.as_deref().map(|hint| format!("{hint}\n")).unwrap_or_default();
    let told = match enqueued {
        0 => "No job was enqueued.".to_owned(),
        _ => format!(
            "The lines before {first} are enqueued ({}), those from {first} on are not. Go on with: \
             tail -n +{first} FILE | rota enqueue --file -",
            plural(enqueued, "job", "jobs")
        ),
    };
    failure.hint(format!("{why}{told}")).detail("enqueued", enqueued).detail("next_line", first)
}

fn progress(bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match bytes {
        Some(bytes) => (ProgressBar::new(bytes), "{bar:30} {percent}%  {msg}  {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}"),
    };
    // The bar is on standard error, and only if that is a terminal.
    bar.with_style(ProgressStyle::with_template(template).expect("the template is well formed"))
}

struct Line {
    number: u64,
    job: Box<RawValue>,
}

struct Lines {
    reader: BufReader<Box<dyn Read>>,
    name: String,
    line: u64,
    bytes: u64,
}

impl Lines {
    /// Returns the next lines that fit into one request; none at the end.
    fn batch(&mut self) -> Result<Vec<Line>, Failure> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < MOST_JOBS && bytes < MOST_BYTES {
            let Some(text) = self.next()? else { break };
            bytes += text.len();
            if !text.trim().is_empty() {
                batch.push(Line { number: self.line, job: self.parse(&text)? });
            }
        }
        Ok(batch)
    }

    fn next(&mut self) -> Result<Option<String>, Failure> {
        let mut text = String::new();
        let read = self.reader.by_ref().take(LONGEST_LINE).read_line(&mut text);
        let read = read.map_err(|cause| {
            Failure::usage(format!(
                "{} cannot be read after line {}: {cause}",
                self.name, self.line
            ))
        })?;
        self.line += 1;
        self.bytes += read as u64;
        if read as u64 == LONGEST_LINE {
            return Err(self.bad("it is longer than 16 MiB"));
        }
        Ok((read > 0).then_some(text))
    }

    fn parse(&self, text: &str) -> Result<Box<RawValue>, Failure> {
        let job: Box<RawValue> = serde_json::from_str(text).map_err(|cause| {
            self.bad(&format!("it is not JSON, from column {} on", cause.column()))
        })?;
        match job.get().starts_with('{') {
            true => Ok(job),
            false => Err(self.bad("it is not a JSON object")),
        }
    }

    fn bad(&self, why: &str) -> Failure {
        Failure::usage(format!("line {} of {}: {why}", self.line, self.name))
            .detail("line", self.line)
    }
}
