//! HTTP by hand: what is sent is exactly what the test says, and nothing is ever sent twice.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// One connection. An error means that there was no complete answer.
pub struct Wire<S = TcpStream> {
    reader: BufReader<S>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

const PATIENCE: Duration = Duration::from_secs(60);
/// No answer to these tests is longer.
const LONGEST: usize = 64 << 20;

impl Wire {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { reader: BufReader::new(stream) })
    }

    pub fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.stream().write_all(bytes)
    }
}

impl<S: Read + Write> Wire<S> {
    /// Over anything that carries bytes, such as TLS.
    pub fn over(stream: S) -> Self {
        Self { reader: BufReader::new(stream) }
    }

    pub fn carrier(&self) -> &S {
        self.reader.get_ref()
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)?;
        self.reader.get_mut().flush()
    }

    /// What has come, as [`Read::read`] gives it.
    pub fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.reader.read(bytes)
    }

    pub fn post(&mut self, path: &str, body: &Value) -> io::Result<Answer> {
        self.send(&request("POST", path, &[], body.to_string().as_bytes()))?;
        self.answer()
    }

    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.send(&request("GET", path, &[], b""))?;
        self.answer()
    }

    /// The next answer, whole. An interim one (100) is an answer too.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| broken(&status_line))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken(&line))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        if status >= 200 {
            answer.body = self.body(&answer)?;
        }
        Ok(answer)
    }

    /// Waits until the other side ends the connection, and gives what came before.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        match self.reader.by_ref().take(LONGEST as u64).read_to_end(&mut rest) {
            Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error),
            _ => Ok(rest),
        }
    }

    fn body(&mut self, answer: &Answer) -> io::Result<Vec<u8>> {
        let Some(length) = answer.header("content-length") else {
            let chunked = answer.header("transfer-encoding").is_some();
            return if chunked { Err(broken("no answer is chunked")) } else { self.rest() };
        };
        let length: usize = length.parse().map_err(|_| broken(length))?;
        let mut body = vec![0; length.min(LONGEST)];
        self.reader.read_exact(&mut body)?;
        Ok(body)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.reader.by_ref().take(64 << 10).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8(line).map_err(|_| broken("not text"))?;
        Ok(text.trim_end_matches('\r').to_owned())
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// The bytes of a request with a JSON body.
pub fn request(method: &str, path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut out = format!("{method} {path} HTTP/1.1\r\nHost: rota\r\n");
    for header in headers {
        out.push_str(header);
        out.push_str("\r\n");
    }
    if !body.is_empty() {
        out.push_str("Content-Type: application/json\r\n");
    }
    out.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    [out.as_bytes(), body].concat()
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
