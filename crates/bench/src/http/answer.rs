//! A minimal, fast parser for HTTP/1.1 responses.

use crate::BenchError;

/// The position of a response in the received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: std::ops::Range<usize>,
}

/// Maximum number of headers, and of bytes.
const HEADERS: usize = 32;
const MOST_HEAD: usize = 64 << 10;
const MOST_BODY: usize = 1 << 30;

/// The head of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub status: u16,
    /// Its length.
    pub bytes: usize,
    pub body_bytes: usize,
}

/// Parses the first response in `bytes`. Returns `None` while it is incomplete.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Answer>, BenchError> {
    let Some(head) = parse_head(bytes)? else { return Ok(None) };
    let end = head.bytes + head.body_bytes;
    let answer = Answer { status: head.status, body: head.bytes..end };
    Ok((bytes.len() >= end).then_some(answer))
}

/// Parses the head of the first response in `bytes`. Returns `None` while it is incomplete.
pub(crate) fn parse_head(bytes: &[u8]) -> Result<Option<Head>, BenchError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => return Ok(None),
        Ok(httparse::Status::Partial) => return Err(BenchError::wrong("an answer without end")),
        Err(error) => return Err(BenchError::wrong(format!("this is not HTTP: {error}"))),
    };
    let body_bytes = response
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse::<usize>().ok())
        .ok_or_else(|| BenchError::wrong("an answer without a length"))?;
    if body_bytes > MOST_BODY {
        return Err(BenchError::wrong(format!("an answer of {body_bytes} bytes")));
    }
    Ok(Some(Head { status: response.code.unwrap_or_default(), bytes: head, body_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_when_its_body_is() {
        let text = b"HTTP/1.1 201 Created\r\ncontent-length: 5\r\nx: y\r\n\r\nhello";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]).unwrap(), None, "{end}");
        }
        let answer = parse(text).unwrap().unwrap();
        assert_eq!((answer.status, &text[answer.body]), (201, &b"hello"[..]));
    }

    #[test]
    fn what_is_not_an_answer_is_an_error() {
        assert!(parse(b"SSH-2.0-OpenSSH\r\n\r\n").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err(), "no length");
        let huge = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", usize::MAX);
        assert!(parse(huge.as_bytes()).is_err(), "too long");
        let endless = "x: y\r\n".repeat(MOST_HEAD);
        assert!(parse(format!("HTTP/1.1 200 OK\r\n{endless}").as_bytes()).is_err());
    }
}
