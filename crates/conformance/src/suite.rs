//! Finds and selects case files in a folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::error::Error;

/// A case file that was selected, named by its path below the suites' folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseFile {
    pub name: String,
    pub path: PathBuf,
}

pub struct Selection {
    pub selected: Vec<CaseFile>,
    /// Every file below the folder, selected or not.
    pub all: Vec<String>,
}

/// Every file whose name starts with one of the patterns, or all without patterns. A pattern that
/// selects nothing is an error: it is a misspelling, and running less than was asked must not look
/// like success.
pub fn select(suites: &Path, only: &[String]) -> Result<Selection, Error> {
    let mut files = Vec::new();
    collect(suites, suites, &mut files)
        .map_err(|source| Error::Suites { path: suites.into(), source })?;
    files.sort();

    let matches = |pattern: &str, file: &CaseFile| file.name.starts_with(pattern);
    if let Some(idle) = only.iter().find(|pattern| !files.iter().any(|file| matches(pattern, file)))
    {
        return Err(Error::PatternSelectsNothing(idle.clone()));
    }
    let all = files.iter().map(|file| file.name.clone()).collect();
    files.retain(|file| only.is_empty() || only.iter().any(|pattern| matches(pattern, file)));
    if files.is_empty() {
        return Err(Error::NothingSelected(suites.into()));
    }
    Ok(Selection { selected: files, all })
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<CaseFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let below = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            files.push(CaseFile { name: parts.join("/"), path });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["level-0/a/one.json", "level-0/b/two.json", "level-1/three.json", "level-1/notes.md"]
        {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        folder
    }

    fn names(suites: &Path, only: &[&str]) -> Result<Vec<String>, Error> {
        let only: Vec<String> = only.iter().map(|pattern| pattern.to_string()).collect();
        let selection = select(suites, &only)?;
        Ok(selection.selected.into_iter().map(|file| file.name).collect())
    }

    #[test]
    fn selects_by_prefix() {
        let suites = suites();
        let suites = suites.path();
        assert_eq!(
            names(suites, &[]).unwrap(),
            ["level-0/a/one.json", "level-0/b/two.json", "level-1/three.json"]
        );
        assert_eq!(names(suites, &["level-0/b"]).unwrap(), ["level-0/b/two.json"]);
        assert_eq!(
            names(suites, &["level-1", "level-0/a"]).unwrap(),
            ["level-0/a/one.json", "level-1/three.json"]
        );
    }

    #[test]
    fn selecting_nothing_is_an_error() {
        let suites = suites();
        let empty = tempfile::tempdir().unwrap();
        assert!(matches!(
            names(suites.path(), &["level-0", "level-9"]),
            Err(Error::PatternSelectsNothing(_))
        ));
        assert!(matches!(names(empty.path(), &[]), Err(Error::NothingSelected(_))));
        assert!(matches!(names(&empty.path().join("no"), &[]), Err(Error::Suites { .. })));
    }
}
