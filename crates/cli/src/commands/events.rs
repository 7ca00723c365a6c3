//! `rota events`: shows what happens on the server.

use std::collections::VecDeque;
use std::time::Duration;

use clap::Args;
use rota_client::{Client, Error, Event, EventFilter, WithJson};
use serde::Serialize;
use serde_json::Value;

use super::number::between;
use crate::Failure;
use crate::output::{Table, paragraph, print, print_json, printable, remark};
use crate::remote::Remote;
use crate::signals::Signals;

const EXAMPLES: &str = "\
Examples:
  rota events                                  the last 20 events
  rota events --follow                         these, and all that follow, until Ctrl-C
  rota events --follow --type 'job.*' --queue email
  rota events --follow --type job.discarded --json | jq -r .subject

The server keeps recent events only, also over a restart. With --json, a list is one document, and
--follow prints one event per line.";

const LONGEST_PAGE: u32 = 1_000;
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Show recent events, or follow them live
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Events {
    /// Wait for more events, until Ctrl-C
    #[arg(long, short)]
    follow: bool,

    /// Maximum number of recent events to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20,
          value_parser = between(0_usize, 10_000))]
    limit: usize,

    /// Only events of this type, such as job.failed; `job.*` matches a prefix. Repeatable
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,

    /// Only events of this queue and its jobs; repeatable
    #[arg(long, value_name = "NAME")]
    queue: Vec<String>,

    /// Only events of jobs of this type; repeatable
    #[arg(long, value_name = "TYPE")]
    job_type: Vec<String>,

    #[command(flatten)]
    remote: Remote,
}

impl Events {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.remote.client()?;
        let json = self.remote.json;
        let filter =
            EventFilter { types: self.types, queues: self.queue, job_types: self.job_type };
        let (events, cursor) = recent(&client, &filter, None, self.limit).await?;
        if !self.follow {
            return list(&events, json);
        }
        let mut out = Out { json, table: new_table() };
        out.print(events.into())?;
        let mut ended = Signals::listen()?;
        tokio::select! {
            outcome = follow(&client, &filter, cursor, &mut out) => outcome,
            () = ended.next() => Ok(()),
        }
    }
}

/// The last events after the cursor that match, oldest first, and the cursor behind them.
async fn recent(
    client: &Client,
    filter: &EventFilter,
    mut cursor: Option<String>,
    limit: usize,
) -> Result<(VecDeque<WithJson<Event>>, Option<String>), Error> {
    let mut events = VecDeque::new();
    loop {
        let page = client.events(filter, cursor.as_deref(), LONGEST_PAGE).await?;
        events.extend(page.events);
        let surplus = events.len().saturating_sub(limit);
        events.drain(..surplus);
        cursor = page.cursor.or(cursor);
        if !page.has_more {
            return Ok((events, cursor));
        }
    }
}

/// Like other lists, with members that are unknown here.
#[derive(Serialize)]
struct Listing<'a> {
    events: &'a VecDeque<WithJson<Event>>,
    total: Option<u64>,
    next_cursor: Option<String>,
}

fn list(events: &VecDeque<WithJson<Event>>, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print_json(&Listing { events, total: None, next_cursor: None });
    }
    if events.is_empty() {
        remark("no events match; the server keeps only recent ones");
    }
    let mut table = new_table();
    events.iter().for_each(|event| table.row(cells(event)));
    print(&table.take())
}

/// Goes on after the connection was lost, behind the last event that was seen.
async fn follow(
    client: &Client,
    filter: &EventFilter,
    mut cursor: Option<String>,
    out: &mut Out,
) -> Result<(), Failure> {
    loop {
        let mut stream = match client.follow_events(filter, cursor.as_deref()).await {
            Ok(stream) => stream,
            Err(error) if error.is_transient() => {
                pause(&error.to_string()).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let lost = loop {
            match stream.next().await {
                Ok(Some(event)) => out.print(vec![event])?,
                Ok(None) => break "the server has closed the stream".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        cursor = stream.cursor().map(str::to_owned).or(cursor);
        pause(&lost).await;
        cursor = catch_up(client, filter, cursor, out).await?;
    }
}

/// Prints the events since the connection was lost. If the server does not know the cursor, because its data was
/// replaced, a stream would go on from now.
async fn catch_up(
    client: &Client,
    filter: &EventFilter,
    cursor: Option<String>,
    out: &mut Out,
) -> Result<Option<String>, Failure> {
    loop {
        match recent(client, filter, cursor.clone(), usize::MAX).await {
            Ok((events, newest)) => {
                out.print(events.into())?;
                return Ok(newest);
            }
            Err(error) if error.is_transient() => pause(&error.to_string()).await,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn pause(why: &str) {
    remark(&paragraph(&printable(&format!("{why}; trying again"))));
    tokio::time::sleep(RETRY_AFTER).await;
}

struct Out {
    json: bool,
    table: Table,
}

impl Out {
    fn print(&mut self, events: Vec<WithJson<Event>>) -> Result<(), Failure> {
        if self.json {
            return events.iter().try_for_each(print_json);
        }
        events.iter().for_each(|event| self.table.row(cells(event)));
        print(&self.table.take())
    }
}

fn new_table() -> Table {
    Table::new(&["TIME", "EVENT", "ABOUT"]).with_text()
}

fn cells(event: &WithJson<Event>) -> Vec<String> {
    vec![event.time.clone().unwrap_or_default(), event.kind.clone(), about(event)]
}

/// `01a1e147-... job_type=email.send queue=email attempt=1`.
fn about(event: &Event) -> String {
    let subject = event.subject.as_deref();
    let mut parts: Vec<String> = subject.into_iter().map(str::to_owned).collect();
    for (name, value) in &event.data {
        let text = match value {
            Value::Null => continue,
            Value::String(text) if Some(&**text) == subject => continue,
            Value::Object(members) => match members.get("message") {
                Some(Value::String(message)) => format!("{message:?}"),
                _ => value.to_string(),
            },
            Value::String(text) if !text.contains(' ') => text.clone(),
            value => value.to_string(),
        };
        parts.push(format!("{name}={text}"));
    }
    parts.join(" ")
}
