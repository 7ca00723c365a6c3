use std::net::{Ipv4Addr, SocketAddr};

use super::{Kind, parse_digits};

/// No names but `localhost`: looking one up could give another address at each start.
pub(crate) struct Address;

impl Kind for Address {
    type Value = SocketAddr;

    const TEXT_ONLY: bool = true;
    const EXAMPLES: &'static str = "127.0.0.1:8080, [::1]:8080 or localhost:8080";

    fn parse(&self, text: &str) -> Option<SocketAddr> {
        match text.strip_prefix("localhost:") {
            Some(port) => {
                let port = u16::try_from(parse_digits(port)?).ok()?;
                Some((Ipv4Addr::LOCALHOST, port).into())
            }
            None => text.parse().ok(),
        }
    }

    fn accepts(&self) -> String {
        "an IP address and port".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_addresses_with_a_port() {
        for (text, same_as) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:8080", "[::1]:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
        ] {
            assert_eq!(Address.parse(text), same_as.parse().ok(), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
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
            assert_eq!(Address.parse(text), None, "{text:?}");
        }
    }
}
