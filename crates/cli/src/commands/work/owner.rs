//! Whose job it is.

use std::time::Duration;

use rota_client::{Client, Job};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Tells for which tenant a command acts.
pub(super) struct Owner {
    pub client: Client,
    /// The tenant that the worker serves, if it serves one only.
    pub tenant: Option<String>,
}

impl Owner {
    /// The job's tenant, or none if it is that of jobs without one.
    ///
    /// What a job says itself is true only if the server goes by it: where the tenant comes from a
    /// header, anybody can write another one into the body. So the server is asked whether that
    /// tenant has such a job. While it does not answer, nobody knows, and the command must wait.
    pub async fn of(&self, job: &Job) -> Option<String> {
        if self.tenant.is_some() {
            return self.tenant.clone();
        }
        let said = job.tenant()?;
        let as_tenant = self.client.clone().with_tenant(&said).ok()?;
        let mut pause = FIRST_PAUSE;
        loop {
            match as_tenant.job(&job.id).await {
                Ok(_) => return Some(said),
                Err(error) if error.is_transient() => tokio::time::sleep(pause).await,
                Err(_) => return None,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
