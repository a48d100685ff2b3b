//! A model that a tool loop asks: a sealed request goes in, a reply comes out in pieces.

mod sealed;
mod endpoint;
mod hearing;
mod reading;
mod failure;

use std::{sync::Arc, time::Duration};

use foxwedge_core::{Profile, Wire};
use foxwedge_run::Usage;
use foxwedge_tools::Future;

use crate::{Change, CountedList};

pub use endpoint::{Endpoint, EndpointError};
pub use sealed::{SealError, Sealed};

/// Somebody who can be asked.
pub trait Model: Send + Sync + 'static {
    /// What has to be known to ask it.
    fn about(&self) -> &ModelAbout;

    /// Asks. What comes back has not said anything yet: connecting, waiting out passing trouble and
    /// repairing a refused history are pieces of the reply. Dropping it ends the request.
    fn ask(&self, request: Sealed) -> Box<dyn Speech>;
}

/// What has to be known to ask a model.
#[derive(Clone, Debug)]
pub struct ModelAbout {
    /// Its name, as its provider knows it.
    pub name: Arc<str>,
    /// The format it is asked in, and speaks.
    pub wire: Wire,
    /// Whose rules its histories have to obey.
    pub profile: Profile,
    /// Its window in tokens, if it is known.
    pub window: Option<u64>,
}

/// A reply on its way.
pub trait Speech: Send {
    /// The next piece; `None` behind the last one. May be dropped while it waits, and loses nothing.
    fn next(&mut self) -> Future<'_, Result<Option<Piece>, ModelError>>;

    /// What was said so far, as one message of the assistant in the model's own format, with
    /// everything that its provider wants back: reasoning, signatures, ids. A call that is not whole
    /// is not in it. `None` if nothing was said. Nothing is asked of it afterwards.
    fn message(&mut self) -> Option<String>;
}

/// A piece of a reply.
#[derive(Clone, PartialEq, Debug)]
pub enum Piece {
    /// More text.
    Text(String),
    /// More of what it thinks.
    Thought(String),
    /// A call, whole. Its id and name are those in [`Speech::message`].
    Call(Called),
    /// What it cost so far; later figures replace earlier ones.
    Usage(Usage),
    /// It ended so. What it cost may still follow.
    Stop(StopKind),
    /// Passing trouble is waited out.
    Waiting {
        /// How long.
        pause: Duration,
        /// Why.
        why: String,
    },
    /// The provider refused the history's shape; it was repaired and sent again.
    Mended(CountedList<Change>),
}

/// A call that a model makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// Its id. Where a format has none it is computed, the same in the call and its answer.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them: the text of a JSON object if all is well.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopKind {
    /// It has said what it had to say, or waits for answers.
    Done,
    /// It was not allowed to say more.
    Length,
    /// It would not, or a filter took the answer away.
    Refused,
    /// It wants to be asked again.
    Pause,
}

/// How many tools the provider of a profile takes in one request, where that is known. Of others it
/// is learned when they refuse some.
pub fn most_tools(profile: Profile) -> Option<usize> {
    match profile {
        Profile::OpenaiChat | Profile::OpenaiResponses | Profile::Deepseek | Profile::Strict => {
            Some(128)
        }
        Profile::Anthropic | Profile::Gemini | Profile::Bedrock | Profile::Mistral => None,
    }
}

/// Why a model does not reply, or not to the end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// In a word, such as `upstream_unreachable`, `overflow`, `too_many_tools`, `refused`, `cut`.
    pub code: &'static str,
    /// In words, without secrets.
    pub message: String,
    /// Whether it may go better if the same is asked again later.
    pub passing: bool,
}
