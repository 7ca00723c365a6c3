//! HTTP/2: by agreement in the handshake, and in plain text by prior knowledge.

use std::sync::Arc;

use bytes::Bytes;
use h2::client::SendRequest;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::authority::Authority;
use crate::secure::{Options, config, start};
use crate::support::Server;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The bytes of a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

pub fn wait_for<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let limit = std::time::Duration::from_secs(60);
        tokio::time::timeout(limit, test).await.expect("it takes more than a minute")
    })
}

pub async fn open<S>(stream: S) -> SendRequest<Bytes>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    client
}

pub async fn connect(server: &Server) -> SendRequest<Bytes> {
    open(TcpStream::connect(server.address()).await.unwrap()).await
}

pub async fn ask(
    client: &SendRequest<Bytes>,
    method: &str,
    path: &str,
    body: &str,
) -> Result<(u16, Value), h2::Error> {
    let mut client = client.clone().ready().await?;
    let request = http::Request::builder()
        .method(method)
        .uri(format!("http://rota{path}"))
        .header("content-type", "application/json")
        .body(())
        .unwrap();
    let (response, mut stream) = client.send_request(request, body.is_empty())?;
    if !body.is_empty() {
        stream.send_data(Bytes::copy_from_slice(body.as_bytes()), true)?;
    }
    let response = response.await?;
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        body.flow_control().release_capacity(bytes.len())?;
        text.extend_from_slice(&bytes);
    }
    Ok((status, serde_json::from_slice(&text).unwrap_or(Value::Null)))
}

#[test]
fn a_whole_job_goes_over_one_encrypted_connection() {
    let authority = Authority::new();
    let server = start(&authority, &[]);
    wait_for(async {
        let options = Options { protocols: vec![b"h2"], ..Options::default() };
        let tcp = TcpStream::connect(server.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(config(&authority, &options));
        let client = open(connector.connect(name, tcp).await.unwrap()).await;
        let job = json!({"type": "a", "args": ["x".repeat(200_000)], "queue": "q"}).to_string();
        let (status, made) = ask(&client, "POST", "/ojs/v1/jobs", &job).await.unwrap();
        assert_eq!(status, 201, "{made}");
        let fetch = json!({"queues": ["q"]}).to_string();
        let (status, fetched) =
            ask(&client, "POST", "/ojs/v1/workers/fetch", &fetch).await.unwrap();
        assert_eq!((status, &fetched["jobs"][0]["id"]), (200, &made["job"]["id"]));
        let ack = json!({"job_id": made["job"]["id"]}).to_string();
        assert_eq!(ask(&client, "POST", "/ojs/v1/workers/ack", &ack).await.unwrap().0, 200);
    });
}

#[test]
fn requests_of_one_connection_do_not_wait_for_each_other() {
    let server = Server::start();
    wait_for(async {
        let client = connect(&server).await;
        let fetch = json!({"queues": ["q"], "wait_ms": 30_000}).to_string();
        let waiting = ask(&client, "POST", "/ojs/v1/workers/fetch", &fetch);
        let others = async {
            let stats = "/ojs/v1/admin/stats";
            while ask(&client, "GET", stats, "").await.unwrap().1["waiting_fetches"] != 1 {}
            let job = json!({"type": "a", "args": [], "queue": "q"}).to_string();
            assert_eq!(ask(&client, "POST", "/ojs/v1/jobs", &job).await.unwrap().0, 201);
        };
        let (fetched, ()) = tokio::join!(waiting, others);
        assert_eq!(fetched.unwrap().1["jobs"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_job_is_not_given_to_a_request_that_was_given_up() {
    let server = Server::start();
    wait_for(async {
        let client = connect(&server).await;
        let fetch = json!({"queues": ["q"], "wait_ms": 30_000}).to_string();
        let waiting = async |count: u64| {
            let stats = "/ojs/v1/admin/stats";
            while ask(&client, "GET", stats, "").await.unwrap().1["waiting_fetches"] != count {}
        };
        // Dropping the request resets its stream.
        tokio::select! {
            answer = ask(&client, "POST", "/ojs/v1/workers/fetch", &fetch) => panic!("{answer:?}"),
            () = waiting(1) => {}
        }
        waiting(0).await;
        let job = json!({"type": "a", "args": [], "queue": "q"}).to_string();
        ask(&client, "POST", "/ojs/v1/jobs", &job).await.unwrap();
        let fetch = json!({"queues": ["q"]}).to_string();
        let (_, fetched) = ask(&client, "POST", "/ojs/v1/workers/fetch", &fetch).await.unwrap();
        assert_eq!(fetched["jobs"][0]["attempt"], 1, "{fetched}");
    });
}

#[test]
fn errors_have_the_form_of_all_errors() {
    let server = Server::start();
    wait_for(async {
        let client = Arc::new(connect(&server).await);
        let (status, error) = ask(&client, "POST", "/ojs/v1/jobs", "{").await.unwrap();
        assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_payload")), "{error}");
        let (status, _) = ask(&client, "GET", "/ojs/v1/ws", "").await.unwrap();
        assert_eq!(status, 426, "WebSockets need HTTP/1.1");
        // A body that is refused by its length does not end the connection.
        let long = format!("{{\"type\":\"{}\"}}", "x".repeat(17 << 20));
        let refused = ask(&client, "POST", "/ojs/v1/jobs", &long).await;
        if let Ok((status, error)) = refused {
            assert_eq!(status, 413, "{error}");
        }
        assert_eq!(ask(&client, "GET", "/health", "").await.unwrap().0, 200);
    });
}

#[test]
fn a_stop_lets_requests_under_way_finish() {
    let mut server = Server::start_with(&["--shutdown-grace", "60s"]);
    wait_for(async {
        let client = connect(&server).await;
        let fetch = json!({"queues": ["q"], "wait_ms": 30_000}).to_string();
        let waiting = ask(&client, "POST", "/ojs/v1/workers/fetch", &fetch);
        let stopping = async {
            let stats = "/ojs/v1/admin/stats";
            while ask(&client, "GET", stats, "").await.unwrap().1["waiting_fetches"] != 1 {}
            server.signal("TERM");
        };
        let (fetched, ()) = tokio::join!(waiting, stopping);
        assert_eq!(fetched.unwrap(), (200, json!({"jobs": []})));
    });
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn an_answer_that_is_not_taken_is_given_up_and_the_connection_goes_on() {
    let server = Server::start_with(&["--http-write-timeout", "300ms"]);
    wait_for(async {
        let tcp = TcpStream::connect(server.address()).await.unwrap();
        // Less than the connection has, so that there is room for other answers.
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(16 << 10);
        let (client, connection) = builder.handshake::<_, Bytes>(tcp).await.unwrap();
        // This answers pings, so the connection is alive.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        let uri = "http://rota/ojs/v1/openapi.json";
        let request = http::Request::builder().uri(uri).body(()).unwrap();
        let mut ready = client.clone().ready().await.unwrap();
        let (response, _) = ready.send_request(request, true).unwrap();
        let mut body = response.await.unwrap().into_body();
        // Far longer than a client has to take anything.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        assert_eq!(ask(&client, "GET", "/health", "").await.unwrap().0, 200);
        let end = loop {
            match body.data().await {
                Some(Ok(bytes)) => body.flow_control().release_capacity(bytes.len()).unwrap(),
                end => break end,
            }
        };
        assert!(matches!(end, Some(Err(_))), "{end:?}");
        assert_eq!(ask(&client, "GET", "/ojs/v1/openapi.json", "").await.unwrap().0, 200);
    });
}
