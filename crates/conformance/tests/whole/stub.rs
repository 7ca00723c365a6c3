//! A server of a few lines: it answers every request with what its handler says.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

pub struct Asked {
    pub method: String,
    pub path: String,
    pub content_type: String,
    pub body: String,
}

pub struct Answer {
    pub status: u16,
    pub body: String,
}

pub fn answer(status: u16, body: impl ToString) -> Answer {
    Answer { status, body: body.to_string() }
}

/// Serves in the background until the test ends, and gives its address.
pub fn start(handler: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || serve(listener, handler));
    url
}

pub fn serve(listener: TcpListener, handler: impl Fn(&Asked) -> Answer + Send + Sync + 'static) {
    let handler = Arc::new(handler);
    for stream in listener.incoming().flatten() {
        let handler = Arc::clone(&handler);
        thread::spawn(move || talk(stream, &*handler));
    }
}

fn talk(stream: TcpStream, handler: &dyn Fn(&Asked) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, path) = (word(), word());

    let (mut length, mut content_type) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "content-type" => content_type = value.to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();

    let Answer { status, body } = handler(&Asked { method, path, content_type, body });
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    let _client_may_have_gone = stream.write_all((head + &body).as_bytes());
}
