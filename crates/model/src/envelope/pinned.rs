//! Jobs that must run in another region.

use serde_json::value::RawValue;

use super::string;
use crate::{Rejection, json};

const MEMBER: &str = "ojs.federation.region";
const FIELD: &str = "meta.ojs.federation.region";

/// Refuses a job that must run in another region than this server's, so that data stays where it has to.
pub(super) fn check(meta: Option<&RawValue>, region: Option<&str>) -> Result<(), Rejection> {
    let (Some(region), Some(meta)) = (region, meta) else { return Ok(()) };
    // Hardly any job is pinned, or has escaped keys.
    if !meta.get().contains(MEMBER) && !meta.get().contains('\\') {
        return Ok(());
    }
    for (key, value) in json::members(meta.get(), "'meta'")? {
        if key == MEMBER {
            let pinned = string(value, FIELD)?;
            if pinned != region {
                let problem = format!("is '{pinned}', but this server is in region '{region}'");
                return Err(Rejection::value(FIELD, problem)
                    .hint("Send the job to its region: it must not run anywhere else."));
            }
        }
    }
    Ok(())
}
