//! What a region's answer to an enqueue means.

use rota_federation::AttemptResult;

use crate::Error;

/// What a failed enqueue means for the job and for its region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The region has considered the job and does not want it. No other region is asked.
    Refused,
    /// The region has no room for this tenant's job. Another region may have.
    Limited,
    /// The region does not have the job, and cannot take it now.
    Away,
    /// The region may have the job or not.
    Unknown,
}

impl Verdict {
    pub fn of(error: &Error) -> Self {
        let status = match error {
            Error::Refused(refusal) => Some(refusal.status),
            Error::NotOjs { status, .. } => *status,
            _ => None,
        };
        match (error, status) {
            (Error::Refused(_), Some(429 | 507)) => Self::Limited,
            // An OJS server that says 503 has not taken the job. Whatever stands in front of one may have passed
            // it on before.
            (Error::Refused(_), Some(503)) => Self::Away,
            (_, Some(500 | 502..=504)) => Self::Unknown,
            (Error::Unreachable { .. } | Error::Tls { .. }, _) => Self::Away,
            (Error::Interrupted { .. } | Error::Timeout { .. }, _) => Self::Unknown,
            _ => Self::Refused,
        }
    }

    /// What it teaches about the region.
    pub fn result<'a>(self, error: &Error, tenant: &'a str) -> AttemptResult<'a> {
        match (self, error) {
            // A 500 is an answer.
            (Self::Unknown, Error::Refused(refusal)) if refusal.status == 500 => {
                AttemptResult::Answered
            }
            (Self::Away | Self::Unknown, _) => AttemptResult::Failed,
            (Self::Limited, Error::Refused(refusal)) if refusal.status == 507 => {
                AttemptResult::Full
            }
            (Self::Limited, _) => AttemptResult::Limited { tenant },
            (Self::Refused, _) => AttemptResult::Answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;

    fn refused(status: u16) -> Error {
        let refusal: Refusal = serde_json::from_str(r#"{"code": "x", "message": "x"}"#).unwrap();
        Error::Refused(Box::new(Refusal { status, ..refusal }))
    }

    fn proxy(status: u16) -> Error {
        Error::NotOjs { url: String::new(), status: Some(status), reason: String::new() }
    }

    #[test]
    fn an_answer_opens_no_breaker_and_a_missing_one_counts() {
        let judged = |error: &Error| {
            let verdict = Verdict::of(error);
            (verdict, verdict.result(error, "t"))
        };
        for status in [400, 401, 403, 404, 409, 413, 422] {
            assert_eq!(judged(&refused(status)), (Verdict::Refused, AttemptResult::Answered));
        }
        let limited = (Verdict::Limited, AttemptResult::Limited { tenant: "t" });
        assert_eq!(judged(&refused(429)), limited);
        assert_eq!(judged(&refused(503)), (Verdict::Away, AttemptResult::Failed));
        for status in [502, 503, 504] {
            assert_eq!(judged(&proxy(status)), (Verdict::Unknown, AttemptResult::Failed));
        }
        let timeout = Error::Timeout { url: String::new(), seconds: 1 };
        assert_eq!(judged(&timeout), (Verdict::Unknown, AttemptResult::Failed));
        let closed = Error::Unreachable { url: String::new(), cause: String::new() };
        assert_eq!(judged(&closed), (Verdict::Away, AttemptResult::Failed));
    }
}
