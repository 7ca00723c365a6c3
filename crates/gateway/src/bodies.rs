//! Reading the bodies of requests within a budget of memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use rota_server::http::ApiError;

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The beginning of a body that does not count.
const FREE: usize = 16 << 10;
/// The budget, in bodies of the largest size.
const MOST_BODIES: usize = 16;
/// One address may have this part of the budget.
const PART: usize = 4;

/// Counts the bytes of bodies that are being read or passed on.
#[derive(Clone)]
pub(crate) struct Bodies {
    largest: usize,
    used: Arc<Mutex<Used>>,
}

#[derive(Default)]
struct Used {
    bytes: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Bytes of a body, until this is dropped.
pub(crate) struct Reserved {
    bodies: Bodies,
    address: IpAddr,
    bytes: usize,
}

impl Bodies {
    pub fn new(largest: usize) -> Self {
        Self { largest, used: Arc::default() }
    }

    /// Reads a body whole. What it takes counts until `Reserved` is dropped.
    pub async fn read(
        &self,
        body: Incoming,
        address: IpAddr,
    ) -> Result<(Bytes, Reserved), ApiError> {
        if body.size_hint().lower() > self.largest as u64 {
            return Err(self.too_large());
        }
        match tokio::time::timeout(BODY_TIMEOUT, self.collect(body, address)).await {
            Ok(read) => read,
            Err(_) => {
                let text = "The body took too long to arrive.";
                Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", text))
            }
        }
    }

    async fn collect(
        &self,
        mut body: Incoming,
        address: IpAddr,
    ) -> Result<(Bytes, Reserved), ApiError> {
        let mut reserved = Reserved { bodies: self.clone(), address, bytes: 0 };
        let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| {
                let text = "The body broke off.";
                ApiError::new(StatusCode::BAD_REQUEST, "invalid_payload", text)
            })?;
            let Ok(data) = frame.into_data() else { continue };
            let length = first.len() + rest.len() + data.len();
            if length > self.largest {
                return Err(self.too_large());
            }
            reserved.grow_to(length.saturating_sub(FREE))?;
            // Most bodies are one piece, which is not copied.
            match (first.is_empty(), rest.is_empty()) {
                (true, true) => first = data,
                (false, true) => {
                    rest.reserve(first.len() + data.len());
                    rest.extend_from_slice(&std::mem::take(&mut first));
                    rest.extend_from_slice(&data);
                }
                _ => rest.extend_from_slice(&data),
            }
        }
        Ok((if rest.is_empty() { first } else { rest.freeze() }, reserved))
    }

    fn too_large(&self) -> ApiError {
        let text = format!("The body is longer than {} bytes.", self.largest);
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_payload", text)
    }
}

impl Reserved {
    fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let most = self.bodies.largest.saturating_mul(MOST_BODIES);
        let mut used = self.bodies.used.lock().unwrap_or_else(PoisonError::into_inner);
        let own = used.by_address.get(&self.address).copied().unwrap_or(0);
        if used.bytes + more > most || own + more > most / PART {
            let text = "Too many large requests are under way.";
            return Err(ApiError::busy(text).retry_after(1));
        }
        used.bytes += more;
        *used.by_address.entry(self.address).or_insert(0) += more;
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut used = self.bodies.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.bytes -= self.bytes;
        if let Some(own) = used.by_address.get_mut(&self.address) {
            *own -= self.bytes;
            if *own == 0 {
                used.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_have_the_whole_budget_and_gives_back_what_it_had() {
        let bodies = Bodies::new(100);
        let reserve = |address: [u8; 4], bytes: usize| {
            let address = IpAddr::from(address);
            let mut reserved = Reserved { bodies: bodies.clone(), address, bytes: 0 };
            reserved.grow_to(bytes).map(|()| reserved).ok()
        };
        let most: Vec<_> = (0..4).map(|_| reserve([10, 0, 0, 1], 100).unwrap()).collect();
        assert!(reserve([10, 0, 0, 1], 1).is_none(), "a quarter is the most for one");
        let others: Vec<_> = (2..5)
            .flat_map(|n| (0..4).map(move |_| n))
            .map(|n| reserve([10, 0, 0, n], 100))
            .collect();
        assert!(others.iter().all(Option::is_some));
        assert!(reserve([10, 0, 0, 9], 1).is_none(), "all is in use");
        drop((most, others));
        assert!(reserve([10, 0, 0, 1], 400).is_some());
        assert!(bodies.used.lock().unwrap().by_address.is_empty());
    }
}
