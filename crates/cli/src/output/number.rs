//! Formats numbers and percentages.

/// Whole numbers have no decimals, others one, and small ones three.
pub(crate) fn decimal(number: f64) -> String {
    match number {
        whole if whole.fract() == 0.0 => format!("{whole:.0}"),
        small if small.abs() < 1.0 => {
            format!("{small:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        other => format!("{other:.1}"),
    }
}

/// Formats a share from 0 to 1 as `32.0%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(decimal(5.0), "5");
        assert_eq!(decimal(12.54), "12.5");
        assert_eq!(decimal(0.25), "0.25");
        assert_eq!(decimal(0.0001), "0");
        assert_eq!(percent(0.3212), "32.1%");
    }
}
