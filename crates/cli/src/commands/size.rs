//! Sizes on the command line.

/// Parses `4096`, `512mb`, `64KiB` or `2g` into bytes; units are powers of 1,024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let unit = lower.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &lower[..lower.len() - unit.len()];
    let shift = match unit {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        "t" | "tb" | "tib" => Some(40),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(shift);
    let bytes = bytes.and_then(|(number, shift)| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "a size such as 512mb, 64KiB or 2g is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4096"), Ok(4_096));
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("512mb"), Ok(512 << 20));
        assert_eq!(size("64KiB"), Ok(64 << 10));
        assert_eq!(size("2G"), Ok(2 << 30));
        for bad in ["", "mb", "1.5gb", "-1", "5 mb", "5pb", "99999999999999tb"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
