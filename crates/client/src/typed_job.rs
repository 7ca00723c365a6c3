//! Jobs as Rust types.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;

use crate::{Error, Job, NewJob};

/// A type whose values are jobs. A value is the job's only argument.
///
/// ```
/// use rota_client::{NewJob, TypedJob};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct SendEmail {
///     to: String,
/// }
///
/// impl TypedJob for SendEmail {
///     const KIND: &'static str = "email.send";
/// }
///
/// let job = NewJob::of(&SendEmail { to: "you@example.com".into() })?.queue("email");
/// assert_eq!(
///     serde_json::to_string(&job).unwrap(),
///     r#"{"type":"email.send","args":[{"to":"you@example.com"}],"queue":"email"}"#
/// );
/// # Ok::<(), rota_client::Error>(())
/// ```
pub trait TypedJob: Serialize + DeserializeOwned {
    /// The job type, such as `email.send`.
    const KIND: &'static str;
}

impl NewJob {
    /// A job with this value as its argument.
    pub fn of<T: TypedJob>(value: &T) -> Result<Self, Error> {
        let raw = to_raw_value(value);
        let raw = raw.map_err(|cause| Error::BadJob { reason: cause.to_string() })?;
        Ok(Self::new(T::KIND).args(vec![raw]))
    }
}

impl Job {
    /// The value of a job that was made from one. The error says what does not fit.
    pub fn value<T: TypedJob>(&self) -> Result<T, serde_json::Error> {
        let (value,) = serde_json::from_str::<(T,)>(self.args.get())?;
        Ok(value)
    }
}
