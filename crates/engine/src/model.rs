//! A model that a tool loop asks: a sealed request goes in, a reply comes out in pieces.

mod valid_request;
mod endpoint;
mod endpoint_stream;
mod reply_reader;
mod failure;

use std::{sync::Arc, time::Duration};

use foxwedge_core::{Format, Profile};
use foxwedge_run::RunUsage;
use foxwedge_tools::ToolFuture;

use crate::{CountedList, RepairChange};

pub use endpoint::{ModelEndpoint, ModelEndpointError};
pub use valid_request::{InvalidRequestError, ValidRequest};

/// Somebody who can be asked.
pub trait ChatModel: Send + Sync + 'static {
    /// What has to be known to ask it.
    fn about(&self) -> &ModelDescription;

    /// Asks. What comes back has not said anything yet: connecting, waiting out passing trouble and
    /// repairing a refused history are pieces of the reply. Dropping it ends the request.
    fn send(&self, request: ValidRequest) -> Box<dyn ReplyStream>;
}

/// What has to be known to ask a model.
#[derive(Clone, Debug)]
pub struct ModelDescription {
    /// Its name, as its provider knows it.
    pub name: Arc<str>,
    /// The format it is asked in, and speaks.
    pub wire: Format,
    /// Whose rules its histories have to obey.
    pub profile: Profile,
    /// Its window in tokens, if it is known.
    pub window: Option<u64>,
}

/// A reply on its way.
pub trait ReplyStream: Send {
    /// The next piece; `None` behind the last one. May be dropped while it waits, and loses nothing.
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>>;

    /// What was said so far, as one message of the assistant in the model's own format, with
    /// everything that its provider wants back: reasoning, signatures, ids. A call that is not whole
    /// is not in it. `None` if nothing was said. Nothing is asked of it afterwards.
    fn take_message(&mut self) -> Option<String>;
}

/// A piece of a reply.
#[derive(Clone, PartialEq, Debug)]
pub enum ReplyDelta {
    /// More text.
    Text(String),
    /// More of what it thinks.
    Reasoning(String),
    /// A call, whole. Its id and name are those in [`Speech::message`].
    Call(ReplyToolCall),
    /// What it cost so far; later figures replace earlier ones.
    Usage(RunUsage),
    /// It ended so. What it cost may still follow.
    Stop(ReplyStopReason),
    /// Passing trouble is waited out.
    Retrying {
        /// How long.
        pause: Duration,
        /// Why.
        why: String,
    },
    /// The provider refused the history's shape; it was repaired and sent again.
    Repaired(CountedList<RepairChange>),
}

/// A call that a model makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplyToolCall {
    /// Its id. Where a format has none it is computed, the same in the call and its answer.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them: the text of a JSON object if all is well.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyStopReason {
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
pub fn max_tools(profile: Profile) -> Option<usize> {
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
    pub retryable: bool,
}
