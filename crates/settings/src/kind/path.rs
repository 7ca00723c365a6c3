use std::path::PathBuf;

use super::Kind;

/// Taken as it is written, relative to the working directory of the server.
pub(crate) struct Directory;

impl Kind for Directory {
    type Value = PathBuf;

    const TEXT_ONLY: bool = true;
    const EXAMPLES: &'static str = "/var/lib/rota";

    fn parse(&self, text: &str) -> Option<PathBuf> {
        let usable = !text.trim().is_empty() && !text.contains('\0');
        usable.then(|| PathBuf::from(text))
    }

    fn accepts(&self) -> String {
        "a directory".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_any_name_a_file_system_could() {
        for text in ["./rota-data", "/var/lib/rota", "with space", "données"] {
            assert_eq!(Directory.parse(text), Some(PathBuf::from(text)));
        }
        for text in ["", "  ", "nul\0inside"] {
            assert_eq!(Directory.parse(text), None, "{text:?}");
        }
    }
}
