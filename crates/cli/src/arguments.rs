//! The command line. Every setting of the server is a flag; their declarations are the server's.

use clap::{Arg, ArgAction, ArgMatches, Command};
use rota_server::settings::{Declaration, declarations};

const SERVE_EXAMPLES: &str = "\
Examples:
  rota serve                                   on 127.0.0.1:8080, data in ./rota-data
  rota serve --listen 0.0.0.0:9000 --data /var/lib/rota
  rota serve --config /etc/rota.toml --log-format json
  ROTA_RETENTION_COMPLETED=2d rota serve       every flag is also a variable

Every setting can come from a flag, from a ROTA_... variable or from the file, in this order of
precedence. `rota config` shows what is in force and where it came from.";

const CONFIG_EXAMPLES: &str = "\
Examples:
  rota config                                  what `rota serve` would use here
  rota config --config /etc/rota.toml --json   the same for a file, for scripts";

/// The flags that are shown first; the rest stands under its own heading.
const COMMON: &[&str] = &["listen", "data", "durability", "log.format", "log.level"];

pub(crate) fn parse() -> ArgMatches {
    command().get_matches()
}

pub(crate) fn command() -> Command {
    Command::new("rota")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A background-job server for software that serves many customers at once")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            with_settings(Command::new("serve").about("Start the server"))
                .after_help(SERVE_EXAMPLES),
        )
        .subcommand(
            with_settings(
                Command::new("config").about("Show the settings in force and their origin"),
            )
            .arg(
                Arg::new("json")
                    .long("json")
                    .action(ArgAction::SetTrue)
                    .help("Print JSON for scripts"),
            )
            .after_help(CONFIG_EXAMPLES),
        )
}

fn with_settings(command: Command) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .env("ROTA_CONFIG")
        .help("A TOML file with settings");
    declarations().iter().fold(command.arg(config), |command, setting| {
        let arg = Arg::new(setting.key)
            .long(setting.flag.trim_start_matches("--"))
            .value_name(value_name(&setting.accepts))
            .help(help(setting));
        let common = COMMON.contains(&setting.key);
        command.arg(if common { arg } else { arg.help_heading("All other settings") })
    })
}

/// A short word for what a setting takes; choices are spelt out.
fn value_name(accepts: &str) -> String {
    let kinds = [
        ("a duration", "DURATION"),
        ("a size", "SIZE"),
        ("a whole number", "N"),
        ("a directory", "DIR"),
        ("an IP address", "ADDRESS"),
    ];
    let kind = kinds.iter().find(|(begin, _)| accepts.starts_with(begin));
    kind.map_or_else(|| accepts.replace(", ", "|").replace(" or ", "|"), |(_, word)| (*word).into())
}

fn help(setting: &Declaration) -> String {
    let bounds = match setting.accepts.split_once(" from ") {
        Some((_, bounds)) => format!(" From {bounds}."),
        None => String::new(),
    };
    format!("{}{bounds} [default: {}]", setting.help, setting.default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn values_have_short_names() {
        assert_eq!(value_name("a duration from 0 to 1h"), "DURATION");
        assert_eq!(value_name("fsync or os"), "fsync|os");
        assert_eq!(value_name("error, warn, info, debug or trace"), "error|warn|info|debug|trace");
    }
}
