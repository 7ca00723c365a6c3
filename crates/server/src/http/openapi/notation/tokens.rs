//! Words and signs of the notation.

use super::Problem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Literal(String),
    /// The description of a definition.
    About(String),
    /// The description of a member.
    Note(String),
    Sign(&'static str),
    /// The inside of parentheses.
    Range(String),
}

const SIGNS: [&str; 10] = ["...", "{", "}", "[]", "|", "?", ":", "=", "*", ","];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    let mut found: Vec<Token> = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim();
        while !rest.is_empty() {
            let (token, after) = token(rest)?;
            match (&token, found.last_mut()) {
                // A description may take several lines.
                (Token::About(more), Some(Token::About(about))) => {
                    about.push(' ');
                    about.push_str(more);
                }
                _ => found.push(token),
            }
            rest = after.trim_start();
        }
    }
    Ok(found)
}

fn token(text: &str) -> Result<(Token, &str), Problem> {
    if let Some(about) = text.strip_prefix("##") {
        return Ok((Token::About(about.trim().to_owned()), ""));
    }
    if let Some(note) = text.strip_prefix('#') {
        return Ok((Token::Note(note.trim().to_owned()), ""));
    }
    let unclosed = || format!("'{text}' is not closed");
    if let Some(rest) = text.strip_prefix('\'') {
        let (literal, rest) = rest.split_once('\'').ok_or_else(unclosed)?;
        return Ok((Token::Literal(literal.to_owned()), rest));
    }
    if let Some(rest) = text.strip_prefix('(') {
        let (range, rest) = rest.split_once(')').ok_or_else(unclosed)?;
        return Ok((Token::Range(range.to_owned()), rest));
    }
    if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
        return Ok((Token::Sign(sign), &text[sign.len()..]));
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_name(letter)).unwrap_or(text.len());
    match end {
        0 => Err(format!("'{text}' starts with an unknown sign")),
        _ => Ok((Token::Name(text[..end].to_owned()), &text[end..])),
    }
}
