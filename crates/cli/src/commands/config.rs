//! `rota config`: shows the effective settings and where they came from.

use clap::ArgMatches;

use crate::output::{Table, print, print_line};
use crate::{Failure, given};

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let settings = given::settings(matches)?;
    let rows = settings.table();
    if matches.get_flag("json") {
        let json =
            serde_json::to_string_pretty(&rows).map_err(|e| Failure::error(e.to_string()))?;
        return print_line(&json);
    }
    let mut table = Table::new(&["SETTING", "VALUE", "ORIGIN"]).with_text();
    for row in &rows {
        table.row(vec![row.key.to_string(), row.value.to_string(), row.origin.to_string()]);
    }
    print(&table.take())
}
