//! `rota tenants top`: a live view of what each tenant gets.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use rota_client::{Client, Error, FairTenant, Fairness, WithJson};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::Failure;
use crate::commands::fairness::headline;
use crate::commands::job_options::duration_ms;
use crate::commands::number::between;
use crate::output::{
    CLEAR, Keys, Room, Table, cut, decimal, percent, print, print_json, printable, screen,
};
use crate::signals::Signals;

const EXAMPLES: &str = "\
Examples:
  rota tenants top                             those who were served most first; q quits
  rota tenants top -n 5 --interval 5s
  rota tenants top --once                      one table, as when the output is no terminal

A terminal that is too small shows less: long ids are shortened, but never to the same letters, then
some columns and the last tenants are left out.";

const SHORTEST_INTERVAL: u64 = 100;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Top {
    /// Print one table and exit
    #[arg(long)]
    once: bool,

    /// Refresh interval
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    interval: Duration,

    /// Maximum number of tenants to show
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20,
          value_parser = between(1_u64, 1000))]
    limit: u64,
}

/// Columns to drop first on a narrow terminal.
const EXPENDABLE: [usize; 7] = [6, 3, 4, 5, 7, 2, 1];
/// With fewer lines than this, only the table is shown.
const FEWEST_LINES_WITH_A_HEADLINE: usize = 7;

/// The last response of the server.
enum Seen {
    Tenants(Tenants),
    /// No response, and the reason.
    Trouble(String),
}

struct Tenants {
    fairness: WithJson<Fairness>,
    rows: Vec<Vec<String>>,
}

impl Top {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let fairness = client.fairness(Some(self.limit)).await?;
        if json {
            return print_json(&fairness);
        }
        let first = self.with_rows(client, fairness).await?;
        if self.once || !std::io::stdout().is_terminal() {
            return print(&first.draw(Room::once()));
        }
        self.watch(client, Seen::Tenants(first)).await
    }

    async fn watch(&self, client: &Client, mut seen: Seen) -> Result<(), Failure> {
        let mut resized = signal(SignalKind::window_change())
            .map_err(|cause| Failure::error(format!("signals cannot be received: {cause}")))?;
        let mut ended = Signals::listen()?;
        let mut keys = Keys::listen();
        let mut due = Instant::now() + self.interval;
        print(CLEAR)?;
        loop {
            print(&screen(&seen.draw(Room::now())))?;
            tokio::select! {
                () = sleep_until(due) => {}
                _ = resized.recv() => continue,
                () = Keys::wait_for(&mut keys, b'q') => return Ok(()),
                () = ended.next() => return Ok(()),
            }
            seen = match self.look(client).await {
                Ok(tenants) => Seen::Tenants(tenants),
                // Keep going: the server may be back soon.
                Err(error) if error.is_transient() => Seen::Trouble(printable(&error.to_string())),
                Err(error) => return Err(error.into()),
            };
            due = Instant::now() + self.interval;
        }
    }

    async fn look(&self, client: &Client) -> Result<Tenants, Error> {
        let fairness = client.fairness(Some(self.limit)).await?;
        self.with_rows(client, fairness).await
    }

    async fn with_rows(
        &self,
        client: &Client,
        fairness: WithJson<Fairness>,
    ) -> Result<Tenants, Error> {
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut rows = Vec::new();
        for tenant in fairness.tenants.iter().take(most) {
            let enqueued = enqueued(client, tenant).await?;
            rows.push(vec![
                tenant.tenant_id.clone(),
                tenant.dispatched_1m.to_string(),
                tenant.backlog.to_string(),
                tenant.active.to_string(),
                percent(tenant.entitled_share),
                percent(tenant.actual_share),
                enqueued.map_or_else(|| "-".to_owned(), decimal),
                if tenant.throttled { "throttled".to_owned() } else { String::new() },
            ]);
        }
        Ok(Tenants { fairness, rows })
    }
}

impl Seen {
    fn draw(&self, room: Room) -> String {
        match self {
            Self::Tenants(tenants) => tenants.draw(room),
            Self::Trouble(why) => why.clone(),
        }
    }
}

impl Tenants {
    /// Draws as much as fits.
    fn draw(&self, room: Room) -> String {
        let header =
            ["TENANT", "DISPATCHED", "BACKLOG", "ACTIVE", "ENTITLED", "ACTUAL", "ENQUEUED/M", ""];
        let mut table =
            Table::new(&header).numbers_in(1..7).hide_first(EXPENDABLE).with_short_names();
        let head = match room.lines >= FEWEST_LINES_WITH_A_HEADLINE {
            true => format!("{}\n\n", cut(&headline(&self.fairness), room.columns)),
            false => String::new(),
        };
        let has_foot = !room.is_endless() && !head.is_empty();
        // Lines besides the table's header.
        let lines = room.lines.saturating_sub(head.lines().count() + 1 + usize::from(has_foot));
        let count = match self.rows.len() {
            all if all <= lines => all,
            // The last line says that there are more.
            _ => lines.saturating_sub(usize::from(!has_foot)).max(1),
        };
        self.rows.iter().take(count).for_each(|row| table.row(row.clone()));
        let rest = match (self.rows.len() - count.min(self.rows.len()), has_foot) {
            (0, false) => String::new(),
            (0, true) => "q quits\n".to_owned(),
            (more, false) => format!("… and {more} more\n"),
            (more, true) => format!("… and {more} more; q quits\n"),
        };
        format!("{head}{}{rest}", table.take_within(room.columns))
    }
}

/// Figures of the last minute.
async fn enqueued(client: &Client, tenant: &FairTenant) -> Result<Option<f64>, Error> {
    if tenant.enqueued_per_minute.is_some() {
        return Ok(tenant.enqueued_per_minute);
    }
    match client.tenant_stats(&tenant.tenant_id).await {
        Ok(stats) => Ok(stats.throughput.enqueued_per_minute),
        // The tenant was forgotten in the meantime.
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match duration_ms(text)? {
        SHORTEST_INTERVAL.. => duration_ms(text).map(Duration::from_millis),
        _ => Err("it must be at least 100ms".to_owned()),
    }
}
