//! Groups connections by the address that they come from, and says how many each may have.

use std::net::{IpAddr, Ipv6Addr};

use rota_settings::{Networks, Settings};

/// TLS handshakes of one address that may fail in one second, unless the operator says otherwise.
const MAX_FAILED_HANDSHAKES: usize = 10;

/// An IPv4 address, or an IPv6 network: its last 64 bits are the client's own choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AddressGroup(IpAddr);

impl AddressGroup {
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                // The loopback address has a group of its own.
                IpAddr::V6(if address.is_loopback() { address } else { Ipv6Addr::from(network) })
            }
            v4 => v4,
        })
    }
}

/// Caps on what one address may use. Trusted proxies have none, for they carry many clients.
#[derive(Debug)]
pub(super) struct Addresses {
    connections: Cap,
    handshakes: Cap,
    failed_handshakes: Cap,
    trusted: Networks,
}

#[derive(Debug, Clone, Copy)]
enum Cap {
    /// Chosen by the operator, for every address.
    Chosen(usize),
    /// For every address but those of this machine.
    Automatic(usize),
}

impl Addresses {
    pub fn new(settings: &Settings) -> Self {
        let cap = |chosen: Option<usize>, automatic: usize| {
            chosen.map_or(Cap::Automatic(automatic.max(1)), Cap::Chosen)
        };
        let (http, tls) = (&settings.http, &settings.tls);
        Self {
            connections: cap(http.max_connections_per_address, http.max_connections / 4),
            handshakes: cap(tls.max_handshakes_per_address, tls.max_handshakes / 8),
            failed_handshakes: cap(tls.max_failed_handshakes_per_address, MAX_FAILED_HANDSHAKES),
            trusted: http.trusted_proxies.clone(),
        }
    }

    /// How many connections this address may have; `None` for any number.
    pub fn max_connections(&self, address: IpAddr) -> Option<usize> {
        self.apply(self.connections, address)
    }

    /// How many TLS handshakes of this address may fail in one second; `None` for any number.
    pub fn max_failed_handshakes(&self, address: IpAddr) -> Option<usize> {
        self.apply(self.failed_handshakes, address)
    }

    /// How many TLS handshakes this address may have under way; `None` for any number.
    pub fn max_handshakes(&self, address: IpAddr) -> Option<usize> {
        self.apply(self.handshakes, address)
    }

    fn apply(&self, cap: Cap, address: IpAddr) -> Option<usize> {
        let address = address.to_canonical();
        match cap {
            _ if self.trusted.contain(address) => None,
            Cap::Chosen(most) => Some(most),
            Cap::Automatic(most) => (!address.is_loopback()).then_some(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let group = |text| AddressGroup::of(ip(text));
        assert_eq!(group("2001:db8::1"), group("2001:db8::ffff:1"));
        assert_ne!(group("2001:db8::1"), group("2001:db8:0:1::1"));
        assert_ne!(group("10.0.0.1"), group("10.0.0.2"));
        assert_eq!(group("::ffff:10.0.0.1"), group("10.0.0.1"));
        assert_ne!(group("::1"), group("::2"));
    }

    #[test]
    fn trusted_proxies_have_no_cap_and_this_machine_only_one_that_was_chosen() {
        let flag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut flags = vec![
            flag("http.behind_proxy", "true"),
            flag("http.trusted_proxies", "10.0.0.0/8"),
            flag("http.max_connections", "100"),
        ];
        let resolve = |flags: &[_]| Settings::resolve(flags, std::iter::empty(), None).unwrap();
        let automatic = Addresses::new(&resolve(&flags));
        assert_eq!(automatic.max_connections(ip("192.0.2.1")), Some(25));
        assert_eq!(automatic.max_connections(ip("127.0.0.1")), None);
        assert_eq!(automatic.max_connections(ip("::1")), None);
        assert_eq!(automatic.max_connections(ip("10.1.2.3")), None);
        assert_eq!(automatic.max_handshakes(ip("192.0.2.1")), Some(64));
        flags.push(flag("http.max_connections_per_address", "3"));
        let chosen = Addresses::new(&resolve(&flags));
        assert_eq!(chosen.max_connections(ip("127.0.0.1")), Some(3));
        assert_eq!(chosen.max_connections(ip("10.1.2.3")), None);
    }
}
