//! The command line definition. Every server setting is also a flag.

use clap::{Arg, ArgAction, ArgMatches, Command, Subcommand};
use rota_settings::{Declaration, declarations};

use crate::leading_flags::{declare, moved};
use crate::output::remark;
use crate::{Failure, commands};

const SERVE_EXAMPLES: &str = "\
Examples:
  rota serve                                   on 127.0.0.1:8080, data in ./rota-data
  rota serve --listen 127.0.0.1:9000 --data /var/lib/rota
  rota serve --config /etc/rota.toml --log-format json
  ROTA_RETENTION_COMPLETED=2d rota serve       every flag is also a variable

Every setting can come from a flag, from a ROTA_... variable or from the file, in this order of
precedence. `rota config` shows the effective values and where they came from.";

const CONFIG_EXAMPLES: &str = "\
Examples:
  rota config                                  what `rota serve` would use here
  rota config --config /etc/rota.toml --json   the same for a file, for scripts";

/// Flags listed first in the help; the others have their own heading.
const COMMON: &[&str] = &["listen", "data", "durability", "log.format", "log.level"];

const EXAMPLES: &str = "\
Examples:
  rota serve                                   start a server here
  rota enqueue email.send --args '[\"you@example.com\"]'
  rota work --queue email -- ./send.sh         run a script for each job
  rota jobs --state discarded                  what failed permanently
  rota queues                                  how much waits, and where
  rota tenants top                             who gets what, second by second

Commands that talk to a server find it with --url or ROTA_URL, and act as one tenant with --tenant
or ROTA_TENANT. `rota COMMAND --help` has examples.";

/// The commands as `rota --help` shows them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Server", &["serve", "config", "health", "events", "audit", "maintenance", "bench", "demo"]),
    ("Jobs", &["enqueue", "work", "jobs", "explain", "dead-letter", "cron"]),
    ("Queues and workers", &["queues", "workers", "pools"]),
    ("Tenants and limits", &["tenants", "keys", "fairness", "limits"]),
    ("Regions", &["federate", "regions"]),
    ("Data", &["backup", "restore", "doctor"]),
    ("Shell", &["completions", "help"]),
];

/// Parses the arguments. Errors exit the process as in clap, unless `--json` asks for JSON.
pub(crate) fn parse() -> Result<ArgMatches, Failure> {
    command().try_get_matches_from(moved(std::env::args_os())).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let text = error.to_string();
        if !std::env::args_os().any(|argument| argument == "--json") {
            remark(text.replacen("error: ", "rota: ", 1).trim_end());
            std::process::exit(error.exit_code());
        }
        // Everything after the first paragraph repeats the usage.
        let message = text.split("\n\n").next().unwrap_or_default();
        Failure::usage(message.trim_start_matches("error: ").trim_end())
            .hint("The command's --help has examples.")
    })
}

/// Whether the selected subcommand supports `--json` and it was given.
pub(crate) fn wants_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, inner)) => wants_json(inner),
        None => matches.try_get_one::<bool>("json").ok().flatten().is_some_and(|json| *json),
    }
}

pub(crate) fn command() -> Command {
    let command = commands::Command::augment_subcommands(declare(with_server_commands()));
    let command = with_negative_values(command);
    let groups = groups(&command);
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} rota [OPTIONS] <COMMAND>\n\n{groups}\
         Options:\n{{options}}{{after-help}}"
    ))
}

/// Lets `-5` reach the parsers of numbers, whose messages say what is expected. Otherwise clap takes
/// it for an unknown flag.
fn with_negative_values(command: Command) -> Command {
    const NUMBERS: [&str; 9] =
        ["N", "N/TIME", "DURATION", "TIME", "SIZE", "RATIO", "BYTES", "CODE", "NUMBER"];
    let is_number = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| NUMBERS.contains(&name.as_str()))
    };
    command
        .mut_args(|arg| match is_number(&arg) {
            true => arg.allow_hyphen_values(true),
            false => arg,
        })
        .mut_subcommands(with_negative_values)
}

/// clap cannot group commands, so the groups are part of the help template.
fn groups(command: &Command) -> String {
    let about = |name: &str| match command.find_subcommand(name) {
        Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
        None => "Print this, or the help of a command".to_owned(),
    };
    let mut out = String::new();
    for (title, names) in GROUPS {
        out.push_str(&format!("{title}:\n"));
        for name in *names {
            out.push_str(&format!("  {name:13}{}\n", about(name)));
        }
        out.push('\n');
    }
    out
}

fn with_server_commands() -> Command {
    Command::new("rota")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A background job server for multi-tenant software")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(EXAMPLES)
        .subcommand(
            with_settings(Command::new("serve").about("Start the server"))
                .after_help(SERVE_EXAMPLES),
        )
        .subcommand(
            with_settings(
                Command::new("config").about("Show the effective settings and their origin"),
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
        // What is either on or off can be turned on without a value.
        let arg = match setting.accepts == "true or false" {
            true => arg.num_args(0..=1).default_missing_value("true"),
            false => arg,
        };
        let common = COMMON.contains(&setting.key);
        command.arg(if common { arg } else { arg.help_heading("All other settings") })
    })
}

/// A short placeholder for a setting's value; choices are spelled out.
fn value_name(accepts: &str) -> String {
    let kinds = [
        ("a duration", "DURATION"),
        ("a size", "SIZE"),
        ("a whole number", "N"),
        ("a directory", "DIR"),
        ("none, or a file", "FILE"),
        ("an IP address", "ADDRESS"),
        ("a number", "NUMBER"),
        ("a list of ", "LIST"),
        ("a tenant's name", "TENANT"),
        ("none, * or a list of origins", "none|*|LIST"),
    ];
    let kind = kinds.iter().find(|(begin, _)| accepts.starts_with(begin));
    kind.map_or_else(|| accepts.replace(", ", "|").replace(" or ", "|"), |(_, word)| (*word).into())
}

fn help(setting: &Declaration) -> String {
    let accepts = &setting.accepts;
    let bounds = match (accepts.strip_prefix("a list of "), accepts.split_once(" from ")) {
        (Some(words), _) => format!(" Separated by commas: {words}."),
        (None, Some((_, bounds))) => format!(" From {bounds}."),
        (None, None) => String::new(),
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
    fn every_command_stands_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.retain(|name| *name != "help");
        let command = command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_help_of_every_command_has_an_example() {
        fn check(command: &Command, path: &str) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{path} has no examples");
            assert!(help.contains(&format!("\n  {path}")), "the examples of {path} do not use it");
            for inner in command.get_subcommands() {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
        for inner in command().get_subcommands() {
            check(inner, &format!("rota {}", inner.get_name()));
        }
    }

    #[test]
    fn values_have_short_names() {
        assert_eq!(value_name("a duration from 0 to 1h"), "DURATION");
        assert_eq!(value_name("fsync or os"), "fsync|os");
        assert_eq!(value_name("a list of body or header, each at most once"), "LIST");
        assert_eq!(value_name("error, warn, info, debug or trace"), "error|warn|info|debug|trace");
    }
}
