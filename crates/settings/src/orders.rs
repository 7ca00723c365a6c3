//! Pairs of settings of which one must not exceed the other.

/// Two settings of which one must not exceed the other.
pub(crate) struct Order {
    pub lesser: &'static str,
    pub greater: &'static str,
    pub may_be_equal: bool,
}

pub(crate) const ORDERS: &[Order] = &[
    Order {
        lesser: "workers.heartbeat_interval",
        greater: "workers.heartbeat_timeout",
        may_be_equal: false,
    },
    Order { lesser: "limits.job_bytes", greater: "limits.body_bytes", may_be_equal: true },
];

impl Order {
    pub(crate) fn relation(&self) -> &'static str {
        if self.may_be_equal { "must not be greater than" } else { "must be less than" }
    }
}
