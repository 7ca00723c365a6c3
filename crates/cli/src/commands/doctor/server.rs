//! Checks a running server: its identity, its health, and whether it uses this directory.

use std::path::Path;

use jiff::Timestamp;
use rota_client::{Client, Error, Health, Manifest, Readiness, ServerSettings};

use super::finding::Finding;
use super::work;
use crate::output::milliseconds;

/// The header has whole seconds, and a response takes a moment.
const DIFFERENCE_ALLOWED_S: i64 = 5;
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Fails if it does not respond like a job server.
pub(super) async fn look(client: &Client, dir: &Path) -> Result<Vec<Finding>, Error> {
    let health = client.health().await?;
    let manifest = client.manifest().await?;
    let mut findings = vec![who(&manifest, &health), state(&health)];
    if manifest.implementation.name == "rota" {
        findings.extend(version(&manifest));
        match look_closer(client, dir).await {
            Ok(more) => findings.extend(more),
            Err(error) => findings.push(cut_short(&error)),
        }
    }
    Ok(findings)
}

async fn look_closer(client: &Client, dir: &Path) -> Result<Vec<Finding>, Error> {
    let readiness = client.readiness().await?;
    let mut findings = Vec::new();
    findings.extend(ready(&readiness));
    findings.extend(clock(&readiness, Timestamp::now()));
    findings.extend(directory(&*client.server_settings().await?, dir));
    findings.extend(work::look(client).await?);
    Ok(findings)
}

fn cut_short(error: &Error) -> Finding {
    Finding::problem(
        "requests",
        format!("It does not answer all that it is asked: {error}"),
        "Look at the load and the disk of that machine, and at the server's log.",
    )
}

fn who(manifest: &Manifest, health: &Health) -> Finding {
    let about = &manifest.implementation;
    let version = about.version.as_deref().unwrap_or("of an unknown version");
    let up = health.uptime_seconds.map(|s| format!(", up {}", milliseconds(s as f64 * 1_000.0)));
    let what = format!("{} {version} answers{}.", about.name, up.unwrap_or_default());
    match &*about.name {
        "rota" => Finding::ok("answers", what),
        _ => Finding::warning(
            "answers",
            what,
            "It speaks the Open Job Spec and is not Rota, so only its health is checked.",
        ),
    }
}

fn state(health: &Health) -> Finding {
    let backend = health.backend.as_ref().and_then(|backend| backend.status.as_deref());
    match (&*health.status, backend) {
        ("ok", _) => Finding::ok("health", "It is well."),
        (_, Some("full")) => Finding::problem(
            "health",
            "Its disk is full: new jobs are refused.",
            "Free some space on that disk, or delete finished jobs; it goes on by itself then.",
        ),
        (_, Some("unresponsive")) => Finding::problem(
            "health",
            "It is too busy to answer within two seconds.",
            "Look at the load and the disk of that machine, and at the server's log.",
        ),
        (status, _) => {
            Finding::problem("health", format!("It says that it is {status}."), "Look at its log.")
        }
    }
}

fn version(manifest: &Manifest) -> Option<Finding> {
    let theirs = manifest.implementation.version.as_deref()?;
    (theirs != OWN_VERSION).then(|| {
        Finding::warning(
            "version",
            format!("It is version {theirs}, and this is version {OWN_VERSION}."),
            "Use the same version for both, or some of what is said here may not fit.",
        )
    })
}

fn ready(readiness: &Readiness) -> Option<Finding> {
    (!readiness.ready).then(|| {
        Finding::problem(
            "ready",
            "It takes no requests at the moment.",
            "If that lasts, look at the load and the disk of that machine, and at the server's log.",
        )
    })
}

fn clock(readiness: &Readiness, now: Timestamp) -> Option<Finding> {
    let theirs = jiff::fmt::rfc2822::parse(readiness.date.as_deref()?).ok()?.timestamp();
    let ahead = theirs.as_second() - now.as_second();
    let (distance, way) = (ahead.abs(), if ahead > 0 { "ahead of" } else { "behind" });
    (distance > DIFFERENCE_ALLOWED_S).then(|| {
        Finding::warning(
            "clock",
            format!("Its clock is {distance} seconds {way} the one here."),
            "Set the clocks of both machines by the network; schedules and expiry go by the server's.",
        )
    })
}

/// Only an absolute path means the same in both processes.
fn directory(settings: &ServerSettings, dir: &Path) -> Option<Finding> {
    let theirs = Path::new(settings.config.get("data")?);
    let here = dir.canonicalize().ok()?;
    (theirs.is_absolute() && theirs != dir && theirs.canonicalize().ok()? != here).then(|| {
        Finding::warning(
            "data",
            format!("Its data is in {}, not in {}.", theirs.display(), dir.display()),
            format!("To check the server's data: `rota doctor --data {}`.", theirs.display()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_differs_is_told() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let look = |date: &str| {
            let readiness = Readiness { ready: true, date: Some(date.to_owned()) };
            clock(&readiness, now).map(|finding| finding.what)
        };
        assert_eq!(look("Sun, 15 Nov 2026 12:00:03 GMT"), None);
        assert_eq!(look("Sun, 15 Nov 2026 11:59:57 GMT"), None);
        assert_eq!(
            look("Sun, 15 Nov 2026 12:02:00 GMT").as_deref(),
            Some("Its clock is 120 seconds ahead of the one here.")
        );
        assert_eq!(
            look("Sun, 15 Nov 2026 11:00:00 GMT").as_deref(),
            Some("Its clock is 3600 seconds behind the one here.")
        );
        assert_eq!(look("soon"), None);
    }
}
