use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use rota_model::TenantId;

use super::{Kind, parse_digits};

/// Only the two words that TOML has: `yes`, `on` and `1` mean different things elsewhere.
pub(crate) fn boolean() -> Kind<bool> {
    Kind::new("true or false", |text| text.parse().ok())
}

/// No host names but `localhost`: a lookup could give a different address at each start.
pub(crate) fn address() -> Kind<SocketAddr> {
    let parse = |text: &str| match text.strip_prefix("localhost:") {
        Some(port) => {
            let port = u16::try_from(parse_digits(port)?).ok()?;
            Some((Ipv4Addr::LOCALHOST, port).into())
        }
        None => text.parse().ok(),
    };
    let examples = "127.0.0.1:8080, [::1]:8080 or localhost:8080";
    Kind::new("an IP address and port", parse).such_as(examples).text_only()
}

/// Relative to the working directory of the server.
pub(crate) fn directory() -> Kind<PathBuf> {
    let parse = |text: &str| {
        let usable = !text.trim().is_empty() && !text.contains('\0');
        usable.then(|| PathBuf::from(text))
    };
    Kind::new("a directory", parse).such_as("/var/lib/rota").text_only()
}

pub(crate) fn tenant() -> Kind<TenantId> {
    Kind::new("a tenant's name", |text| TenantId::parse(text).ok())
        .such_as("_default or acme-corp")
        .text_only()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_is_true_or_false_only() {
        assert_eq!(boolean().parse("true"), Some(true));
        assert_eq!(boolean().parse("false"), Some(false));
        for text in ["", "True", "yes", "on", "1", "0"] {
            assert_eq!(boolean().parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_address_has_a_port() {
        for (text, same_as) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:8080", "[::1]:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
        ] {
            assert_eq!(address().parse(text), same_as.parse().ok(), "{text}");
        }
        for text in [
            "",
            "8080",
            ":8080",
            "127.0.0.1",
            "localhost",
            "localhost:",
            "localhost:+80",
            "localhost:65536",
            "example.com:80",
            "127.0.0.1:8080 ",
            "http://127.0.0.1:8080",
        ] {
            assert_eq!(address().parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_directory_is_any_name_that_a_file_system_accepts() {
        for text in ["./rota-data", "/var/lib/rota", "with space", "données"] {
            assert_eq!(directory().parse(text), Some(PathBuf::from(text)));
        }
        for text in ["", "  ", "nul\0inside"] {
            assert_eq!(directory().parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_tenant_has_a_valid_name() {
        for text in ["_default", "acme-corp", "region:eu.1"] {
            assert_eq!(tenant().parse(text).as_deref(), Some(text));
        }
        for text in ["", "_other", "two words", "a/b"] {
            assert_eq!(tenant().parse(text), None, "{text:?}");
        }
    }
}
