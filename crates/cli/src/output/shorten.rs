//! Shortens text to a width.

use std::collections::BTreeMap;

/// Shortens names in the middle, because similar names differ at their ends. Names that differ stay
/// different: if their ends agree, another part is left out, and at the worst they are numbered.
pub(crate) fn shortened(names: &[&str], width: usize) -> Vec<String> {
    if names.iter().all(|name| name.chars().count() <= width) {
        return names.iter().map(|name| (*name).to_owned()).collect();
    }
    let kept = width.saturating_sub(1);
    let middle = kept.div_ceil(2);
    let mut heads: Vec<usize> = (0..=kept).collect();
    heads.sort_by_key(|head| head.abs_diff(middle));
    let cut_at = |head| names.iter().map(|name| without_middle(name, width, head)).collect();
    let attempts = heads.into_iter().map(cut_at);
    let mut unlike = attempts.filter(|shown: &Vec<String>| all_differ(names, shown));
    unlike.next().unwrap_or_else(|| numbered(names, width))
}

/// Whether names that differ are shown differently.
fn all_differ(names: &[&str], shown: &[String]) -> bool {
    let mut known = BTreeMap::new();
    names.iter().zip(shown).all(|(name, shown)| *known.entry(shown).or_insert(name) == name)
}

/// `tena…01~2`: the number is the name's place in alphabetical order.
fn numbered(names: &[&str], width: usize) -> Vec<String> {
    let mut order: Vec<&str> = names.to_vec();
    order.sort_unstable();
    order.dedup();
    let number = |name: &str| {
        let place = order.binary_search(&name).map_or(0, |place| place + 1);
        let room = width.saturating_sub(place.to_string().len() + 1);
        format!("{}~{place}", without_middle(name, room, room / 2))
    };
    names.iter().map(|name| number(name)).collect()
}

/// Keeps `head` characters at the beginning, and as many at the end as fit.
fn without_middle(name: &str, width: usize, head: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = head.min(kept);
    let tail = name.chars().skip(length - (kept - head));
    name.chars().take(head).chain(['…']).chain(tail).collect()
}

/// Cuts a line at the end.
pub(crate) fn cut(line: &str, width: usize) -> String {
    match line.chars().count() <= width {
        true => line.to_owned(),
        false => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, width: usize) -> String {
        shortened(&[name], width).remove(0)
    }

    #[test]
    fn names_keep_both_ends() {
        assert_eq!(one("tenant-00001", 12), "tenant-00001");
        assert_eq!(one("tenant-00001", 9), "tena…0001");
        assert_eq!(one("tenant-00001", 8), "tena…001");
        assert_eq!(one("grüße", 4), "gr…e");
        assert_eq!(one("tenant-00001", 1), "…");
    }

    #[test]
    fn names_that_differ_never_look_alike() {
        // These differ where the middle is usually left out.
        let middle = ["customer-eu-central-live", "customer-us-central-live"];
        let start = ["eu-customer-central-live", "us-customer-central-live"];
        let hidden = ["aaaaaaaaaaXaaaaaaaaaa", "aaaaaaaaaaYaaaaaaaaaa", "aaaaaaaaaaZaaaaaaaaaa"];
        for names in [&middle[..], &start, &hidden] {
            for width in 6..24 {
                let shown = shortened(names, width);
                assert!(all_differ(names, &shown), "{shown:?}");
                assert!(shown.iter().all(|name| name.chars().count() <= width), "{shown:?}");
            }
        }
        assert_eq!(shortened(&middle, 16), ["customer-e…-live", "customer-u…-live"]);
        assert_eq!(shortened(&hidden[..2], 8), ["aaa…aa~1", "aaa…aa~2"]);
    }

    #[test]
    fn lines_keep_their_beginning() {
        assert_eq!(cut("weighted by job", 15), "weighted by job");
        assert_eq!(cut("weighted by job", 10), "weighted …");
    }
}
