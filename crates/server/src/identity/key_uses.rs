//! Writes the last uses of API keys, many in one commit.

use std::time::Duration;

use rota_engine::Command;

use super::KeyTable;
use crate::runtime::Handle;

/// Uses are written this often, so that what is stored is accurate to a minute.
pub(crate) const FLUSH_INTERVAL: Duration = Duration::from_secs(20);

/// The most keys in one command.
const BATCH: usize = 500;

/// Writes the uses since the last call.
pub(crate) async fn flush(table: &KeyTable, handle: &Handle) {
    for uses in table.take_uses().chunks(BATCH) {
        if handle.command(Command::TouchKeys(uses.to_vec())).await.is_err() {
            table.return_uses(uses);
        }
    }
}
