use std::collections::BTreeSet;

use super::Kind;

/// The web origins whose pages may use the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    None,
    Any,
    Only(BTreeSet<String>),
}

impl Origins {
    /// Whether pages of this origin are allowed. `origin` is the value of the header `Origin`.
    #[must_use]
    pub fn allow(&self, origin: &str) -> bool {
        match self {
            Origins::None => false,
            Origins::Any => true,
            Origins::Only(origins) => origins.contains(origin),
        }
    }
}

/// Origins are compared exactly as browsers send them, so one that no browser would send is a mistake.
pub(crate) fn origins() -> Kind<Origins> {
    let parse = |text: &str| match text.trim() {
        "none" => Some(Origins::None),
        "*" => Some(Origins::Any),
        list => {
            let parts =
                list.split(',').map(|part| Some(part.trim()).filter(|part| is_origin(part)));
            let origins = parts.map(|part| part.map(str::to_owned)).collect::<Option<_>>()?;
            Some(Origins::Only(origins))
        }
    };
    let accepts = "a list of origins (scheme, host in lower case, port unless it is the scheme's default; \
        no path), or none, or *";
    let kind =
        Kind::new(accepts, parse).such_as("https://admin.example.com or http://localhost:5173");
    Kind { list: true, ..kind.text_only() }
}

/// Whether a browser could send this as the header `Origin`, other than `null`.
fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return false };
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address are within brackets.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let default_port = match scheme {
        "http" => Some("80"),
        "https" => Some("443"),
        _ => None,
    };
    is_scheme(scheme) && is_host(host) && port.is_none_or(|port| is_port(port, default_port))
}

fn is_scheme(text: &str) -> bool {
    let in_scheme =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(in_scheme)
}

fn is_host(text: &str) -> bool {
    let ipv6 = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = ipv6 {
        // Browsers send the shortest form.
        return address.parse().is_ok_and(|ip: std::net::Ipv6Addr| ip.to_string() == address);
    }
    let in_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
    !text.is_empty() && text.bytes().all(in_host)
}

fn is_port(text: &str, default: Option<&str>) -> bool {
    let number = text.parse::<u16>().ok().filter(|port| *port > 0);
    number.is_some_and(|port| port.to_string() == text) && Some(text) != default
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(origins: &[&str]) -> Option<Origins> {
        Some(Origins::Only(origins.iter().map(|origin| (*origin).to_owned()).collect()))
    }

    #[test]
    fn accepts_what_browsers_send() {
        assert_eq!(origins().parse("none"), Some(Origins::None));
        assert_eq!(origins().parse("*"), Some(Origins::Any));
        for text in [
            "https://admin.example.com",
            "http://localhost:5173",
            "http://127.0.0.1:8080",
            "http://[::1]:3000",
            "https://[2001:db8::1]",
            "http://example.com:443",
            "tauri://localhost",
            "https://xn--bcher-kva.example",
        ] {
            assert_eq!(origins().parse(text), only(&[text]), "{text}");
        }
        let two = "http://a.example, https://b.example";
        assert_eq!(origins().parse(two), only(&["http://a.example", "https://b.example"]));
    }

    #[test]
    fn refuses_what_no_browser_sends() {
        for text in [
            "",
            "null",
            "example.com",
            "https://",
            "https://example.com/",
            "https://example.com/admin",
            "https://Example.com",
            "HTTPS://example.com",
            "https://example.com:443",
            "http://example.com:80",
            "http://example.com:",
            "http://example.com:0",
            "http://example.com:080",
            "http://example.com:65536",
            "https://*.example.com",
            "https://user@example.com",
            "https://bücher.example",
            "http://[::1",
            "http://[0:0:0:0:0:0:0:1]",
            "*, https://example.com",
            "https://a.example,",
        ] {
            assert_eq!(origins().parse(text), None, "{text:?}");
        }
    }
}
