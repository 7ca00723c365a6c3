//! `rota config`: the settings in force and where they came from.

use clap::ArgMatches;
use rota_server::settings::Row;

use crate::{Failure, given};

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let settings = given::settings(matches)?;
    let rows = settings.table();
    if matches.get_flag("json") {
        let json =
            serde_json::to_string_pretty(&rows).map_err(|e| Failure::error(e.to_string()))?;
        println!("{json}");
    } else {
        print!("{}", table(&rows));
    }
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let origins: Vec<String> = rows.iter().map(|row| row.origin.to_string()).collect();
    let width = |column: &dyn Fn(&Row) -> usize, title: &str| {
        rows.iter().map(column).max().unwrap_or(0).max(title.len())
    };
    let key = width(&|row| row.key.len(), "SETTING");
    let value = width(&|row| row.value.len(), "VALUE");
    let mut out = format!("{:key$}  {:value$}  ORIGIN\n", "SETTING", "VALUE");
    for (row, origin) in rows.iter().zip(origins) {
        out.push_str(&format!("{:key$}  {:value$}  {origin}\n", row.key, row.value));
    }
    out
}
