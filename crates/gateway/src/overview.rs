//! What the gateway knows about the regions.

use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::{Response, StatusCode};
use rota_client::federation::{RegionStatus, Settings};
use serde_json::{Value, json};

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;
use crate::jobs::not_json;
use crate::route_table::Own;

impl Service {
    pub(crate) fn own(&self, own: Own, request: &ClientRequest) -> Response<Body> {
        match own {
            Own::Ready => answer::json(StatusCode::OK, &json!({"status": "ready", "ready": true})),
            Own::Health => self.health(),
            Own::Regions => self.regions(),
            Own::Backends => self.backends(),
            Own::FederationHealth => self.federation_health(),
            Own::Route => self.explain(request),
        }
    }

    /// The gateway is well as long as one region is.
    fn health(&self) -> Response<Body> {
        let regions = self.client.regions();
        let healthy = regions.iter().filter(|region| region.healthy).count();
        let (status, word) = match healthy {
            0 => (StatusCode::SERVICE_UNAVAILABLE, "degraded"),
            _ => (StatusCode::OK, "ok"),
        };
        let body = json!({
            "status": word,
            "version": "1.0",
            "server_version": env!("CARGO_PKG_VERSION"),
            "healthy_regions": healthy,
            "total_regions": regions.len(),
        });
        answer::json(status, &body)
    }

    fn regions(&self) -> Response<Body> {
        let settings = self.client.settings();
        let Settings { federation_id, topology, hub, default_strategy, .. } = &*settings;
        let regions: Vec<Value> = self.client.regions().iter().map(region).collect();
        let body = json!({
            "federation_id": federation_id,
            "topology": topology,
            "hub": hub,
            "default_strategy": default_strategy.as_deref().unwrap_or("affinity"),
            "regions": regions,
        });
        answer::json(StatusCode::OK, &body)
    }

    fn backends(&self) -> Response<Body> {
        let settings = self.client.settings();
        let backend = |status: &RegionStatus| {
            let mut backend = region(status);
            // Those of the same settings: the file may be taken over at any moment.
            if let Some(declared) = settings.regions.iter().find(|of| of.id == status.id) {
                backend["queues"] = declared.queues.clone().into();
                backend["priority"] = declared.priority.into();
            }
            backend["name"] = status.id.clone().into();
            backend["healthy"] = status.healthy.into();
            backend
        };
        let backends: Vec<Value> = self.client.regions().iter().map(backend).collect();
        answer::json(StatusCode::OK, &json!({"backends": backends}))
    }

    fn federation_health(&self) -> Response<Body> {
        let regions = self.client.regions();
        let healthy = regions.iter().filter(|region| region.healthy).count();
        let status = match healthy {
            0 => "unhealthy",
            some if some < regions.len() => "degraded",
            _ => "healthy",
        };
        // Nothing is replicated, so nothing lags behind.
        let shown: Vec<Value> = regions
            .iter()
            .map(|region| json!({"id": region.id, "status": word(region), "replication_lag_ms": null}))
            .collect();
        let body = json!({
            "status": status,
            "healthy_regions": healthy,
            "total_regions": regions.len(),
            "regions": shown,
        });
        answer::json(StatusCode::OK, &body)
    }

    fn explain(&self, request: &ClientRequest) -> Response<Body> {
        let Ok(job) = request.text() else { return not_json(&request.body) };
        let explained = match self.client.explain_for(job, request.tenant()) {
            Ok(explained) => explained,
            Err(error) => return answer::failure(&error),
        };
        let name = |region: rota_client::federation::RegionIndex| {
            self.client.settings().regions.get(region.position()).map(|region| region.id.clone())
        };
        let candidates: Vec<Value> = explained
            .candidates
            .iter()
            .map(|candidate| {
                json!({"id": name(candidate.region), "score": candidate.score, "reason": candidate.reason})
            })
            .collect();
        let (target, problem) = match &explained.decision {
            Ok(decision) => (name(decision.region), None),
            Err(route) => (None, Some(route.to_string())),
        };
        let body = json!({
            "target_region": target,
            "strategy": explained.strategy.as_str(),
            "reason": problem,
            "candidates": candidates,
        });
        answer::json(StatusCode::OK, &body)
    }
}

fn region(status: &RegionStatus) -> Value {
    json!({
        "id": status.id,
        "url": status.url,
        "weight": status.weight,
        "tags": status.tags,
        "local": status.local,
        "status": word(status),
        "circuit_breaker": status.circuit.as_str(),
        "consecutive_failures": status.failures,
        "latency_ms": status.latency_ms.map(|ms| (ms * 10.0).round() / 10.0),
        "full": status.full,
        "load": status.load.map(|load| json!({"waiting": load.waiting, "active": load.active})),
        "last_health_check": status.checked.and_then(ago),
        "jobs_routed": status.jobs,
        "share": status.share,
        "geo_pins_refused": status.pins_refused,
    })
}

fn word(status: &RegionStatus) -> &'static str {
    match (status.checked, status.healthy) {
        (None, true) => "unknown",
        (_, true) => "healthy",
        (_, false) => "unhealthy",
    }
}

/// The time this long ago.
fn ago(since: Duration) -> Option<String> {
    rota_client::timestamp(SystemTime::now().checked_sub(since)?)
}
