//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;

use rota_engine::Histogram;

#[derive(Default)]
pub(super) struct Page(String);

/// Names and values.
pub(super) type Tags<'a> = &'a [(&'static str, &'a str)];

/// The samples of one metric.
pub(super) struct Family<'a> {
    page: &'a mut Page,
    name: &'static str,
}

impl Page {
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
        Family { page: self, name }
    }
}

impl Family<'_> {
    pub fn add(&mut self, tags: Tags<'_>, value: impl Into<f64>) {
        self.sample("", tags, None, value.into());
    }

    pub fn count(&mut self, tags: Tags<'_>, value: u64) {
        self.sample("", tags, None, value as f64);
    }

    /// Times in milliseconds, shown in seconds; the bounds are in milliseconds too.
    pub fn times(&mut self, tags: Tags<'_>, times: &Histogram, bounds: &[u64]) {
        for bound in bounds {
            let le = (*bound as f64 / 1_000.0).to_string();
            self.sample("_bucket", tags, Some(&le), times.at_most(*bound) as f64);
        }
        self.sample("_bucket", tags, Some("+Inf"), times.count() as f64);
        self.sample("_sum", tags, None, times.sum() as f64 / 1_000.0);
        self.sample("_count", tags, None, times.count() as f64);
    }

    fn sample(&mut self, suffix: &str, tags: Tags<'_>, le: Option<&str>, value: f64) {
        let out = &mut self.page.0;
        out.push_str(self.name);
        out.push_str(suffix);
        let mut opened = false;
        for (name, text) in tags.iter().copied().chain(le.map(|le| ("le", le))) {
            out.push(if opened { ',' } else { '{' });
            opened = true;
            out.push_str(name);
            out.push_str("=\"");
            push_escaped(out, text);
            out.push('"');
        }
        if opened {
            out.push('}');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, " {value}");
    }
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
        let mut page = Page::default();
        page.counter("ojs_job_enqueued_total", "Jobs.").count(&[("queue", "a\"b\\c")], 3);
        page.gauge("ojs_share", "Part.").add(&[], 0.25);
        let mut times = Histogram::default();
        [3, 7, 2_000].into_iter().for_each(|ms| times.record(ms));
        page.histogram("ojs_wait", "Time.").times(&[("queue", "q")], &times, &[5, 1_000]);
        let expected = "\
# HELP ojs_job_enqueued_total Jobs.
# TYPE ojs_job_enqueued_total counter
ojs_job_enqueued_total{queue=\"a\\\"b\\\\c\"} 3
# HELP ojs_share Part.
# TYPE ojs_share gauge
ojs_share 0.25
# HELP ojs_wait Time.
# TYPE ojs_wait histogram
ojs_wait_bucket{queue=\"q\",le=\"0.005\"} 1
ojs_wait_bucket{queue=\"q\",le=\"1\"} 2
ojs_wait_bucket{queue=\"q\",le=\"+Inf\"} 3
ojs_wait_sum{queue=\"q\"} 2.01
ojs_wait_count{queue=\"q\"} 3
";
        assert_eq!(page.into_text(), expected);
    }
}
