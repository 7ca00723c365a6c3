//! Decides which connections are closed when connections are short: those of addresses that hold more
//! than their share of requests that are not sent completely.

use std::collections::HashMap;
use std::time::Duration;

use super::address::AddressGroup;

/// A connection whose client owes the rest of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Incomplete {
    pub id: u64,
    pub group: AddressGroup,
    /// How long the rest has been owed.
    pub age: Duration,
}

/// The connections to close, at most `most`: of each address with more than `share` incomplete
/// requests, the oldest of those beyond it. Takes them from the address with the most first.
pub(super) fn beyond_share(incomplete: Vec<Incomplete>, share: usize, most: usize) -> Vec<u64> {
    let mut groups: HashMap<AddressGroup, Vec<Incomplete>> = HashMap::new();
    for connection in incomplete {
        groups.entry(connection.group).or_default().push(connection);
    }
    let mut groups: Vec<Vec<Incomplete>> =
        groups.into_values().filter(|group| group.len() > share).collect();
    groups.sort_unstable_by_key(|group| std::cmp::Reverse((group.len(), group[0].group)));
    let mut closed = Vec::new();
    for mut group in groups {
        group.sort_unstable_by_key(|connection| (std::cmp::Reverse(connection.age), connection.id));
        let beyond = (group.len() - share).min(most - closed.len());
        closed.extend(group[..beyond].iter().map(|connection| connection.id));
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incomplete(id: u64, address: &str, age_ms: u64) -> Incomplete {
        let group = AddressGroup::of(address.parse().unwrap());
        Incomplete { id, group, age: Duration::from_millis(age_ms) }
    }

    #[test]
    fn an_address_within_its_share_loses_nothing() {
        let all = vec![incomplete(1, "10.0.0.1", 9000), incomplete(2, "10.0.0.2", 1)];
        assert_eq!(beyond_share(all, 1, 10), Vec::<u64>::new());
    }

    #[test]
    fn the_oldest_beyond_the_share_are_closed() {
        let all = vec![
            incomplete(1, "10.0.0.1", 10),
            incomplete(2, "10.0.0.1", 30),
            incomplete(3, "10.0.0.1", 20),
            incomplete(4, "10.0.0.2", 99),
        ];
        assert_eq!(beyond_share(all.clone(), 1, 10), [2, 3]);
        assert_eq!(beyond_share(all, 1, 1), [2]);
    }

    #[test]
    fn the_address_with_the_most_comes_first() {
        let mut all: Vec<Incomplete> = (0..3).map(|id| incomplete(id, "10.0.0.1", 50)).collect();
        all.extend((10..20).map(|id| incomplete(id, "10.0.0.2", 1)));
        let closed = beyond_share(all, 2, 4);
        assert_eq!(closed, [10, 11, 12, 13]);
    }
}
