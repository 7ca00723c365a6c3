//! A folder of cases, written for one test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rota_conformance::{Mode, Options, Report, Target, run};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct Folder {
    home: TempDir,
}

impl Folder {
    pub fn new() -> Folder {
        Folder { home: tempfile::tempdir().unwrap() }
    }

    /// A folder with one case, `level-9/case.json`.
    pub fn with_steps(steps: Value) -> Folder {
        let folder = Folder::new();
        folder
            .add("level-9/case.json", &json!({"test_id": "T-1", "name": "a case", "steps": steps}));
        folder
    }

    pub fn add(&self, file: &str, content: &Value) {
        let path = self.suites().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.to_string()).unwrap();
    }

    /// A list of known failures that names `level-9/case.json`.
    pub fn known(&self) -> PathBuf {
        let path = self.home.path().join("known.toml");
        fs::write(
            &path,
            "[[known]]\nfile = 'level-9/case.json'\nreason = 'it contradicts itself'\n",
        )
        .unwrap();
        path
    }

    pub fn suites(&self) -> PathBuf {
        self.home.path().join("suites")
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn options(&self, url: &str, mode: Mode) -> Options {
        Options { mode, ..Options::new(self.suites(), Target::Url(url.into())) }
    }

    pub fn run(&self, url: &str, mode: Mode) -> Report {
        run(&self.options(url, mode)).unwrap()
    }
}
