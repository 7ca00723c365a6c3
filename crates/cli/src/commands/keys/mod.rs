//! `rota keys`: API keys.

mod create;
mod rotate;
mod show;

use clap::{Args, Subcommand};
use rota_client::{ApiKey, Client};
use rota_identity::{KeyId, KeyText};
use serde_json::json;

use self::create::Create;
use self::rotate::Rotate;
use self::show::{describe, scopes};
use crate::Failure;
use crate::commands::rate::iso8601;
use crate::output::{List, Table, each, print, print_json, print_line, relative};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota keys create --tenant acme --name orders --role producer
  rota keys                                    all keys, and when they were last used
  rota keys rotate ID                          a successor; the old key works for another day
  rota keys revoke ID                          at once";

const LIST_EXAMPLES: &str = "\
Examples:
  rota keys list --tenant acme
  rota keys list --json | jq -r '.keys[] | select(.last_used_at == null) | .id'";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota keys show k7m2x9qd4wz8npfe
  rota keys show k7m2x9qd4wz8npfe --json";

const DELETE_EXAMPLES: &str = "\
Examples:
  rota keys delete k7m2x9qd4wz8npfe";

const REVOKE_EXAMPLES: &str = "\
Examples:
  rota keys revoke ID                          the next request with this key is refused";

const GENERATE_EXAMPLES: &str = "\
Examples:
  rota keys generate > first-key               for auth.bootstrap_key_file or ROTA_BOOTSTRAP_KEY

This asks no server; the key is worth nothing until a server is started with it.";

const LONGEST_PAGE: u32 = 100;

/// Manage API keys
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Keys {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List keys
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Show a key's record
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "ID", value_parser = key_id)]
        id: String,
    },

    /// Create a key and show it this once
    Create(Create),

    /// Replace a key; the old one works for a while
    Rotate(Rotate),

    /// Revoke keys at once
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke {
        #[arg(value_name = "ID", value_parser = key_id, required = true)]
        ids: Vec<String>,
    },

    /// Delete the records of ended keys
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        #[arg(value_name = "ID", value_parser = key_id, required = true)]
        ids: Vec<String>,
    },

    /// Make the first key of a new server
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate,
}

impl Keys {
    pub async fn run(self) -> Result<(), Failure> {
        let json = self.remote.json;
        let action = self.action.unwrap_or(Action::List);
        if let Action::Generate = action {
            return generate(json);
        }
        let client = self.remote.client()?;
        match action {
            Action::List => list(&client, json).await,
            Action::Show { id } => {
                let key = client.key(&id).await?;
                if json { print_json(&key) } else { print(&describe(&key)) }
            }
            Action::Create(create) => create.run(&client, json).await,
            Action::Rotate(rotate) => rotate.run(&client, json).await,
            Action::Revoke { ids } => {
                let act = async |id: &str| client.revoke_key(id).await;
                each(&ids, "revoked", "keys", json, act).await
            }
            Action::Delete { ids } => {
                let act = async |id: &str| client.delete_key(id).await;
                each(&ids, "deleted", "keys", json, act).await
            }
            Action::Generate => Ok(()),
        }
    }
}

fn generate(as_json: bool) -> Result<(), Failure> {
    let key = rota_server::identity::new_key()
        .map_err(|error| Failure::error(format!("the system gives no random numbers: {error}")))?;
    match as_json {
        true => print_line(&json!({"id": key.id(), "key": key.reveal()}).to_string()),
        false => print_line(key.reveal()),
    }
}

async fn list(client: &Client, as_json: bool) -> Result<(), Failure> {
    let header = ["ID", "NAME", "TENANT", "SCOPES", "STATE", "EXPIRES", "LAST USED"];
    let list = List {
        name: "keys",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).hide_first([5, 2, 6]),
        tenants_in: None,
        if_empty: "no keys; `rota keys create --help` shows how to make one",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.keys(limit, at).await).await
}

fn cells(key: &ApiKey) -> Vec<String> {
    let time = |time: &Option<String>| time.as_deref().map_or_else(|| "-".to_owned(), relative);
    vec![
        key.id.clone(),
        key.name.clone(),
        key.tenant_id.clone().unwrap_or_else(|| "-".to_owned()),
        scopes(key),
        key.state.clone(),
        time(&key.expires_at),
        key.last_used_at.as_deref().map_or_else(|| "never".to_owned(), relative),
    ]
}

/// The id of a key. Of a whole key only the id is used, so that the secret is not sent.
fn key_id(text: &str) -> Result<String, String> {
    let id = KeyText::parse(text).map(|key| key.id()).ok().or_else(|| KeyId::parse(text));
    id.map(|id| id.to_string()).ok_or_else(|| "it is not the id of a key".to_owned())
}

/// A time, or a duration from now, as the server reads it.
fn expiry(text: &str) -> Result<String, String> {
    match iso8601(text) {
        Ok(duration) => Ok(format!("+{duration}")),
        Err(_) if text.contains('T') && text.contains('-') => Ok(text.to_owned()),
        Err(_) => {
            Err("a duration such as 90d or a time such as 2027-01-31T00:00:00Z is expected".into())
        }
    }
}
