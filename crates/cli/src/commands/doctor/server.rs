//! Checks a running server: its identity, its health, and whether it uses this directory.

use std::path::Path;

use jiff::Timestamp;
use rota_client::{Client, Error, Health, Manifest, Readiness, ServerSettings};

use super::finding::Finding;
use super::{data, work};
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
        format!("It does not answer every request: {error}"),
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
        ("ok", _) => Finding::ok("health", "The server is healthy."),
        (_, Some("full")) => Finding::problem(
            "health",
            "Its disk is full: new jobs are rejected.",
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
            "Use the same version for both, or some of these findings may not apply.",
        )
    })
}

fn ready(readiness: &Readiness) -> Option<Finding> {
    (!readiness.ready).then(|| {
        Finding::problem(
            "ready",
            "It accepts no requests at the moment.",
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
            "Synchronize the clocks of both machines; schedules and expiry use the server's clock.",
        )
    })
}

/// Whether the directory that was checked is the server's. It may have the same path on another
/// machine, so a server must also be using it.
fn directory(settings: &ServerSettings, dir: &Path) -> Option<Finding> {
    let given = settings.config.get("data").map(Path::new).filter(|path| path.is_absolute());
    let theirs = settings.data_directory.as_deref().map(Path::new).or(given)?;
    let here = dir.canonicalize().ok()?;
    let found = theirs.canonicalize().ok();
    let advice = match &found {
        Some(path) if *path == here && data::is_in_use(dir) => return None,
        Some(path) if *path != here => {
            format!("To check the server's data: `rota doctor --data {}`.", theirs.display())
        }
        _ => "It may run on another machine; run `rota doctor` there to check its data.".to_owned(),
    };
    let what = format!(
        "The server uses another directory: {}, not {}. The findings above are not about its data.",
        theirs.display(),
        dir.display()
    );
    Some(Finding::warning("data", what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_directory_is_told_even_where_its_path_says_nothing_here() {
        let dir = tempfile::TempDir::new().unwrap();
        let told = |config: &str, absolute: Option<&str>| {
            let settings = ServerSettings {
                data_directory: absolute.map(str::to_owned),
                config: [("data".to_owned(), config.to_owned())].into(),
            };
            directory(&settings, dir.path()).map(|finding| finding.advice.unwrap())
        };
        let elsewhere = tempfile::TempDir::new().unwrap();
        let elsewhere = elsewhere.path().to_str().unwrap();
        assert!(told("./rota-data", Some(elsewhere)).unwrap().contains("rota doctor --data"));
        assert!(told("./rota-data", Some("/no/such/dir")).unwrap().contains("another machine"));
        // The same path, and no server uses it.
        let here = dir.path().to_str().unwrap();
        assert!(told(here, Some(here)).unwrap().contains("another machine"));
        assert!(told("./rota-data", None).is_none());
    }

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
