//! The client's address, behind proxies that are trusted to know it.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use rota_settings::{ForwardedHeader, Http};

/// The address that the request comes from: that of the connection or, if it is a trusted proxy's, the
/// last one in the proxies' header that is not a trusted proxy. What stands before that one was written
/// by somebody who is not trusted.
pub(super) fn client_address(peer: IpAddr, headers: &HeaderMap, http: &Http) -> IpAddr {
    let mut address = peer.to_canonical();
    if !http.trusted_proxies.contain(address) {
        return address;
    }
    let (name, find): (_, fn(&str) -> Option<&str>) = match http.forwarded_header {
        ForwardedHeader::XForwardedFor => ("x-forwarded-for", |element| Some(element)),
        ForwardedHeader::Forwarded => ("forwarded", for_parameter),
    };
    for element in elements_from_the_end(headers, name) {
        // A proxy may hide the address or not know it; then the proxy is all that is known.
        let Some(hop) = find(element).and_then(parse) else { return address };
        address = hop;
        if !http.trusted_proxies.contain(hop) {
            break;
        }
    }
    address
}

/// The elements of a header that is a list, the last one first, over all of its lines. A line that is not
/// text is one empty element, which names nobody.
fn elements_from_the_end<'a>(
    headers: &'a HeaderMap,
    name: &str,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = headers.get_all(name).iter().rev();
    lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(',').map(str::trim))
}

/// The parameter `for` of an element of `Forwarded` (RFC 7239).
fn for_parameter(element: &str) -> Option<&str> {
    let mut parameters = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = parameters.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    Some(value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value))
}

/// An address with or without a port.
fn parse(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address: Option<IpAddr> = text.parse().ok().or_else(bracketed).or_else(with_port);
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use rota_settings::Settings;

    use super::*;

    /// `lines` are those of the header that is trusted; the other one names somebody else.
    fn found(header: &str, peer: &str, lines: &[&'static str]) -> String {
        let flags = [
            ("http.behind_proxy", "true"),
            ("http.trusted_proxies", "10.0.0.0/8,fd00::/8"),
            ("http.forwarded_header", header),
        ];
        let flags = flags.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let settings = Settings::resolve(&flags, std::iter::empty(), None).unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            let name = HeaderName::try_from(header).unwrap();
            headers.append(name, HeaderValue::from_static(line));
        }
        let (other, value) = match header {
            "forwarded" => ("x-forwarded-for", "192.0.2.66"),
            _ => ("forwarded", "for=192.0.2.66"),
        };
        headers.insert(other, HeaderValue::from_static(value));
        client_address(peer.parse().unwrap(), &headers, &settings.http).to_string()
    }

    #[test]
    fn strangers_are_not_believed() {
        assert_eq!(found("x-forwarded-for", "203.0.113.5", &["198.51.100.7"]), "203.0.113.5");
        assert_eq!(found("forwarded", "203.0.113.5", &["for=198.51.100.7"]), "203.0.113.5");
    }

    #[test]
    fn the_last_hop_that_is_not_trusted_is_the_client() {
        for (lines, expected) in [
            (&["198.51.100.7"][..], "198.51.100.7"),
            (&["1.1.1.1, 198.51.100.7"], "198.51.100.7"),
            (&["1.1.1.1", "198.51.100.7, 10.9.9.9"], "198.51.100.7"),
            (&["198.51.100.7:4711"], "198.51.100.7"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["[2001:db8::1]:80, fd00::2"], "2001:db8::1"),
            (&["::ffff:198.51.100.7"], "198.51.100.7"),
            (&["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
            (&["198.51.100.7, unknown"], "10.0.0.1"),
            (&["198.51.100.7, unknown, 10.3.3.3"], "10.3.3.3"),
            (&["198.51.100.7,"], "10.0.0.1"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(found("x-forwarded-for", "10.0.0.1", lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn the_standard_header_is_read_as_well() {
        for (lines, expected) in [
            (&["for=198.51.100.7;proto=https;by=10.0.0.1"][..], "198.51.100.7"),
            (&["For=\"[2001:db8::1]:4711\""], "2001:db8::1"),
            (&["for=1.1.1.1, for=198.51.100.7;host=a, for=10.2.2.2"], "198.51.100.7"),
            (&["for=198.51.100.7, for=_hidden"], "10.0.0.1"),
            (&["proto=https"], "10.0.0.1"),
        ] {
            assert_eq!(found("forwarded", "10.0.0.1", lines), expected, "{lines:?}");
        }
    }
}
