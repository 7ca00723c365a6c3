//! `rota keys rotate`: replaces a key.

use clap::Args;
use rota_client::{Client, Rotation};

use super::create::show;
use super::{expiry, key_id};
use crate::Failure;
use crate::commands::rate::iso8601;
use crate::output::print_json;

const EXAMPLES: &str = "\
Examples:
  rota keys rotate ID                          the old key works for another day
  rota keys rotate ID --overlap 1h
  rota keys rotate ID --overlap 0s             the old key ends at once

The new key is shown this once.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Rotate {
    #[arg(value_name = "ID", value_parser = key_id)]
    id: String,

    /// How long the old key still works; default: the server's auth.rotation_overlap
    #[arg(long, value_name = "DURATION", value_parser = overlap)]
    overlap: Option<String>,

    /// When the new key ends; default: it lasts as long as the old one was to last
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<String>,
}

impl Rotate {
    pub async fn run(self, client: &Client, as_json: bool) -> Result<(), Failure> {
        let rotation = Rotation { overlap: self.overlap, expires_at: self.expires };
        let rotated = client.rotate_key(&self.id, &rotation).await?;
        if as_json { print_json(&rotated) } else { show(&rotated) }
    }
}

fn overlap(text: &str) -> Result<String, String> {
    match text {
        "0" | "0s" => Ok("0".to_owned()),
        text => iso8601(text),
    }
}
