//! What to do with a job of which nobody knows whether it was enqueued.

use std::fmt;

/// What happens when a region was sent a job, did not answer, and cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnAmbiguous {
    /// The call fails and says so. The job may run or not, but never twice.
    #[default]
    Fail,
    /// The job is sent to another region. It may run twice; once the first region is back, the copy that has not
    /// started is cancelled.
    Send,
}

impl fmt::Display for OnAmbiguous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fail => "fail",
            Self::Send => "send",
        })
    }
}
