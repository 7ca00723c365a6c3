//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

use rota_engine::Times;

pub(super) struct Page(String);

/// Labels as they are written: put together once for a series that is in many families.
#[derive(Default)]
pub(super) struct Tags(String);

/// The samples of one metric.
pub(super) struct Family<'a> {
    page: &'a mut String,
    name: &'static str,
    /// For histograms, the end of the labels of each bucket but the last.
    bounds: Vec<String>,
}

impl Tags {
    pub fn of(pairs: &[(&'static str, &str)]) -> Self {
        pairs.iter().fold(Self::default(), |tags, (name, value)| tags.and(name, value))
    }

    /// The same with one more.
    pub fn and(&self, name: &'static str, value: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + name.len() + value.len() + 4);
        text.push_str(&self.0);
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        push_escaped(&mut text, value);
        text.push('"');
        Self(text)
    }
}

impl Page {
    /// For a page of about this size.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    pub fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    pub fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    pub fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    pub fn into_text(self) -> String {
        self.0
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        self.0.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        Family { page: &mut self.0, name, bounds: Vec::new() }
    }
}

impl Family<'_> {
    pub fn add(&mut self, tags: &Tags, value: f64) {
        self.sample("", tags, value);
    }

    pub fn count(&mut self, tags: &Tags, value: u64) {
        self.sample("", tags, value);
    }

    /// Times are shown in seconds. A family has one set of bounds.
    pub fn times(&mut self, tags: &Tags, times: &Times) {
        if self.bounds.is_empty() {
            let end = |ms: &u64| format!(",le=\"{}\"}} ", *ms as f64 / 1_000.0);
            self.bounds = times.bounds().iter().map(end).collect();
        }
        let count = times.count();
        for (bound, up_to) in self.bounds.iter().zip(times.up_to_each()) {
            let start = [self.name, "_bucket{", &tags.0, bound];
            start.into_iter().for_each(|part| self.page.push_str(part));
            end(self.page, up_to);
        }
        let start = [self.name, "_bucket{", &tags.0, ",le=\"+Inf\"} "];
        start.into_iter().for_each(|part| self.page.push_str(part));
        end(self.page, count);
        self.sample("_sum", tags, times.sum() as f64 / 1_000.0);
        self.sample("_count", tags, count);
    }

    fn sample(&mut self, suffix: &str, tags: &Tags, value: impl Display) {
        let tags = if tags.0.is_empty() { [" ", "", ""] } else { ["{", &tags.0, "} "] };
        [self.name, suffix].into_iter().chain(tags).for_each(|part| self.page.push_str(part));
        end(self.page, value);
    }
}

fn end(page: &mut String, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{value}");
}

fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_prometheus_reads_it() {
        let mut page = Page::with_capacity(0);
        let tags = Tags::of(&[("tenant_id", "t"), ("queue", "a\"b\\c")]);
        page.counter("ojs_job_enqueued_total", "Jobs.").count(&tags, 3);
        page.gauge("ojs_share", "Part.").add(&Tags::default(), 0.25);
        let mut times = Times::of_waits();
        [3, 7, 2_000].into_iter().for_each(|ms| times.record(ms));
        page.histogram("ojs_wait", "Time.").times(&Tags::of(&[("queue", "q")]), &times);
        let expected = "\
# HELP ojs_job_enqueued_total Jobs.
# TYPE ojs_job_enqueued_total counter
ojs_job_enqueued_total{tenant_id=\"t\",queue=\"a\\\"b\\\\c\"} 3
# HELP ojs_share Part.
# TYPE ojs_share gauge
ojs_share 0.25
# HELP ojs_wait Time.
# TYPE ojs_wait histogram
ojs_wait_bucket{queue=\"q\",le=\"0.01\"} 2
ojs_wait_bucket{queue=\"q\",le=\"0.05\"} 2
";
        let text = page.into_text();
        assert!(text.starts_with(expected), "{text}");
        let expected = "\
ojs_wait_bucket{queue=\"q\",le=\"3600\"} 3
ojs_wait_bucket{queue=\"q\",le=\"+Inf\"} 3
ojs_wait_sum{queue=\"q\"} 2.01
ojs_wait_count{queue=\"q\"} 3
";
        assert!(text.ends_with(expected), "{text}");
    }
}
