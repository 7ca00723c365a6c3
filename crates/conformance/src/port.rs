//! Reserves free ports for servers that run concurrently.

use std::{
    collections::BTreeSet,
    io,
    net::{Ipv4Addr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
};

/// Ports that a server of this run uses or is about to use. The system may offer a port again
/// between our release of it and the server's bind.
#[derive(Debug, Clone, Default)]
pub struct Ports {
    taken: Arc<Mutex<BTreeSet<u16>>>,
}

/// A port that no other server of this run gets until this is dropped.
#[derive(Debug)]
pub struct Lease {
    pub port: u16,
    ports: Ports,
}

impl Ports {
    pub fn lease(&self) -> io::Result<Lease> {
        // The listeners of ports that are taken are kept, so that the system does not offer them
        // again.
        let mut offered = Vec::new();
        loop {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = listener.local_addr()?.port();
            if self.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
                return Ok(Lease { port, ports: self.clone() });
            }
            offered.push(listener);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.ports.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.port);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_leased_twice() {
        let ports = Ports::default();
        let leases: Vec<_> = (0..64).map(|_| ports.lease().unwrap()).collect();
        let distinct: BTreeSet<_> = leases.iter().map(|lease| lease.port).collect();
        assert_eq!(distinct.len(), 64);
        drop(leases);
        assert!(ports.taken.lock().unwrap().is_empty());
    }
}
