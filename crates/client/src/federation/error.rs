//! Why a federated call failed.

use rota_federation::{NoRoute, RegistryError, WishError};

use crate::Error;

/// Why a federated call failed.
#[derive(Debug, thiserror::Error)]
pub enum FederationError {
    /// The job says something about regions that cannot be understood.
    #[error(transparent)]
    Wish(#[from] WishError),

    /// No region could be chosen.
    #[error(transparent)]
    NoRoute(#[from] NoRoute),

    /// The regions that could have taken the job did not. The job is in none of them.
    #[error("{route}; the last answer, from region '{region}': {error}")]
    NotTaken {
        /// Why no further region was tried.
        route: NoRoute,
        /// The region that was tried last.
        region: String,
        /// What became of it.
        error: Error,
    },

    /// A region answered with an error.
    #[error("region '{region}': {error}")]
    Region {
        /// The region.
        region: String,
        /// Its answer.
        error: Error,
    },

    /// Nothing is sent to the region, because it has not answered for a while.
    #[error("region '{region}' is temporarily unavailable: its circuit breaker is open")]
    CircuitOpen {
        /// The region.
        region: String,
    },

    /// A region was sent the job, did not answer, and cannot be asked whether it has it.
    #[error(
        "it is unknown whether region '{region}' has job '{id}': it was sent there, no answer came \
         ({error}), and the region cannot be asked now"
    )]
    Ambiguous {
        /// The region.
        region: String,
        /// The job's id, with which it can be asked later, or sent again safely to the same region.
        id: String,
        /// What became of the last request.
        error: Error,
    },

    /// The job itself cannot be sent.
    #[error(transparent)]
    Job(Error),

    /// The jobs of a batch want different regions.
    #[error("the jobs of the batch want different regions, and a batch goes to one")]
    MixedBatch,

    /// Some regions could not be asked, so nobody knows whether one of them has the job.
    #[error("job '{id}' was not found, but these regions could not be asked: {regions}")]
    Unknown {
        /// The job's id.
        id: String,
        /// The regions.
        regions: String,
    },
}

impl FederationError {
    /// What to do about it, in one sentence.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Wish(_) => Some("See meta.ojs.federation.* in docs/federation.md.".to_owned()),
            Self::NoRoute(route) | Self::NotTaken { route, .. } => {
                Some(match route.is_transient() {
                    true => "Try again later, or look at the regions.".to_owned(),
                    false => "Correct the region or the tags that the job asks for.".to_owned(),
                })
            }
            Self::Region { error, .. } | Self::Job(error) => error.hint(),
            Self::Ambiguous { .. } => Some(
                "Send the same job with the same id again, or look for it when the region is back."
                    .to_owned(),
            ),
            Self::MixedBatch => Some("Send one batch for each region.".to_owned()),
            Self::CircuitOpen { .. } => Some("Try again later, or look at the regions.".to_owned()),
            Self::Unknown { .. } => Some("Try again when these regions are back.".to_owned()),
        }
    }
}

/// Why settings do not describe a federation.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {cause}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's message.
        cause: std::io::Error,
    },
    /// The text is not what was expected.
    #[error("{origin} is not a description of regions: {reason}")]
    Malformed {
        /// The file or the address it is from.
        origin: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// A setting has a value that cannot be used.
    #[error("{setting} {problem}")]
    Invalid {
        /// The setting.
        setting: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The regions do not make a federation.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A region's credentials or address cannot be used.
    #[error("region '{region}': {error}")]
    Region {
        /// The region.
        region: String,
        /// What is wrong.
        error: Error,
    },
}
