use std::path::PathBuf;

use rota_model::JobType;

use super::Kind;

/// Where a JSON Web Key Set is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwksSource {
    File(PathBuf),
    /// With the scheme `http` or `https`.
    Url(String),
}

/// Relative to the working directory of the server.
pub(crate) fn file() -> Kind<PathBuf> {
    let parse = |text: &str| {
        let usable = !text.trim().is_empty() && !text.contains('\0');
        usable.then(|| PathBuf::from(text))
    };
    Kind::new("a file", parse).such_as("/etc/rota/key").text_only()
}

pub(crate) fn jwks() -> Kind<JwksSource> {
    let parse = |text: &str| {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        match host {
            Some(host) => {
                let usable = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
                    && text.bytes().all(|byte| byte.is_ascii_graphic())
                    // It would be shown by `rota config`.
                    && !host.contains('@');
                usable.then(|| JwksSource::Url(text.to_owned()))
            }
            None if text.contains("://") => None,
            None => file().parse(text).map(JwksSource::File),
        }
    };
    Kind::new("a file or a URL without credentials", parse)
        .such_as("https://id.example.com/jwks.json or /etc/rota/jwks.json")
        .text_only()
}

/// Any text on one line.
pub(crate) fn word() -> Kind<String> {
    let parse = |text: &str| {
        let usable = !text.trim().is_empty() && !text.chars().any(char::is_control);
        usable.then(|| text.to_owned())
    };
    Kind::new("a text on one line", parse).such_as("https://id.example.com").text_only()
}

/// Names of claims in a token, separated by commas.
pub(crate) fn claims() -> Kind<Vec<String>> {
    let parse = |text: &str| {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let usable = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
        names.iter().all(usable).then_some(names)
    };
    let kind = Kind::new("a list of claims", parse).such_as("tenantId,tenant_id");
    Kind { list: true, ..kind.text_only() }
}

/// Types of jobs, separated by commas.
pub(crate) fn job_types() -> Kind<Vec<JobType>> {
    let parse = |text: &str| {
        text.split(',').map(|name| JobType::parse(name.trim()).ok()).collect::<Option<Vec<_>>>()
    };
    let kind = Kind::new("a list of job types", parse).such_as("email.send,report.render");
    Kind { list: true, ..kind.text_only() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_set_is_a_file_or_a_url_without_credentials() {
        let url = "https://id.example.com/.well-known/jwks.json";
        assert_eq!(jwks().parse(url), Some(JwksSource::Url(url.into())));
        assert_eq!(jwks().parse("keys/jwks.json"), Some(JwksSource::File("keys/jwks.json".into())));
        for text in ["", "https://", "ftp://a/b", "https://me:secret@id.example.com/", "http://a b"]
        {
            assert_eq!(jwks().parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn lists_have_no_empty_names() {
        assert_eq!(claims().parse("a, b"), Some(vec!["a".into(), "b".into()]));
        assert_eq!(job_types().parse("email.send, x").map(|types| types.len()), Some(2));
        for text in ["", "a,,b", "a b"] {
            assert_eq!(claims().parse(text), None, "{text:?}");
            assert_eq!(job_types().parse(text), None, "{text:?}");
        }
    }
}
