//! Counts TLS handshakes that fail. An address with many of them in one second gets no more in that second:
//! a handshake costs the server far more than the client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rota_settings::Settings;

use super::address::{AddressGroup, Addresses};

/// The most addresses that are told apart in one second; further ones are counted together.
const MAX_ADDRESSES: usize = 10_000;

pub struct FailedHandshakes {
    addresses: Addresses,
    started: Instant,
    failed: AtomicU64,
    refused: AtomicU64,
    second: Mutex<Second>,
}

/// The failures of the current second.
#[derive(Default)]
struct Second {
    number: u64,
    by_address: HashMap<AddressGroup, usize>,
    others: usize,
}

impl FailedHandshakes {
    pub fn new(settings: &Settings) -> Self {
        Self {
            addresses: Addresses::new(settings),
            started: Instant::now(),
            failed: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            second: Mutex::default(),
        }
    }

    /// Whether an address may try a handshake now.
    pub fn may_try(&self, address: IpAddr) -> bool {
        self.may_try_at(address, self.started.elapsed().as_secs())
    }

    fn may_try_at(&self, address: IpAddr, now: u64) -> bool {
        let Some(most) = self.addresses.max_failed_handshakes(address) else { return true };
        let second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = second.by_address.len() >= MAX_ADDRESSES;
        let others = if is_full { second.others } else { 0 };
        let count = second.by_address.get(&AddressGroup::of(address)).copied().unwrap_or(others);
        let may = second.number != now || count < most;
        if !may {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// Counts a handshake that has failed.
    pub fn count(&self, address: IpAddr) {
        self.count_at(address, self.started.elapsed().as_secs());
    }

    fn count_at(&self, address: IpAddr, now: u64) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        if second.number != now {
            *second = Second { number: now, ..Second::default() };
        }
        let is_full = second.by_address.len() >= MAX_ADDRESSES;
        match second.by_address.get_mut(&AddressGroup::of(address)) {
            Some(count) => *count += 1,
            None if is_full => second.others += 1,
            None => drop(second.by_address.insert(AddressGroup::of(address), 1)),
        }
    }

    /// How many have failed so far, and how many were not tried because of that.
    pub fn counts(&self) -> (u64, u64) {
        (self.failed.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two in a second.
    fn failed_handshakes() -> FailedHandshakes {
        let flags = [("tls.max_failed_handshakes_per_address".to_owned(), "2".to_owned())];
        FailedHandshakes::new(&Settings::resolve(&flags, std::iter::empty(), None).unwrap())
    }

    #[test]
    fn an_address_with_many_failures_waits_for_the_next_second() {
        let failed = failed_handshakes();
        let [bad, good] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse::<IpAddr>().unwrap());
        for _ in 0..2 {
            assert!(failed.may_try_at(bad, 7));
            failed.count_at(bad, 7);
        }
        assert!(!failed.may_try_at(bad, 7));
        assert!(failed.may_try_at(good, 7));
        assert!(failed.may_try_at(bad, 8));
        assert_eq!(failed.counts(), (2, 1));
    }

    #[test]
    fn many_addresses_are_counted_together() {
        let failed = failed_handshakes();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        for number in 0..MAX_ADDRESSES as u32 + 2 {
            failed.count_at(address(0xc000_0000 + number), 7);
        }
        assert!(!failed.may_try_at(address(0xd000_0000), 7));
        assert!(failed.may_try_at(address(0xc000_0000), 7), "it has its own count");
        failed.count_at(address(0xd000_0000), 8);
        assert_eq!(failed.second.lock().unwrap().by_address.len(), 1);
    }
}
