//! `rota bench`: measures how fast the server is on this machine.

mod bar;
mod report;
mod signals;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rota_bench::{Attack, BenchError, Line, Options, Progress};

use super::job_options::duration_ms;
use super::number::between;
use crate::Failure;
use crate::output::{print, print_json};
use bar::Bar;

const EXAMPLES: &str = "\
Examples:
  rota bench                               engine, store, HTTP and latency; under a minute
  rota bench rates --connections 64 --duration 10s
  rota bench latency --durability os       what fsync costs
  rota bench credentials                   what API keys, tokens and TLS cost an enqueue
  rota bench federation                    what a gateway costs an enqueue
  rota bench hostile                       what a quiet tenant notices of a hostile one; a minute
  rota bench depth --jobs 10000000         a deep backlog: fetch, memory, restart; takes minutes
  rota bench tenants                       100,000 tenants, a million blocked jobs, quotas
  rota bench scheduler --lanes 1000        the loads of the scheduler alone, smaller
  rota bench store --json                  for scripts

A server is started for the measurement, with its data in --dir, and removed afterwards: choose the
disk that you mean, since a directory in memory has no fsync to wait for. Every answer is checked; a
wrong one ends the measurement with exit code 1.";

/// Measure how fast the server is on this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    /// What to measure
    #[arg(value_enum, value_name = "WHAT")]
    what: Vec<What>,

    /// Number of concurrent connections
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = between(1_u16, 10_000))]
    connections: u16,

    /// Duration of each measurement
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    duration: Duration,

    /// Bytes in a job's arguments
    #[arg(long, value_name = "BYTES", default_value_t = 200, value_parser = between(0_u32, 100_000))]
    payload: u32,

    /// Jobs in a batch
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = between(2_u16, 1000))]
    batch: u16,

    /// Number of tenants in `tenants`
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = between(100_u64, 10_000_000))]
    tenants: u64,

    /// Number of waiting jobs in `depth`, and of blocked jobs in `tenants`
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = between(10_000_u64, 100_000_000))]
    jobs: u64,

    /// Number of types, lanes and queues in `scheduler`; its other sizes scale with it
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = between(100_u64, 10_000))]
    lanes: u64,

    /// Only this attack in `hostile`; may be given several times
    #[arg(long = "attack", value_name = "ATTACK", value_parser = attack())]
    attacks: Vec<Attack>,

    /// When a commit counts as durable
    #[arg(long, value_name = "fsync|os", default_value = "fsync", value_parser = ["fsync", "os"])]
    durability: String,

    /// Directory for the data during the run
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Measure `rates` of this running server instead; leaves jobs in its queue rota-bench
    #[arg(long, value_name = "URL", value_parser = address)]
    server: Option<SocketAddr>,

    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Claims and acks of the engine alone, without HTTP and disk
    Engine,
    /// Full cycles of the store thread alone
    Store,
    /// Enqueue, fetch and ack over HTTP, next to a bare echo
    Rates,
    /// Latency at half of the maximum rate
    Latency,
    /// Enqueue with an API key, a token and TLS, next to none of them
    Credentials,
    /// Enqueue through a gateway, next to its region directly; then the choice of a region alone
    Federation,
    /// A quiet tenant's times beside a hostile one, compared with alone
    Hostile,
    /// Fetch, memory and restart with many waiting jobs
    Depth,
    /// Cost of many tenants, blocked jobs, rate limits and quotas; then all of `scheduler`
    Tenants,
    /// Cost of a start in the scheduler alone, with many lanes, queues, limits and waiting fetches
    Scheduler,
    #[value(hide = true)]
    EchoServer,
}

