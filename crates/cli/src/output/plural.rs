//! Formats counts with a noun.

/// `1 job`, `2 jobs`, `12,000 jobs`.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// `12,000`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(plural(1, "job", "jobs"), "1 job");
        assert_eq!(plural(0, "job", "jobs"), "0 jobs");
        assert_eq!(plural(1_234_567, "job", "jobs"), "1,234,567 jobs");
    }
}
