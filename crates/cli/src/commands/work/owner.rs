//! Determines the tenant that a job belongs to.

use std::time::Duration;

use rota_client::{Client, Job};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Looks up the tenant that a command acts for.
pub(super) struct Owner {
    pub client: Client,
    /// The tenant that the worker serves, if it serves only one.
    pub tenant: Option<String>,
}

impl Owner {
    /// The job's tenant, or `None` for the default tenant.
    ///
    /// The job's own body is reliable only if the server uses it: if the tenant comes from a header,
    /// anyone can write another one into the body. So this asks the server whether that tenant has
    /// such a job. Until the server responds, the command must wait.
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
