//! Restoring rows by kind: queues, tenants, pools, limits, schedules, workers and counters.

use rota_identity::ApiKey;
use rota_model::audit::AuditHead;
use rota_model::cron::Schedule;
use rota_model::{CronName, PoolName, QueueName, Seq, TenantId, WorkerId};
use serde::de::DeserializeOwned;

use super::Restore;
use crate::ConfigOrigin;
use crate::commands::MAINTENANCE;
use crate::cron::{Cron, CronRow};
use crate::queue::QueueRow;
use crate::scheduler::limits::{LimitSettings, Partition};
use crate::scheduler::{PoolChange, PoolRow, Reconfigured};
use crate::tenant::{TenantRow, TenantState};
use crate::worker::{Worker, WorkerRow};

impl Restore {
    pub(super) fn tenant(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: TenantRow = parse(json)?;
        let id = TenantId::parse(name).map_err(|e| e.to_string())?;
        let engine = &mut self.engine;
        let ix = match engine.tenants.find(&id) {
            Some(ix) => ix,
            None => engine.add_tenant(id, row.created),
        };
        if let Some(throttle) = &row.throttle {
            engine.tenants.throttle_ends.insert((throttle.until, ix));
        }
        for (queue, since) in &row.paused {
            let Some(queue) = engine.queues.find(queue) else { continue };
            engine.queues.get_mut(queue).paused_by.insert(ix);
            if let Some(shard) = engine.scheduler.shard(queue, ix) {
                engine.shards.get_mut(shard).paused = Some(*since);
                engine.scheduler.reconfigured(Reconfigured::Shard(shard, true));
            }
        }
        if row.api.is_some() {
            engine.tenants.note_configured();
        }
        let tenant = engine.tenants.get_mut(ix);
        (tenant.row, tenant.written) = (row, true);
        engine.update_throttle(ix);
        engine.tenant_changed(ix);
        Ok(())
    }

    pub(super) fn api_key(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let key: ApiKey = parse(json)?;
        if key.id.as_str() != name {
            return Err("the record is of another key".into());
        }
        self.engine.keys.restore(key);
        Ok(())
    }

    pub(super) fn pool(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: PoolRow = parse(json)?;
        let name = PoolName::stored(name).map_err(|e| e.to_string())?;
        if let Some(owner) = name.owner() {
            self.engine.ensure_tenant_of_row(&owner, self.engine.now.wall);
        }
        let change = PoolChange { origin: ConfigOrigin::Api, config: Some(row.config) };
        self.engine.scheduler.reconfigured(Reconfigured::Pool(name, change));
        Ok(())
    }

    pub(super) fn limit(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: LimitSettings = parse(json)?;
        let partition = Partition::parse(name).ok_or("it is not the name of a limit")?;
        let engine = &mut self.engine;
        let ix = engine.scheduler.limit(&partition);
        let from_config = &engine.scheduler.limits().limit(ix).settings;
        let declared = row.declared.or(from_config.declared);
        let from_file = row.declared.is_none() && from_config.from_file;
        let feedback = if from_file { from_config.feedback } else { row.feedback };
        let owner = row.owner.or_else(|| partition.owner());
        let row = LimitSettings { declared, feedback, from_file, owner, ..row };
        if let Some(owner) = &row.owner {
            engine.ensure_tenant_of_row(owner, engine.now.wall);
        }
        engine.limit_owners.add(row.owner.as_ref(), ix);
        engine.scheduler.reconfigured(Reconfigured::LimitSettings(ix, row));
        engine.limit_scope_changed(&partition);
        Ok(())
    }

    pub(super) fn tenant_state(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let state: TenantState = parse(json)?;
        // The state of a deleted tenant is ignored.
        if let Some(ix) = self.engine.tenants.find(name) {
            self.tenant_states.push((ix, state));
        }
        Ok(())
    }

    pub(super) fn rotation_state(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        self.rotation_states.push((name.to_owned(), parse(json)?));
        Ok(())
    }

    pub(super) fn dispatch_state(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        self.dispatch_states.push((name.to_owned(), parse(json)?));
        Ok(())
    }

    pub(super) fn limit_state(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let partition = Partition::parse(name).ok_or("it is not the name of a limit")?;
        self.limit_states.push((partition, parse(json)?));
        Ok(())
    }

    pub(super) fn queue(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: QueueRow = parse(json)?;
        let name = QueueName::stored(name).map_err(|e| e.to_string())?;
        let ix = match self.engine.queues.find(&name) {
            Some(ix) => ix,
            None => self.engine.add_queue(name.clone()),
        };
        if let Some(owner) = &row.owner {
            self.engine.ensure_tenant_of_row(owner, row.created);
        }
        self.engine.queues.create(ix, row);
        self.engine.queue_changed(ix);
        self.engine.update_queue_limit(&name);
        Ok(())
    }

    pub(super) fn cron(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: CronRow = parse(json)?;
        let name = CronName::stored(name).map_err(|e| e.to_string())?;
        let schedule =
            Schedule::parse(&row.expression, &row.timezone).map_err(|e| e.to_string())?;
        // Rows of older formats have the state, too.
        let mut cron = Cron::restored(schedule, row, parse(json)?);
        self.engine.count_schedule(&mut cron, json.len() as u64);
        self.engine.crons.insert(name, cron);
        Ok(())
    }

    pub(super) fn cron_state(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let name = CronName::stored(name).map_err(|e| e.to_string())?;
        let mut cron = self.engine.crons.take(&name).ok_or("there is no such schedule")?;
        cron.restore_state(parse(json)?);
        self.engine.crons.insert(name, cron);
        Ok(())
    }

    pub(super) fn cron_run(&mut self, seq: &str, json: &[u8]) -> Result<(), String> {
        let seq = Seq(seq.parse().map_err(|_| "its name is no job's number".to_owned())?);
        let cron: String = parse(json)?;
        let cron = CronName::stored(&cron).map_err(|e| e.to_string())?;
        match self.engine.crons.add_run(&cron, seq) {
            true => Ok(()),
            false => Err(format!("there is no schedule '{cron}'")),
        }
    }

    pub(super) fn worker(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: WorkerRow = parse(json)?;
        let id = WorkerId::stored(name).map_err(|e| e.to_string())?;
        let now = self.engine.now;
        let check_at = now.mono.saturating_add(self.engine.config.heartbeat_timeout_ms);
        self.engine.workers.insert(id.clone(), Worker::new(row, now.wall, now.mono), check_at);
        self.engine.workers.count_bytes(&id, json.len());
        Ok(())
    }

    pub(super) fn setting(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        match name {
            MAINTENANCE => self.engine.maintenance = parse(json)?,
            AuditHead::ROW => self.engine.audit_log.restore(parse(json)?)?,
            _ => {}
        }
        Ok(())
    }
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|e| e.to_string())
}
