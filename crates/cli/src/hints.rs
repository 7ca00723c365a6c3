//! Rewrites the server's advice for the command line: requests become `rota` commands.

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const API: &str = " /ojs/v1/";

/// Requests that the server advises, and the commands that send them. `*` stands for a name, which
/// takes the place of `*` in the command.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("GET", "admin/jobs", "rota jobs list"),
    ("POST", "jobs/*/activate", "rota jobs activate *"),
    ("POST", "admin/jobs/*/retry", "rota jobs retry *"),
    ("GET", "dead-letter", "rota dead-letter list"),
    ("GET", "cron", "rota cron"),
    ("POST", "queues/*/resume", "rota queues resume *"),
    ("PUT", "admin/queues/*/config", "rota queues config *"),
    ("DELETE", "admin/queues/*", "rota queues delete *"),
    ("PUT", "queues/*/config", "rota queues config *"),
    ("DELETE", "admin/queues/*/jobs", "rota queues purge *"),
    ("GET", "events/stream", "rota events --follow"),
    ("GET", "admin/keys", "rota keys"),
    ("POST", "admin/keys", "rota keys create"),
    ("POST", "admin/keys/*/revoke", "rota keys revoke *"),
    ("DELETE", "admin/keys/*", "rota keys delete *"),
    ("GET", "admin/pools", "rota pools"),
    ("PUT", "admin/pools/*", "rota pools set *"),
    ("GET", "admin/tenants/*", "rota tenants show *"),
    ("PUT", "admin/tenants/*", "rota tenants set *"),
    ("PUT", "admin/tenants/*/limits", "rota tenants set *"),
    ("GET", "admin/tenants/*/stats", "rota tenants stats *"),
    ("GET", "admin/tenants/*/usage", "rota tenants usage *"),
    ("GET", "rate-limits", "rota limits"),
    ("PUT", "rate-limits/*", "rota limits set *"),
    ("DELETE", "rate-limits/*", "rota limits clear *"),
    ("POST", "admin/system/maintenance", "rota maintenance"),
];

/// What follows some requests in the server's sentences, and the command that means both.
const BODIES: &[(&str, &str, &str)] = &[
    ("rota maintenance", " and {\"enabled\": false}", "rota maintenance off"),
    ("rota limits set ", " and {\"paused_until\": null}", "rota limits resume "),
];
const TENANT: &str = " and the header X-OJS-Tenant: ";

/// The text with `rota` commands instead of requests. Requests without a command stay as they are.
pub(crate) fn in_commands(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, method, path, after)) = next_request(rest) {
        out.push_str(before);
        rest = after;
        match command(method, path) {
            None => out.push_str(&format!("{method}{API}{path}")),
            Some(mut command) => {
                command.push_str(&option_named_before(before));
                (command, rest) = with_body(command, rest);
                // In "an operator can PUT ...", the method is the verb.
                let is_verb = method != "GET" && !before.ends_with("with ");
                out.push_str(&format!("{}`{command}`", if is_verb { "run " } else { "" }));
            }
        }
    }
    out.push_str(rest);
    out
}

/// What is before the first request, its method and path, and what is after it.
fn next_request(text: &str) -> Option<(&str, &str, &str, &str)> {
    text.match_indices(API).find_map(|(at, _)| {
        let method = METHODS.into_iter().find(|method| text[..at].ends_with(method))?;
        let (start, path) = (at - method.len(), &text[at + API.len()..]);
        let end = path.find([' ', '\n', '`', '"']).unwrap_or(path.len());
        let end = path[..end].trim_end_matches(['.', ',', ';', ':', ')']).len();
        Some((&text[..start], method, &path[..end], &path[end..]))
    })
}

fn command(method: &str, path: &str) -> Option<String> {
    COMMANDS.iter().find_map(|(known, pattern, command)| {
        let name = (*known == method).then(|| matched(pattern, path))??;
        // `{id}` in the server's sentence is for the reader to fill in.
        let name = match name.strip_prefix('{') {
            Some(word) => word.trim_end_matches('}').to_uppercase(),
            None => name.to_owned(),
        };
        Some(command.replace('*', &name))
    })
}

/// The name in place of `*`; empty if the pattern has none.
fn matched<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let Some((before, after)) = pattern.split_once('*') else {
        return (pattern == path).then_some("");
    };
    let name = path.strip_prefix(before)?.strip_suffix(after)?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

/// ` --max-concurrency N` after "raise 'max_concurrency' with ".
fn option_named_before(text: &str) -> String {
    let quoted = text.strip_suffix("' with ").and_then(|text| text.rsplit_once('\''));
    match quoted {
        Some((_, name @ ("rate" | "throttle"))) => format!(" --{name} N/TIME"),
        Some((_, name)) => format!(" --{} N", name.replace('_', "-")),
        None => String::new(),
    }
}

fn with_body(command: String, rest: &str) -> (String, &str) {
    for (begin, body, better) in BODIES {
        if let (Some(name), Some(rest)) = (command.strip_prefix(begin), rest.strip_prefix(body)) {
            return (format!("{better}{name}"), rest);
        }
    }
    let Some(after) = rest.strip_prefix(TENANT) else { return (command, rest) };
    let end = after.find([' ', ',', ';']).unwrap_or(after.len());
    let id = after[..end].trim_end_matches('.');
    (format!("{command} --tenant {id}"), &after[id.len()..])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn requests_become_commands() {
        let cases = [
            (
                "Check the name; GET /ojs/v1/admin/pools lists all pools.",
                "Check the name; `rota pools` lists all pools.",
            ),
            (
                "wait, or raise 'max_concurrency' with PUT /ojs/v1/admin/tenants/acme/limits.",
                "wait, or raise 'max_concurrency' with `rota tenants set acme --max-concurrency N`.",
            ),
            (
                "Raise 'rate' with PUT /ojs/v1/rate-limits/queue:email (and one more reason).",
                "Raise 'rate' with `rota limits set queue:email --rate N/TIME` (and one more reason).",
            ),
            (
                "end that with PUT /ojs/v1/rate-limits/stripe and {\"paused_until\": null}.",
                "end that with `rota limits resume stripe`.",
            ),
            (
                "end that with POST /ojs/v1/admin/system/maintenance and {\"enabled\": false}.",
                "end that with `rota maintenance off`.",
            ),
            (
                "resume them with POST /ojs/v1/queues/q/resume and the header X-OJS-Tenant: acme.",
                "resume them with `rota queues resume q --tenant acme`.",
            ),
            (
                "or let an operator PUT /ojs/v1/rate-limits/{key}.",
                "or let an operator run `rota limits set KEY`.",
            ),
            ("GET /ojs/v1/unknown/path stays.", "GET /ojs/v1/unknown/path stays."),
            ("Nothing to see at /ojs/v1/jobs.", "Nothing to see at /ojs/v1/jobs."),
        ];
        for (text, expected) in cases {
            assert_eq!(in_commands(text), expected);
        }
    }

    #[test]
    fn every_request_that_the_server_advises_has_a_command() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src/http")];
        let mut found = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.extend((!path.ends_with("openapi")).then_some(path));
                    continue;
                }
                // Advice about features that no command uses, and descriptions of all requests.
                if path.ends_with("unserved.rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                    let Some((_, method, request, _)) = next_request(line) else { continue };
                    found += 1;
                    let is_known = command(method, request).is_some();
                    assert!(is_known, "{}: {method} {request} has no command", path.display());
                }
            }
        }
        assert!(found >= 15, "only {found} requests were found");
    }
}
