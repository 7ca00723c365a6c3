//! Checking that the bytes of each tenant's jobs are counted as their rows say.

use super::damage::{Damages, Rule};
use crate::internal_error::InternalError;
use crate::{Snapshot, stored_bytes};

pub(super) fn check(snapshot: &Snapshot, damages: &mut Damages) -> Result<(), InternalError> {
    let conn = snapshot.conn();
    // The next start of a server counts them.
    if !stored_bytes::exists(conn)? {
        return Ok(());
    }
    let (counted, mut actual) = (stored_bytes::counted(conn)?, stored_bytes::recounted(conn)?);
    for (tenant, counted) in counted {
        let actual = actual.remove(&tenant).unwrap_or(0);
        if counted != actual {
            damages.found(Rule::StoredBytes, example(&tenant, counted, actual));
        }
    }
    for (tenant, actual) in actual {
        damages.found(Rule::StoredBytes, example(&tenant, 0, actual));
    }
    Ok(())
}

fn example(tenant: &str, counted: i64, actual: i64) -> String {
    format!("'{tenant}' has {actual}, not {counted}")
}
