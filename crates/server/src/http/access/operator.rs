//! What operators may do: everything.

use rota_engine::{Command, Engine, Reply};
use rota_model::JobId;

use super::Access;
use crate::runtime::{Answer, CallerScope, Source, Unavailable};

/// The whole engine, for an operator.
#[derive(Clone, Copy)]
pub(in crate::http) struct Operator<'a> {
    access: &'a Access,
}

impl<'a> Operator<'a> {
    pub(super) fn new(access: &'a Access) -> Self {
        Self { access }
    }

    pub async fn command(self, command: Command<JobId>) -> Result<Reply, Unavailable> {
        let ask = self.access.ask(command);
        match self.access.app.handle.ask_as(CallerScope::default(), ask).await {
            Answer::Reply(reply) => Ok(reply),
            Answer::Unavailable(why) => Err(why),
            Answer::Fetched(_) | Answer::Explained(_) => {
                unreachable!("a command is answered with a reply")
            }
        }
    }

    /// Runs a function that reads the engine's state.
    pub async fn look<T: Send + 'static>(
        self,
        look: impl FnOnce(&Engine) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.access.app.handle.look_for(Source::Operators, look).await
    }
}
