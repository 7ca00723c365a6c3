//! Repeating requests that failed for a moment.

use std::time::Duration;

use http::Method;

use crate::Error;

/// How often and how soon a failed request is sent again.
///
/// A request is sent again when it cannot have been processed: nobody answered the connection, or the server said
/// that it is busy (429 or 503). After a lost answer only requests are sent again that may safely arrive twice: reads,
/// replacements (`PUT`), and enqueues, which are recognised by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How often a request is sent at most, the first time included.
    pub attempts: u32,
    /// The mean wait before the second attempt. It doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait. A server that asks for a longer one gets no further attempt.
    pub longest_wait: Duration,
}

impl Default for Retries {
    /// Three attempts, the second after about 100 ms, and a wait of at most 5 s.
    fn default() -> Self {
        Self {
            attempts: 3,
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_secs(5),
        }
    }
}

impl Retries {
    /// Every request is sent once.
    #[must_use]
    pub fn none() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// How long to wait before the next attempt; `None` if there is none. `sent` is the number of attempts so far,
    /// `random` a number from 0 to 1.
    pub(crate) fn wait(
        &self,
        error: &Error,
        repeatable: Repeatable,
        sent: u32,
        random: f64,
    ) -> Option<Duration> {
        if sent >= self.attempts || !may_repeat(error, repeatable) {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << (sent - 1).min(16));
        let usual = doubled.min(self.longest_wait).mul_f64(0.5 + random);
        let asked = error.refusal().and_then(|refusal| refusal.retry_after);
        match asked.map(Duration::from_secs) {
            Some(asked) if asked > self.longest_wait => None,
            // Not all at the same moment.
            Some(asked) => Some(asked.max(usual) + self.first_wait.mul_f64(random)),
            None => Some(usual.min(self.longest_wait)),
        }
    }
}

/// Whether a request may arrive twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeatable {
    /// The second one changes nothing.
    Yes,
    /// The second one does something again, or is refused because of the first.
    No,
}

impl From<&Method> for Repeatable {
    fn from(method: &Method) -> Self {
        match *method == Method::GET || *method == Method::PUT {
            true => Self::Yes,
            false => Self::No,
        }
    }
}

fn may_repeat(error: &Error, repeatable: Repeatable) -> bool {
    match error {
        Error::Unreachable { .. } => true,
        Error::Refused(refusal) => matches!(refusal.status, 429 | 503) && refusal.retryable,
        Error::Interrupted { .. } | Error::Timeout { .. } => repeatable == Repeatable::Yes,
        Error::NotOjs { status: Some(502..=504), .. } => repeatable == Repeatable::Yes,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;

    fn refused(status: u16, retry_after: Option<u64>) -> Error {
        let text = r#"{"code": "x", "message": "x", "retryable": true}"#;
        let refusal: Refusal = serde_json::from_str(text).unwrap();
        Error::Refused(Box::new(Refusal { status, retry_after, ..refusal }))
    }

    fn timeout() -> Error {
        Error::Timeout { url: String::new(), seconds: 1 }
    }

    fn wait(error: &Error, repeatable: Repeatable, sent: u32) -> Option<Duration> {
        Retries::default().wait(error, repeatable, sent, 0.5)
    }

    #[test]
    fn a_lost_answer_is_repeated_only_where_it_is_safe() {
        assert!(wait(&timeout(), Repeatable::Yes, 1).is_some());
        assert!(wait(&timeout(), Repeatable::No, 1).is_none());
        let unsent = Error::Unreachable { url: String::new(), cause: String::new() };
        assert!(wait(&unsent, Repeatable::No, 1).is_some());
        assert!(wait(&refused(404, None), Repeatable::Yes, 1).is_none());
    }

    #[test]
    fn waits_double_and_end_with_the_last_attempt() {
        let ms = |sent| wait(&timeout(), Repeatable::Yes, sent).map(|wait| wait.as_millis());
        assert_eq!((ms(1), ms(2), ms(3)), (Some(100), Some(200), None));
    }

    #[test]
    fn the_server_decides_how_long_to_wait_up_to_a_bound() {
        let wait = |seconds| wait(&refused(429, Some(seconds)), Repeatable::No, 1);
        assert!(wait(2).is_some_and(|wait| (2_000..2_200).contains(&wait.as_millis())));
        assert_eq!(wait(60), None);
    }
}
