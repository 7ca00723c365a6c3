use std::net::IpAddr;

use super::{Kind, parse_digits};

/// Addresses and networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

/// All addresses whose first bits are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// How many bits are the same.
    prefix: u32,
}

impl Networks {
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(u32::try_from(parse_digits(prefix)?).ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = width(address);
        let prefix = prefix.unwrap_or(bits);
        let network = Self { address, prefix };
        // Bits behind the prefix would be ignored, so they are a mistake.
        let is_exact = prefix <= bits && network.first_bits(address) == numeric(address);
        is_exact.then_some(network)
    }

    fn contains(self, address: IpAddr) -> bool {
        width(address) == width(self.address)
            && self.first_bits(address) == self.first_bits(self.address)
    }

    fn first_bits(self, address: IpAddr) -> u128 {
        let others = width(address).saturating_sub(self.prefix);
        numeric(address).checked_shr(others).and_then(|bits| bits.checked_shl(others)).unwrap_or(0)
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn numeric(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

pub(crate) fn networks() -> Kind<Networks> {
    let parse = |text: &str| match text.trim() {
        "none" => Some(Networks::default()),
        list => list
            .split(',')
            .map(|one| Network::parse(one.trim()))
            .collect::<Option<_>>()
            .map(Networks),
    };
    let kind = Kind::new("a list of addresses and networks, or none", parse)
        .such_as("10.0.0.7, 10.1.0.0/16 or fd00::/8");
    Kind { list: true, ..kind.text_only() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(networks: &str, address: &str) -> bool {
        super::networks().parse(networks).unwrap().contain(address.parse().unwrap())
    }

    #[test]
    fn networks_contain_the_addresses_with_their_prefix() {
        assert!(contains("10.0.0.7", "10.0.0.7"));
        assert!(!contains("10.0.0.7", "10.0.0.8"));
        assert!(contains("192.0.2.0/24, 10.1.0.0/16", "10.1.255.1"));
        assert!(!contains("10.1.0.0/16", "10.2.0.1"));
        assert!(contains("0.0.0.0/0", "203.0.113.9"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("::/0", "2001:db8::1"));
        assert!(contains("fd00::/8", "fd12::1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(!contains("none", "127.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "10.0.0",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "fd00::1/8",
            "10.0.0.0/",
            "proxy",
            "10.0.0.7,",
        ] {
            assert_eq!(networks().parse(text), None, "{text:?}");
        }
    }
}
