//! Running a command and looking at what it said.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::{Server, command};

/// What a command said and how it ended.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// `rota` with these arguments, its server in `ROTA_URL`, and nothing on standard input.
pub fn rota(server: &Server, arguments: &[&str]) -> Ran {
    rota_at(&server.url(""), arguments)
}

pub fn rota_at(url: &str, arguments: &[&str]) -> Ran {
    let output = command(arguments).env("ROTA_URL", url).stdin(Stdio::null()).output();
    output.expect("rota runs").into()
}

/// The same with this on standard input.
pub fn rota_reading(server: &Server, arguments: &[&str], input: &str) -> Ran {
    let mut child = command(arguments)
        .env("ROTA_URL", server.url(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rota runs");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let ran = child.wait_with_output().unwrap().into();
    // A command that gave up early has not read it all.
    let _ = writer.join();
    ran
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("commands speak UTF-8");
        Self {
            code: output.status.code().expect("commands end by themselves"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ran {
    /// What it printed, if all went well and there was nothing to remark.
    #[track_caller]
    pub fn printed(self) -> String {
        assert_eq!((self.code, &*self.stderr), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// The one JSON document that it printed.
    #[track_caller]
    pub fn json(self) -> Value {
        let text = self.printed();
        serde_json::from_str(&text).unwrap_or_else(|cause| panic!("{cause}: {text}"))
    }

    /// What it said when it failed like this, with nothing on standard output.
    #[track_caller]
    pub fn failed(self, code: i32) -> String {
        assert_eq!((self.code, &*self.stdout), (code, ""), "{}", self.stderr);
        self.stderr
    }

    /// The error that it printed as JSON.
    #[track_caller]
    pub fn json_error(self, code: i32) -> Value {
        assert_eq!(self.code, code, "{}", self.stderr);
        let body: Value = serde_json::from_str(&self.stderr)
            .unwrap_or_else(|cause| panic!("{cause}: {}", self.stderr));
        assert_eq!(body["error"]["exit_code"], code, "{body}");
        body["error"].clone()
    }
}

/// Compares text with what was seen and approved before, without what differs from run to run.
#[macro_export]
macro_rules! looks_like {
    ($name:literal, $text:expr) => {
        insta::with_settings!({ filters => $crate::run::FILTERS.to_vec(), omit_expression => true }, {
            insta::assert_snapshot!($name, $text);
        })
    };
}

/// Of the same width where they stand in columns.
pub const FILTERS: &[(&str, &str)] = &[
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
        "01234567-89ab-7cde-8f01-23456789abcd",
    ),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[time]"),
    (r"\b(now     |\ds ago  |\d\ds ago )(?<after> *\S)", "[ago]   $after"),
    (r"\b(now|\d+s ago)", "[ago]"),
    (r"\bin (\d+[smhd])+", "[in]"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
    (env!("CARGO_PKG_VERSION"), "[version]"),
];
