//! Servers that are not what they should be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// An address where nobody listens: the port was free a moment ago.
pub fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A server that gives the same answer to every request: head without length, and body.
pub fn answering(head: &'static str, body: &'static str) -> String {
    answering_some(usize::MAX, head, body)
}

/// The same for the first requests only; it hangs up on the others.
pub fn answering_some(most: usize, head: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            read_request(&stream);
            if count < most {
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        }
    });
    url
}

fn read_request(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if let Some((_, value)) = line.to_ascii_lowercase().split_once("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let _ = std::io::copy(&mut reader.take(length), &mut std::io::sink());
}
