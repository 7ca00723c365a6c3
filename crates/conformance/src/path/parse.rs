//! Parses paths.

use super::Segment;

pub(super) fn segments(text: &str) -> Result<Vec<Segment>, String> {
    let mut rest = text.strip_prefix('$').unwrap_or(text);
    // `$name` without a dot is an operator or a reference, never a path.
    if rest.len() < text.len() && !rest.is_empty() && !rest.starts_with(['.', '[']) {
        return Err(format!("{text:?} is not a path"));
    }
    let mut segments = Vec::new();
    while !rest.is_empty() {
        let (segment, remaining) = match rest.strip_prefix('[') {
            Some(inside) => bracket(inside),
            None => key(rest.strip_prefix('.').unwrap_or(rest)),
        }
        .ok_or_else(|| format!("cannot read the path {text:?} at {rest:?}"))?;
        segments.push(segment);
        rest = remaining;
    }
    Ok(segments)
}

fn key(rest: &str) -> Option<(Segment, &str)> {
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (name, remaining) = rest.split_at(end);
    (!name.is_empty()).then(|| (Segment::Key(name.into()), remaining))
}

fn bracket(inside: &str) -> Option<(Segment, &str)> {
    if let Some(filter) = inside.strip_prefix("?(@.") {
        let (filter, remaining) = filter.split_once(")]")?;
        let (key, quoted) = filter.split_once("==")?;
        let equals = quoted.trim().strip_prefix('\'')?.strip_suffix('\'')?;
        let segment = Segment::Where { key: key.trim().into(), equals: equals.into() };
        return Some((segment, remaining));
    }
    let (index, remaining) = inside.split_once(']')?;
    let segment = match index {
        "*" => Segment::Every,
        _ => Segment::Index(index.parse().ok()?),
    };
    Some((segment, remaining))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_it_does_not_know() {
        for text in
            ["$.a[", "$.a[-1]", "$.a..b", "$.a[?(@.n>1)]", "$or", "$empty", "$.", "$.a[?(@.id==5)]"]
        {
            assert!(segments(text).is_err(), "{text} should be refused");
        }
    }

    #[test]
    fn reads_a_filter_with_what_follows() {
        let parsed = segments("$.jobs[?(@.id=='a)b')].errors[0]").unwrap();
        assert_eq!(
            parsed,
            [
                Segment::Key("jobs".into()),
                Segment::Where { key: "id".into(), equals: "a)b".into() },
                Segment::Key("errors".into()),
                Segment::Index(0),
            ]
        );
    }
}
