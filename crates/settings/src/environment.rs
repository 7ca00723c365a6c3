//! Reads settings from `ROTA_...` environment variables.

use crate::declaration::declarations;
use crate::error::Problem;
use crate::given::{Found, Given, Origin};
use crate::named::{self, Table};
use crate::nearest::{nearest, nearest_table};

const PREFIX: &str = "ROTA_";

/// Read by the command line itself, or set by `rota work` for the commands it runs, which may be `rota`
/// again.
const NOT_SETTINGS: [&str; 14] = [
    "ROTA_CONFIG",
    "ROTA_TOKEN",
    "ROTA_CA_FILE",
    "ROTA_CLIENT_CERT",
    "ROTA_CLIENT_KEY",
    "ROTA_CREDENTIALS",
    "ROTA_URL",
    "ROTA_BOOTSTRAP_KEY",
    "ROTA_TENANT",
    "ROTA_LOG",
    "ROTA_JOB_ID",
    "ROTA_JOB_TYPE",
    "ROTA_QUEUE",
    "ROTA_ATTEMPT",
];

pub(crate) fn read(
    environment: impl Iterator<Item = (String, String)>,
    problems: &mut Vec<Problem>,
) -> Found {
    let mut variables: Vec<_> = environment.filter(|(name, value)| is_ours(name, value)).collect();
    // The system lists variables in no particular order; problems are reported in a fixed one.
    variables.sort();

    let mut found = Found::default();
    for (name, value) in variables {
        if let Some(table) = Table::ALL.into_iter().find(|table| table.environment() == name) {
            found.documents.extend(named::from_variable(table, name, &value, problems));
            continue;
        }
        let origin = Origin::Environment(name.clone());
        match declarations().iter().find(|declaration| declaration.environment == name) {
            Some(declaration) => found.given.push(Given { key: declaration.key, value, origin }),
            None => {
                let nearest = nearest_variable(name.trim_start_matches(PREFIX));
                problems.push(Problem::Unknown { name, value, origin, nearest });
            }
        }
    }
    found
}

fn nearest_variable(name: &str) -> Option<String> {
    let table = nearest_table(name).map(Table::environment);
    table.or_else(|| nearest(name).map(|declaration| declaration.environment.clone()))
}

fn is_ours(name: &str, value: &str) -> bool {
    name.starts_with(PREFIX) && !NOT_SETTINGS.contains(&name) && !is_service_link(name, value)
}

/// Kubernetes describes a service called `rota` to every pod in its namespace: `ROTA_SERVICE_HOST`,
/// `ROTA_PORT=tcp://10.0.0.11:8080`, `ROTA_PORT_8080_TCP_ADDR`. Nobody set those on purpose.
fn is_service_link(name: &str, value: &str) -> bool {
    let after = |mark| name.split_once(mark).map(|(_, rest)| rest);
    let service = after("_SERVICE_")
        .is_some_and(|rest| rest == "HOST" || rest == "PORT" || rest.starts_with("PORT_"));
    let port = after("_PORT_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let link = name.ends_with("_PORT") && value.contains("://");
    service || port || link
}
