//! A connection's bytes, encrypted or not.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustls::{ClientConnection, StreamOwned};

/// A stream of the system, with TLS or without.
pub(crate) enum Transport<S: Read + Write> {
    Plain(S),
    Tls(Box<StreamOwned<ClientConnection, S>>),
}

impl<S: Read + Write> Transport<S> {
    pub fn encrypted(session: ClientConnection, stream: S) -> Self {
        Self::Tls(Box::new(StreamOwned::new(session, stream)))
    }

    pub fn stream(&mut self) -> &mut S {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(tls) => &mut tls.sock,
        }
    }
}

impl Transport<TcpStream> {
    /// The same connection, whose reads and writes do not wait.
    pub fn non_blocking(self) -> io::Result<Transport<mio::net::TcpStream>> {
        let convert = |stream: TcpStream| {
            stream.set_nonblocking(true)?;
            Ok::<_, io::Error>(mio::net::TcpStream::from_std(stream))
        };
        Ok(match self {
            Self::Plain(stream) => Transport::Plain(convert(stream)?),
            Self::Tls(tls) => Transport::encrypted(tls.conn, convert(tls.sock)?),
        })
    }
}

impl<S: Read + Write> Read for Transport<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl<S: Read + Write> Write for Transport<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    /// Sends what was encrypted and did not fit into the system's buffer.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}
