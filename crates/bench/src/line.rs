//! One line of results, shown as text or JSON.

use serde::Serialize;

use crate::Percentiles;
use crate::measurement::Measurement;

#[derive(Debug, Clone, Serialize)]
pub struct Line {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub times: Option<Percentiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
}

/// The ratio to a baseline of the same run.
#[derive(Debug, Clone, Serialize)]
pub struct Ratio {
    pub value: f64,
    pub of: String,
}

impl Line {
    pub(crate) fn rate(name: &str, measured: &Measurement, kind: usize) -> Self {
        Self {
            name: name.into(),
            value: measured.per_second(),
            unit: "per second",
            times: measured.times(kind),
            ratio: None,
        }
    }

    pub(crate) fn value(name: &str, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, times: None, ratio: None }
    }

    pub(crate) fn times(mut self, times: Option<Percentiles>) -> Self {
        self.times = times;
        self
    }

    pub(crate) fn against(mut self, of: &str, value: f64) -> Self {
        self.ratio = Some(Ratio { value, of: of.into() });
        self
    }
}
