//! What operators may do: everything.

use rota_engine::{Command, Engine, Reply};
use rota_model::JobId;

use crate::runtime::{Handle, Unavailable};

/// The whole engine, for an operator.
#[derive(Clone, Copy)]
pub(in crate::http) struct Operator<'a> {
    handle: &'a Handle,
}

impl<'a> Operator<'a> {
    pub(super) fn new(handle: &'a Handle) -> Self {
        Self { handle }
    }

    pub async fn command(self, command: Command<JobId>) -> Result<Reply, Unavailable> {
        self.handle.command(command).await
    }

    /// Runs a function that reads the engine's state.
    pub async fn look<T: Send + 'static>(
        self,
        look: impl FnOnce(&Engine) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.handle.look(look).await
    }
}
