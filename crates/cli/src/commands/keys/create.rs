//! `rota keys create`: creates a key.

use clap::Args;
use rota_client::{Client, CreatedKey, NewKey};

use super::expiry;
use super::show::describe;
use crate::Failure;
use crate::commands::named;
use crate::output::{print, print_json, remark};

const EXAMPLES: &str = "\
Examples:
  rota keys create --tenant acme --name orders --role producer --queues mail,sms
  rota keys create --tenant acme --name mailer --role worker --expires 90d
  rota keys create --tenant acme --name support --scopes inspect,cancel
  rota keys create --name deploy --scopes server
                                    an operator's key, for all tenants

The key is shown this once.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Create {
    /// What people call the key
    #[arg(long, value_name = "NAME", value_parser = named)]
    name: String,

    /// What it allows, separated by commas: enqueue, dequeue, cancel, inspect, admin, server
    #[arg(long, value_name = "SCOPES", value_delimiter = ',')]
    scopes: Vec<String>,

    /// A named set of scopes: producer, worker, operator, admin
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// The only queues that it is for, separated by commas
    #[arg(long, value_name = "QUEUES", value_delimiter = ',')]
    queues: Option<Vec<String>>,

    /// The only types of jobs that it may add, separated by commas
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Option<Vec<String>>,

    /// When it ends: a duration from now, or a time
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<String>,
}

impl Create {
    pub async fn run(self, client: &Client, as_json: bool) -> Result<(), Failure> {
        let key = NewKey {
            name: self.name,
            scopes: self.scopes,
            role: self.role,
            queues: self.queues,
            job_types: self.types,
            expires_at: self.expires,
        };
        let created = client.create_key(&key).await?;
        if as_json { print_json(&created) } else { show(&created) }
    }
}

/// Prints the record, and the key by itself at the end.
pub(super) fn show(created: &CreatedKey) -> Result<(), Failure> {
    print(&describe(&created.about))?;
    print(&format!("\n{}\n", created.key))?;
    remark("this is the only time that the key is shown");
    Ok(())
}
