//! Measures what credentials and TLS cost an enqueue.

use std::path::Path;

use crate::access::Access;
use crate::http::{Drive, PATIENCE, Target, drive};
use crate::load::{Enqueue, Tally};
use crate::measurement::Measurement;
use crate::process::Process;
use crate::server_counts::{Counts, agree, counts};
use crate::{BenchError, Line, Options, Progress};

/// Each round measures all ways to enqueue, beginning with another one, so that what the machine does
/// meanwhile, or what a server still does afterwards, affects all of them.
const ROUNDS: usize = 5;
const TENANT: &str = "bench";

/// Measures enqueues on open connections with an API key, a token and TLS, compared with neither.
pub fn credentials(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let access = Access::new(home.path())?;
    let servers = Servers::start(options, &access, home.path())?;
    let mut ways = servers.ways(&access)?;
    for round in 0..ROUNDS {
        for turn in 0..ways.len() {
            let way = (round + turn) % ways.len();
            ways[way].measure(options, progress)?;
        }
    }
    servers.stop()?;
    let (base, others) = ways.split_first().expect("the first is without credentials");
    let mut lines = vec![base.line()];
    lines.extend(others.iter().map(|way| way.line().against("that without", way.ratio(base))));
    Ok(lines)
}

/// One server for each combination of settings.
struct Servers {
    plain: Process,
    secured: Process,
    encrypted: Process,
    both: Process,
}

impl Servers {
    fn start(options: &Options, access: &Access, home: &Path) -> Result<Self, BenchError> {
        let (auth, tls) = (access.auth_flags(), access.tls_flags());
        let serve = |name: &str, flags: &[String]| {
            Process::serve_with(options, &home.join(name), flags.iter().map(AsRef::as_ref))
        };
        Ok(Self {
            plain: serve("plain", &[])?,
            secured: serve("secured", &auth)?,
            encrypted: serve("encrypted", &tls)?,
            both: serve("both", &[&auth[..], &tls].concat())?,
        })
    }

    /// All ways to enqueue; the first is the baseline.
    fn ways(&self, access: &Access) -> Result<Vec<Way>, BenchError> {
        let (plain, secured) = (&self.plain.target, &self.secured.target);
        let (tls, both) =
            (&access.encrypted(&self.encrypted.target), &access.encrypted(&self.both.target));
        let way = |name, target: Target, operator: Target| Way::new(name, target, operator);
        Ok(vec![
            way("enqueue", plain.clone(), plain.clone())?,
            way(
                "enqueue with an API key",
                access.with_key(secured, TENANT)?,
                access.operator(secured),
            )?,
            way(
                "enqueue with a token",
                access.with_token(secured, TENANT)?,
                access.operator(secured),
            )?,
            way("enqueue over TLS", tls.clone(), tls.clone())?,
            way(
                "enqueue over TLS with an API key",
                access.with_key(both, TENANT)?,
                access.operator(both),
            )?,
        ])
    }

    fn stop(self) -> Result<(), BenchError> {
        [self.plain, self.secured, self.encrypted, self.both]
            .into_iter()
            .try_for_each(Process::stop)
    }
}

/// A way to enqueue, and its measurements so far.
struct Way {
    name: &'static str,
    target: Target,
    /// Sees all jobs of the server.
    operator: Target,
    rounds: Vec<Measurement>,
}

impl Way {
    fn new(name: &'static str, target: Target, operator: Target) -> Result<Self, BenchError> {
        Ok(Self { name, target, operator, rounds: Vec::new() })
    }

    fn measure(&mut self, options: &Options, progress: &dyn Progress) -> Result<(), BenchError> {
        let duration = options.duration / ROUNDS as u32;
        let before: Counts = counts(&self.operator)?;
        let scripts =
            (0..options.connections).map(|_| Enqueue::one_by_one(options.payload)).collect();
        let how = Drive {
            name: self.name,
            target: &self.target,
            warm_up: duration / 4,
            duration,
            pace: None,
            patience: PATIENCE,
            progress,
        };
        let (measured, scripts) = drive(&how, scripts)?;
        agree(&self.operator, before, scripts.iter().map(Tally::enqueued).sum(), 0)?;
        self.rounds.push(measured);
        Ok(())
    }

    fn line(&self) -> Line {
        let mut all = Measurement::new();
        self.rounds.iter().for_each(|round| all.add(round));
        Line::rate(self.name, &all, 0)
    }

    /// The median of the ratios to the baseline in the same round.
    fn ratio(&self, base: &Self) -> f64 {
        let rounds = self.rounds.iter().zip(&base.rounds);
        let mut ratios: Vec<f64> =
            rounds.map(|(own, base)| own.per_second() / base.per_second()).collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    }
}
