//! SPDX expressions such as `(MIT OR Apache-2.0) AND Unicode-3.0`.

/// Whether the allowed licences are enough to use what is licensed like this.
pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // Older manifests separate alternatives with a slash.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let is_allowed = any(&mut words, allowed);
    is_allowed && words.next().is_none()
}

type Words<'a, 'b> = &'b mut std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: Words<'_, '_>, allowed: &[String]) -> bool {
    let mut found = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        // Both sides are read, whatever the first says.
        found |= all(words, allowed);
    }
    found
}

fn all(words: Words<'_, '_>, allowed: &[String]) -> bool {
    let mut every = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        every &= one(words, allowed);
    }
    every
}

fn one(words: Words<'_, '_>, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let inner = any(words, allowed);
        return words.next_if_eq(&")").is_some() && inner;
    }
    let Some(name) = words.next() else { return false };
    if words.next_if_eq(&"WITH").is_some() {
        let exception = words.next().unwrap_or_default();
        return allowed.contains(&format!("{name} WITH {exception}"));
    }
    allowed.iter().any(|licence| licence == name)
}

#[test]
fn expressions() {
    let allowed = ["MIT".to_owned(), "Zlib".to_owned()];
    for good in ["MIT", "GPL-3.0 OR MIT", "Apache-2.0/MIT", "(GPL-3.0 OR MIT) AND Zlib"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "MIT WITH X", "(MIT", "MIT)", "MIT Zlib"] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}
