//! Maintenance mode: jobs are accepted, but none are started and no timers or schedules fire.

use rota_model::mutation::RowKind;

use crate::command::later;
use crate::inspect::Maintenance;
use crate::{Engine, Reply};

pub(crate) const MAINTENANCE: &str = "maintenance";

impl Engine {
    pub(crate) fn maintain(
        &mut self,
        enabled: bool,
        reason: Option<String>,
        expected_ms: Option<u64>,
    ) -> Reply {
        let now = self.wall();
        self.maintenance = Maintenance {
            since: enabled.then(|| self.maintenance.since.unwrap_or(now)),
            reason: reason.filter(|_| enabled),
            expected_end: expected_ms.filter(|_| enabled).map(|ms| later(now, ms)),
        };
        let row = self.maintenance.clone();
        self.put(RowKind::Setting, MAINTENANCE, &row);
        if !enabled {
            self.wake_all();
        }
        Reply::Maintenance(self.maintenance.clone())
    }
}
