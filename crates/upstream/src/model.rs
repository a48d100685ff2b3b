//! The model of a tool loop: takes a valid request, returns a stream of reply deltas.

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

/// A model that takes chat requests.
pub trait ChatModel: Send + Sync + 'static {
    /// The description of the model.
    fn about(&self) -> &ModelDescription;

    /// Sends a request. Returns at once: connecting, retrying transient errors and repairing a
    /// refused history happen while the stream is read. Dropping the stream cancels the request.
    fn send(&self, request: ValidRequest) -> Box<dyn ReplyStream>;
}

/// What is needed to compose requests for a model.
#[derive(Clone, Debug)]
pub struct ModelDescription {
    /// Its name, as its provider knows it.
    pub name: Arc<str>,
    /// The format of its requests and replies.
    pub wire: Format,
    /// The rules that its histories have to obey.
    pub profile: Profile,
    /// Its context window in tokens, if known.
    pub window: Option<u64>,
}

/// A reply in progress.
pub trait ReplyStream: Send {
    /// The next delta; `None` after the last one. Cancel safe.
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>>;

    /// The reply so far, as one assistant message in the model's own format, with everything that
    /// the provider wants back: reasoning, signatures, ids. Incomplete calls are left out. `None`
    /// if there is no content. The stream must not be read afterwards.
    fn take_message(&mut self) -> Option<String>;
}

/// A delta of a reply.
#[derive(Clone, PartialEq, Debug)]
pub enum ReplyDelta {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// A complete call. Its id and name are those in [`ReplyStream::take_message`].
    Call(ReplyToolCall),
    /// Token usage so far; later figures replace earlier ones.
    Usage(RunUsage),
    /// The stop reason. Usage may still follow.
    Stop(ReplyStopReason),
    /// The request is retried after a transient error.
    Retrying {
        /// The pause before the next attempt.
        pause: Duration,
        /// The error.
        why: String,
    },
    /// The provider refused the history as invalid; it was repaired and sent again.
    Repaired(CountedList<RepairChange>),
}

/// A tool call of a reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplyToolCall {
    /// Its id. Where a format has none it is computed, the same in the call and its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: usually the text of a JSON object.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyStopReason {
    /// It is done, or waits for tool results.
    Done,
    /// The token limit cut it off.
    Length,
    /// It refused, or a filter removed the reply.
    Refused,
    /// It wants to continue in another request.
    Pause,
}

/// How many tools the provider of a profile takes in one request, if known. For other providers the
/// limit is learned from a refusal.
pub fn max_tools(profile: Profile) -> Option<usize> {
    match profile {
        Profile::OpenaiChat | Profile::OpenaiResponses | Profile::Deepseek | Profile::Strict => {
            Some(128)
        }
        Profile::Anthropic
        | Profile::Gemini
        | Profile::Bedrock
        | Profile::GeminiInteractions
        | Profile::Mistral => None,
    }
}

/// Why a reply failed or broke off.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// Error code, such as `upstream_unreachable`, `overflow`, `too_many_tools`, `refused`, `cut`.
    pub code: &'static str,
    /// Message for users, without secrets.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}
