use super::{Kind, parse_digits};

pub(crate) const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const TIB: u64 = 1 << 40;

/// The binary units come largest first, for `show`.
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

/// A number of bytes between two bounds, both included.
pub(crate) struct Size {
    least: u64,
    most: u64,
}

impl Size {
    pub(crate) const fn between(least: u64, most: u64) -> Self {
        Self { least, most }
    }
}

impl Kind for Size {
    type Value = usize;

    const EXAMPLES: &'static str = "64MiB, 1MB or 4096";

    fn parse(&self, text: &str) -> Option<usize> {
        let bytes = parse_bytes(text)?;
        let within = (self.least..=self.most).contains(&bytes);
        if within { bytes.try_into().ok() } else { None }
    }

    fn accepts(&self) -> String {
        format!("a size from {} to {}", show(self.least), show(self.most))
    }

    fn amount(&self, value: &usize) -> Option<u64> {
        u64::try_from(*value).ok()
    }
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

fn show(bytes: u64) -> String {
    let whole = |(_, unit): &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(*unit);
    match UNITS.iter().find(whole) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Size = Size::between(0, TIB);

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
            assert_eq!(ANY.parse(text), Some(bytes), "{text}");
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
            assert_eq!(ANY.parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn bounds_are_included() {
        let size = Size::between(KIB, GIB);
        assert_eq!(size.parse("1023"), None);
        assert_eq!(size.parse("1024"), Some(1024));
        assert_eq!(size.parse("1GiB"), Some(1 << 30));
        assert_eq!(size.parse("1073741825"), None);
        assert_eq!(size.accepts(), "a size from 1KiB to 1GiB");
        assert_eq!(Size::between(0, 1500).accepts(), "a size from 0 to 1500B");
    }
}
