//! What happens between regions, in the log.

use rota_client::federation::Event;

/// Writes an event to the log.
pub(crate) fn log(event: &Event) {
    match event {
        Event::Failover { federation_id, from_region, to_region, reason } => tracing::warn!(
            event = "ojs.federation.failover",
            federation_id,
            from_region,
            to_region,
            reason,
            "a job goes to another region"
        ),
        Event::CircuitChanged { region, circuit } => {
            tracing::warn!(region, circuit = circuit.as_str(), "a circuit breaker has changed");
        }
        Event::HealthChanged { region, healthy: true, .. } => {
            tracing::info!(region, "a region is healthy");
        }
        Event::HealthChanged { region, healthy: false, reason } => {
            let reason = reason.as_deref().unwrap_or_default();
            tracing::warn!(region, reason, "a region is not healthy");
        }
        Event::Duplicate { federation_id, first_region, second_region, cancelled_in } => {
            let cancelled_in = cancelled_in.as_deref().unwrap_or("none: both had started");
            tracing::warn!(
                federation_id,
                first_region,
                second_region,
                cancelled_in,
                "a job was in two regions"
            );
        }
        Event::NoDuplicate { federation_id, region } => {
            tracing::info!(federation_id, region, "a job that was sent twice is in one region");
        }
        Event::DoubtForgotten { federation_id, first_region, second_region } => tracing::warn!(
            federation_id,
            first_region,
            second_region,
            "a job may be in two regions and is no longer looked for"
        ),
        Event::RegistryNotRenewed { reason } => {
            tracing::error!(reason, "the regions could not be renewed and stay as they were");
        }
    }
}
