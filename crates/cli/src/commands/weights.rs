//! Queue weights such as `email=3`.

/// Strategies for choosing the next queue.
pub(crate) const STRATEGIES: [&str; 4] = ["strict", "round-robin", "weighted", "least-loaded"];

pub(crate) fn weight(text: &str) -> Result<(String, u64), String> {
    let expected = || "QUEUE=N with N from 1 on is expected, such as email=3".to_owned();
    let (queue, weight) = text.split_once('=').ok_or_else(expected)?;
    match weight.parse() {
        Ok(weight @ 1..) if !queue.is_empty() => Ok((queue.to_owned(), weight)),
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::weight;

    #[test]
    fn a_weight_belongs_to_a_queue() {
        assert_eq!(weight("email=3"), Ok(("email".to_owned(), 3)));
        for bad in ["email", "email=", "=3", "email=0", "email=-1", "email=1.5"] {
            assert!(weight(bad).is_err(), "{bad}");
        }
    }
}
