//! The host name and the id of a worker.

/// The host's name, if the system reports one.
pub(super) fn hostname() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_owned();
    (!name.is_empty()).then_some(name)
}

/// A unique worker id with the host's name and the process id.
pub(super) fn unique() -> String {
    let printable = |c: &char| c.is_ascii_graphic();
    let host: String = hostname().unwrap_or_default().chars().filter(printable).take(100).collect();
    let host = if host.is_empty() { "worker" } else { &host };
    format!("{host}-{}-{:08x}", std::process::id(), fastrand::u32(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workers_of_a_process_differ() {
        assert_ne!(unique(), unique());
        assert!(unique().contains(&format!("-{}-", std::process::id())));
    }
}
