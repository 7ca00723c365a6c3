//! Measures what a quiet tenant notices of a hostile one.
//!
//! Both tenants have valid API keys. The quiet one enqueues, fetches and acknowledges jobs at a steady
//! rate; every answer is checked, so a refusal ends the measurement. Turns alternate: the quiet tenant
//! alone, while another server on this machine is attacked, and beside the hostile one. The second is a
//! control: what it costs to share the processors and the disk with the attack, whatever the server does.
//!
//! Whoever is measured must not wait for the load generator, which shares the machine with the server. So
//! the hostile tenant's thread has the lowest priority, and the quiet tenant's the highest that the
//! system allows. What is left is the server's doing.

mod attack;
mod crowd;
mod member;
mod role;

use std::path::Path;
use std::time::Duration;

pub use attack::Attack;
use crowd::{Crowd, Deeds};

use crate::access::Access;
use crate::http::{Drive, PATIENCE, Target, drive};
use crate::load::{Cycle, Enqueue};
use crate::measurement::Measurement;
use crate::priority::Raised;
use crate::process::Process;
use crate::{BenchError, Line, Options, Progress};

/// Turns of each kind for each attack.
const ROUNDS: u32 = 2;
/// Requests of the quiet tenant per second, and its connections.
const QUIET_RATE: f64 = 300.0;
const QUIET_CONNECTIONS: usize = 32;
/// Between two turns, so that the server has finished the work of the last one.
const PAUSE: Duration = Duration::from_millis(300);

/// Measures the quiet tenant beside each of the attacks, compared with the same tenant alone.
pub fn hostile(
    options: &Options,
    attacks: &[Attack],
    progress: &dyn Progress,
) -> Result<Vec<Line>, BenchError> {
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let access = Access::new(home.path())?;
    let mut lines = Vec::new();
    for &attack in attacks {
        let bench = Bench { options, progress, attack };
        lines.extend(bench.run(&access, home.path())?);
    }
    Ok(lines)
}

struct Bench<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
    attack: Attack,
}

impl Bench<'_> {
    /// With servers of its own, so that no attack suffers from what another one has left.
    fn run(&self, access: &Access, home: &Path) -> Result<Vec<Line>, BenchError> {
        let name = self.attack.name();
        let victim = self.start(access, &home.join("attacked"))?;
        let other = self.start(access, &home.join("other"))?;
        let quiet = access.with_key(&victim.target, "quiet")?;
        let hostile = access.with_key(&victim.target, "hostile")?;
        let elsewhere = access.with_key(&other.target, "hostile")?;
        self.fill(&hostile)?;
        self.fill(&elsewhere)?;
        let mut figures = Figures::new();
        for round in 0..ROUNDS {
            figures.alone.add(&self.turn(&quiet, "the quiet tenant alone")?);
            let crowd = self.crowd(&elsewhere, round)?;
            figures.control.add(&self.turn(&quiet, "another server attacked")?);
            drop(crowd);
            std::thread::sleep(PAUSE);
            let crowd = self.crowd(&hostile, round)?;
            let before = crowd.deeds();
            figures.beside.add(&self.turn(&quiet, name)?);
            figures.deeds.add(crowd.deeds(), before);
            drop(crowd);
            std::thread::sleep(PAUSE);
        }
        for server in [victim, other] {
            server.stop()?;
        }
        for data in ["attacked", "other"] {
            std::fs::remove_dir_all(home.join(data))?;
        }
        figures.lines(name)
    }

    fn start(&self, access: &Access, data: &Path) -> Result<Process, BenchError> {
        let flags = access.auth_flags();
        Process::serve_with(self.options, data, flags.iter().map(AsRef::as_ref))
    }

    fn crowd(&self, target: &Target, round: u32) -> Result<Crowd, BenchError> {
        let roles = self.attack.roles(self.options.connections, round.into());
        Crowd::gather(target.address(), target.headers(), roles)
    }

    /// One turn of the quiet tenant.
    fn turn(&self, quiet: &Target, name: &str) -> Result<Measurement, BenchError> {
        let duration = self.options.duration / (2 * ROUNDS);
        let payload = self.options.payload;
        let scripts = (0..QUIET_CONNECTIONS).map(|n| Cycle::one_by_one(n, payload)).collect();
        let how = Drive {
            name,
            target: quiet,
            // New connections, and those of the attack, are all open by then.
            warm_up: duration / 5,
            duration,
            pace: Some((QUIET_CONNECTIONS, QUIET_RATE)),
            patience: PATIENCE,
            progress: self.progress,
        };
        let _raised = Raised::new();
        Ok(drive(&how, scripts)?.0)
    }

    /// Gives the hostile tenant the jobs that its attack needs.
    fn fill(&self, hostile: &Target) -> Result<(), BenchError> {
        let Some((jobs, payload)) = self.attack.stock() else { return Ok(()) };
        let connections = 8;
        let script = || match payload {
            role::HUGE => Enqueue::single(payload, jobs / connections),
            _ => Enqueue::in_batches(payload, 100, jobs / connections / 100),
        };
        let scripts = (0..connections).map(|_| script()).collect();
        drive(&Drive::to_the_end("filling", hostile, self.progress), scripts)?;
        Ok(())
    }
}

/// What was measured of one attack.
struct Figures {
    alone: Measurement,
    control: Measurement,
    beside: Measurement,
    deeds: Deeds,
}

impl Figures {
    fn new() -> Self {
        let [alone, control, beside] = [(); 3].map(|()| Measurement::new());
        Self { alone, control, beside, deeds: Deeds::default() }
    }

    fn lines(&self, name: &str) -> Result<Vec<Line>, BenchError> {
        let Self { alone, control, beside, deeds } = self;
        let (Some(base), Some(contended), Some(times)) =
            (alone.all_times(), control.all_times(), beside.all_times())
        else {
            return Err(BenchError::TooShort(name.into()));
        };
        let of = format!("its p99 alone, {:.2} ms", base.p99_ms);
        let hostile = |what: &str, count: u64| {
            Line::value(
                &format!("  hostile requests {what}"),
                count as f64 / beside.seconds,
                "per second",
            )
        };
        Ok(vec![
            Line::value(&format!("quiet tenant beside {name}"), beside.per_second(), "per second")
                .times(Some(times))
                .against(&of, times.p99_ms / base.p99_ms),
            Line::value("  another server attacked", control.per_second(), "per second")
                .times(Some(contended))
                .against(&of, contended.p99_ms / base.p99_ms),
            hostile("accepted", deeds.accepted),
            hostile("refused", deeds.refused),
        ])
    }
}