impl Bench {
    pub fn run(self) -> Result<(), Failure> {
        if self.what.contains(&What::EchoServer) {
            return serve_echo();
        }
        let what = match (&*self.what, self.server) {
            ([], Some(_)) => vec![What::Rates],
            ([], None) => vec![What::Engine, What::Store, What::Rates, What::Latency],
            (some, None) => some.to_vec(),
            ([What::Rates], Some(_)) => vec![What::Rates],
            (_, Some(_)) => {
                return Err(Failure::usage("only `rates` can be measured with --server"));
            }
        };
        let options = self.options()?;
        let bar = Bar::new(signals::listen()?);
        let measured: Result<Vec<_>, _> =
            what.into_iter().map(|what| self.measure(what, &options, &bar)).collect();
        // Clear the line on failure too, so that the error does not follow it.
        bar.clear();
        let lines = measured?.concat();
        if self.json {
            return print_json(&report::json(&options, &lines));
        }
        print(&report::text(&options, &lines))
    }

    fn measure(
        &self,
        what: What,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Vec<Line>, Failure> {
        let outcome = match what {
            What::Engine => rota_bench::engine(options, progress),
            What::Store => rota_bench::store(options, progress),
            What::Rates => rota_bench::rates(options, progress),
            What::Latency => rota_bench::latency(options, progress),
            What::Credentials => rota_bench::credentials(options, progress),
            What::Federation => rota_bench::federation(options, progress),
            What::Hostile if self.attacks.is_empty() => {
                rota_bench::hostile(options, &Attack::ALL, progress)
            }
            What::Hostile => rota_bench::hostile(options, &self.attacks, progress),
            What::Depth => rota_bench::depth(options, self.jobs, progress),
            What::Tenants => {
                let mut lines = rota_bench::tenants(options, self.tenants, self.jobs, progress)
                    .map_err(failed)?;
                lines.extend(rota_bench::scheduler(options, self.lanes, progress).map_err(failed)?);
                Ok(lines)
            }
            What::Scheduler => rota_bench::scheduler(options, self.lanes, progress),
            What::EchoServer => Ok(Vec::new()),
        };
        outcome.map_err(failed)
    }

    fn options(&self) -> Result<Options, Failure> {
        let binary = std::env::current_exe()
            .map_err(|error| Failure::error(format!("this program cannot be found: {error}")))?;
        Ok(Options {
            binary,
            dir: self.dir.clone(),
            server: self.server,
            durability: self.durability.clone(),
            connections: self.connections.into(),
            duration: self.duration,
            payload: self.payload as usize,
            batch: self.batch.into(),
        })
    }
}

fn failed(error: BenchError) -> Failure {
    let failure = Failure::error(format!("the measurement ended: {error}"));
    match error {
        BenchError::Wrong(_) => {
            failure.hint("Times of wrong answers mean nothing. Look at the server's log.")
        }
        BenchError::Away(..) => Failure::unreachable(error.to_string())
            .hint("Start it, or leave --server out: then one is started for the measurement."),
        BenchError::TooShort(_) => failure.hint("Choose a longer --duration."),
        BenchError::Io(_) => {
            failure.hint("Check --dir, where the data must fit, and the limit of open files.")
        }
        BenchError::Server(_) | BenchError::Stopped => failure,
    }
}

/// Uses as many threads as `rota serve`.
fn serve_echo() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::error(format!("the runtime cannot be started: {e}")))?;
    runtime.block_on(rota_bench::serve_echo()).map_err(failed)
}

fn attack() -> impl TypedValueParser<Value = Attack> {
    PossibleValuesParser::new(Attack::ALL.map(Attack::word)).map(|word| {
        let attack = Attack::ALL.into_iter().find(|attack| attack.word() == word);
        attack.expect("the parser accepts no other words")
    })
}

fn duration(text: &str) -> Result<Duration, String> {
    let ms = duration_ms(text)?;
    if !(100..=3_600_000).contains(&ms) {
        return Err("must be from 100ms to 1h".into());
    }
    Ok(Duration::from_millis(ms))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let rest = text.strip_prefix("http://").ok_or("must begin with http://")?;
    let host = rest.trim_end_matches('/');
    if host.contains('/') {
        return Err("must be http://HOST:PORT, without a path".into());
    }
    let found = host.to_socket_addrs().map_err(|error| error.to_string())?;
    // Servers listen on IPv4 by default, even if `localhost` resolves to IPv6 first.
    found.min_by_key(SocketAddr::is_ipv6).ok_or_else(|| "has no address".into())
}
