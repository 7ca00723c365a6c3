//! Lets the flags that many commands share stand before the command: `rota --json queues`.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command};

/// Flag, name of its value, and help.
const FLAGS: [(&str, Option<&str>, &str); 10] = [
    ("url", Some("URL"), "The server's address, for commands that talk to one"),
    ("tenant", Some("ID"), "Act as this tenant, for commands that talk to a server"),
    ("token", Some("TOKEN"), "An API key or token, for commands that talk to a server"),
    ("ca-file", Some("FILE"), "The authority of the server's certificate, for the same commands"),
    ("client-cert", Some("FILE"), "Your own certificate, for the same commands"),
    ("client-key", Some("FILE"), "The key of your own certificate, for the same commands"),
    ("credentials", Some("FILE"), "Credentials by URL, for the same commands"),
    ("json", None, "Print JSON for scripts, errors too"),
    ("data", Some("DIR"), "The data directory, for commands that work on one"),
    ("config", Some("FILE"), "The file with the server's settings, for the same commands"),
];

/// Declares the flags for the help and for completions. They are moved behind the command before
/// they are parsed, so a command that does not take a flag rejects it in either place.
pub(crate) fn declare(command: Command) -> Command {
    FLAGS.iter().fold(command, |command, (name, value, help)| {
        let arg = Arg::new(*name).long(*name).help(*help);
        command.arg(match value {
            Some(value) => arg.value_name(*value),
            None => arg.action(ArgAction::SetTrue),
        })
    })
}

/// Moves flags that stand before the command to right behind it.
pub(crate) fn moved(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut rest = arguments.into_iter().peekable();
    let mut out: Vec<OsString> = rest.next().into_iter().collect();
    let mut flags = Vec::new();
    while let Some(takes_value) = rest.peek().and_then(|argument| flag(argument)) {
        flags.extend(rest.next());
        if takes_value {
            flags.extend(rest.next());
        }
    }
    // `help` has no flags of its own, and takes its words for commands.
    let command = rest.next_if(|argument| is_command(argument));
    match command {
        Some(command) => out.extend([command].into_iter().chain(flags)),
        None => out.extend(flags),
    }
    out.extend(rest);
    out
}

/// Whether the next argument is this flag's value; `None` for anything else than these flags.
fn flag(argument: &OsStr) -> Option<bool> {
    let text = argument.to_str()?.strip_prefix("--")?;
    let (name, value) =
        text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let (_, takes, _) = FLAGS.iter().find(|(known, ..)| *known == name)?;
    Some(takes.is_some() && value.is_none())
}

fn is_command(argument: &OsStr) -> bool {
    argument != "help" && !argument.to_string_lossy().starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let moved = moved(line.split(' ').map(OsString::from));
        moved.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn flags_before_the_command_go_behind_it() {
        assert_eq!(shown("rota --url X --json jobs list"), "rota jobs --url X --json list");
        assert_eq!(shown("rota --url=X work -- a --json"), "rota work --url=X -- a --json");
        assert_eq!(shown("rota --tenant acme jobs"), "rota jobs --tenant acme");
        assert_eq!(shown("rota --data d --config c doctor"), "rota doctor --data d --config c");
    }

    #[test]
    fn everything_else_stays_where_it_is() {
        for line in
            ["rota", "rota jobs --json", "rota --help", "rota --json help jobs", "rota --json"]
        {
            assert_eq!(shown(line), line);
        }
        assert_eq!(shown("rota --url"), "rota --url");
        assert_eq!(shown("rota --colour jobs"), "rota --colour jobs");
    }
}
