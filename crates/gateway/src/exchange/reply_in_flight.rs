//! A reply on its way to the client, and what it holds until it has ended.

use std::sync::Arc;

use bytes::Bytes;
use foxwedge_agents::AgentHandle;
use foxwedge_core::Format;
use foxwedge_formats::model::{ContentPart, ModelPart, ModelReply, ModelResponse, encode_reply};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{EngineShared, GatewayEngine, lock};
use crate::{
    record::RequestRecording,
    session::{CachedReply, SessionGuard},
    trace::ChatSpan,
};

/// The state of a reply in flight. Dropping it before the reply has ended means that the client has
/// disconnected.
pub(crate) struct ReplyInFlight {
    /// The id of the request.
    pub(super) request: Arc<str>,
    pub(super) owner: Arc<str>,
    /// The body of the request, if later requests may refer to its reply by id.
    pub(super) referable_body: Option<Bytes>,
    pub(crate) recording: RequestRecording,
    /// Dropped after the recording: the next request of the session continues its run.
    pub(crate) session_guard: SessionGuard,
    pub(crate) span: ChatSpan,
    pub(crate) stop_guard: StopGuard,
    /// The agent that replies.
    pub(crate) agent: Option<Arc<AgentHandle>>,
    /// Earlier digests from which the conversation may also continue.
    pub(super) resume_points: Vec<u128>,
}

impl ReplyInFlight {
    /// Notes what a complete reply asks of its client: results for its calls.
    pub(crate) fn note_calls(&mut self, reply: &ModelReply<'_>) {
        let is_call = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::ToolCall(_));
        if reply.parts.iter().any(is_call) {
            self.session_guard.expect_results();
        }
    }

    /// Commits a complete reply; `tip` is the digest of the conversation after it. Returns the
    /// digest by which the conversation is found after a restart: clients may leave out a reply
    /// that only lists open calls again.
    pub(crate) fn commit_reply(
        &mut self,
        tip: u128,
        id: Option<&str>,
        cached: Option<CachedReply>,
    ) -> u128 {
        if let Some(agent) = &self.agent {
            self.resume_points = agent.record_reply(tip);
        }
        self.session_guard.commit_reply(tip, &self.resume_points, id, cached);
        self.resume_points.first().copied().unwrap_or(tip)
    }

    /// Keeps a complete reply for requests that refer to it by id. `response` reads the
    /// response object that the client got; without one, the ids are those of a converted reply.
    /// `creator` is the upstream, if the ids are its own.
    pub(crate) fn remember_reply(
        &self,
        reply: &ModelReply<'_>,
        response: impl FnOnce() -> Option<Value>,
        creator: Option<&Arc<str>>,
    ) {
        let Some(body) = &self.referable_body else { return };
        // Some upstreams repeat no items at the end of a stream.
        let has_items = |it: &Value| it["output"].as_array().is_some_and(|items| !items.is_empty());
        let converted = || {
            let outcome = ModelResponse::Reply(reply.clone());
            let encoded = encode_reply(&outcome, Format::OpenaiResponses, &self.request);
            serde_json::from_str(&encoded.body).unwrap_or_default()
        };
        let response = response().filter(has_items).unwrap_or_else(converted);
        self.stop_guard.engine.response_items.remember(&self.owner, body, &response, creator);
    }

    /// Keeps the upstream that created a response, for requests that retrieve, delete or cancel it.
    pub(crate) fn remember_creator(&self, id: &str, upstream: &Arc<str>) {
        self.stop_guard.engine.response_items.remember_creator(&self.owner, id, upstream);
    }
}

/// A run that can be stopped from outside.
pub(crate) struct StopGuard {
    engine: Arc<EngineShared>,
    run: Arc<str>,
    /// Receives nothing, and fails, if the gateway shuts down.
    pub(crate) stop: oneshot::Receiver<()>,
}

impl StopGuard {
    pub(super) fn new(engine: &Arc<EngineShared>, run: Arc<str>) -> StopGuard {
        let (sender, stop) = oneshot::channel();
        lock(&engine.stop_senders).insert(run.clone(), sender);
        StopGuard { engine: engine.clone(), run, stop }
    }
}

impl GatewayEngine {
    /// Ends the replies in flight: the gateway shuts down.
    pub(crate) fn end_replies(&self) {
        lock(&self.inner.stop_senders).clear();
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        lock(&self.engine.stop_senders).remove(&self.run);
    }
}
