//! Sizes on the command line of `rota work`.

/// Parses `4096`, `64KiB` or `1MiB` into bytes.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let (digits, unit) = match (text.strip_suffix("KiB"), text.strip_suffix("MiB")) {
        (Some(digits), _) => (digits, 1 << 10),
        (_, Some(digits)) => (digits, 1 << 20),
        _ => (text, 1),
    };
    let bytes = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(unit));
    match bytes {
        Some(bytes @ 1_024..=67_108_864) => Ok(bytes),
        _ => Err("a size from 1KiB to 64MiB is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        assert_eq!(size("4096"), Ok(4_096));
        for bad in ["", "1", "65MiB", "KiB", "-1KiB", "1 KiB", "64kb", "99999999999999999999KiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
