//! What the client says about servers that are away, odd or broken.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use rota_client::{Client, Error};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers every connection with these bytes and closes it.
async fn answering(bytes: &'static [u8]) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(bytes).await;
        }
    });
    Client::new(&url).unwrap()
}

async fn error(bytes: &'static [u8]) -> Error {
    answering(bytes).await.job("x").await.unwrap_err()
}

#[tokio::test]
async fn nobody_is_there() {
    // A port that nobody listens on; one that is free now may be taken soon.
    let url = "http://127.0.0.1:9";
    let error = Client::new(url).unwrap().health().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("no server answers at {url}: connection refused"));
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_web_page_is_no_job_server() {
    let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>";
    let error = error(page).await;
    assert!(matches!(error, Error::NotOjs { status: Some(200), .. }), "{error:?}");
    assert!(error.to_string().contains("text/html"), "{error}");
}

#[tokio::test]
async fn an_error_without_the_error_object_is_no_refusal() {
    for answer in [
        &b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found"[..],
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 16\r\n\r\n{\"error\":\"oops\"}",
    ] {
        assert!(matches!(error(answer).await, Error::NotOjs { .. }));
    }
}

#[tokio::test]
async fn other_json_is_named_as_such() {
    let error = error(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"job\": 1}").await;
    assert!(matches!(error, Error::NotOjs { .. }), "{error:?}");
    assert!(error.to_string().contains("unknown shape"), "{error}");
}

#[tokio::test]
async fn what_is_not_http_is_no_job_server() {
    let error = error(b"220 mail.example.com ESMTP\r\n").await;
    assert!(matches!(error, Error::NotOjs { status: None, .. }), "{error:?}");
}

#[tokio::test]
async fn a_connection_that_ends_leaves_the_outcome_open() {
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"job\""] {
        let error = error(answer).await;
        assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::builder().request_timeout(Duration::from_millis(50)).build(&url).unwrap();
    let error = client.health().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}

#[tokio::test]
async fn a_refusal_keeps_the_words_of_the_server() {
    let error = error(
        b"HTTP/1.1 409 Conflict\r\nRetry-After: 7\r\nContent-Length: 85\r\n\r\n\
          {\"error\":{\"code\":\"conflict\",\"message\":\"no\",\"hint\":\"wait\",\"details\":{\"field\":\"id\"}  }}",
    )
    .await;
    let refusal = error.refusal().expect("a refusal");
    assert_eq!((refusal.status, &*refusal.code, &*refusal.message), (409, "conflict", "no"));
    assert_eq!((refusal.hint.as_deref(), refusal.retry_after), (Some("wait"), Some(7)));
    assert_eq!(refusal.details["field"], "id");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_sick_server_still_says_how_it_is() {
    let client =
        answering(b"HTTP/1.1 503 Busy\r\nContent-Length: 21\r\n\r\n{\"status\":\"degraded\"}")
            .await;
    assert_eq!(client.health().await.unwrap().status, "degraded");
}
