use std::ops::RangeInclusive;

use super::{Kind, in_units, parse_digits};

pub(crate) const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const TIB: u64 = 1 << 40;

/// Binary units first, the largest first, for `in_units`.
const UNITS: [(&str, u64); 9] = [
    ("TiB", TIB),
    ("GiB", GIB),
    ("MiB", MIB),
    ("KiB", KIB),
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// A number of bytes.
pub(crate) fn size(range: RangeInclusive<u64>) -> Kind<usize> {
    let show = |bytes: &u64| in_units(*bytes, &UNITS);
    let accepts = format!("a size from {} to {}", show(range.start()), show(range.end()));
    let parse = move |text: &str| parse_bytes(text).filter(|n| range.contains(n))?.try_into().ok();
    let kind = Kind::new(accepts, parse).such_as("64MiB, 1MB or 4096");
    Kind { amount: Some(|bytes| *bytes as u64), ..kind }
}

fn parse_bytes(text: &str) -> Option<u64> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(end);
    let number = parse_digits(digits)?;
    if unit.is_empty() {
        return Some(number);
    }
    let (_, bytes) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.checked_mul(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> Kind<usize> {
        size(0..=TIB)
    }

    #[test]
    fn takes_plain_numbers_and_both_families_of_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("12B", 12),
            ("1KB", 1_000),
            ("1kB", 1_000),
            ("1KiB", 1_024),
            ("64MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("1MB", 1_000_000),
            ("2GiB", 2 << 30),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(any().parse(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "MiB",
            "1M",
            "1.5MiB",
            "1 MiB",
            "-1",
            "+1",
            "1MiBs",
            "é",
            "2TiB",
            "99999999999999999999",
            "18446744073709551615TiB",
        ] {
            assert_eq!(any().parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn bounds_are_included() {
        let size = size(KIB..=GIB);
        assert_eq!(size.parse("1023"), None);
        assert_eq!(size.parse("1024"), Some(1024));
        assert_eq!(size.parse("1GiB"), Some(1 << 30));
        assert_eq!(size.parse("1073741825"), None);
        assert_eq!(size.accepts, "a size from 1KiB to 1GiB");
        assert_eq!(super::size(0..=1500).accepts, "a size from 0 to 1500B");
    }
}
