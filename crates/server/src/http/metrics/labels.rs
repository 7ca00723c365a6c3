//! Names that come from outside, as labels: as many as are allowed have their own, the first come first.

use std::collections::HashSet;
use std::sync::Arc;

/// The label of all that have none of their own. No tenant and no key has this name.
const OTHER: &str = "_other";

pub(super) struct Labels {
    /// Once a name has its label it keeps it: a series that comes and goes tells nothing.
    own: HashSet<Arc<str>>,
    most: usize,
    other: Arc<str>,
}

impl Labels {
    pub fn new(most: usize) -> Self {
        Self { own: HashSet::new(), most, other: OTHER.into() }
    }

    pub fn of(&mut self, name: &str) -> Arc<str> {
        if let Some(label) = self.own.get(name) {
            return label.clone();
        }
        if self.own.len() >= self.most {
            return self.other.clone();
        }
        let label: Arc<str> = name.into();
        self.own.insert(label.clone());
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keep_their_labels_and_the_rest_share_one() {
        let mut labels = Labels::new(2);
        let mut of = |name| labels.of(name).to_string();
        assert_eq!([of("a"), of("b"), of("c")], ["a", "b", "_other"]);
        assert_eq!([of("c"), of("b"), of("a")], ["_other", "b", "a"]);
    }
}
