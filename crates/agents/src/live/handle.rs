//! The handle of a live agent: what it waits for, and how to send it commands.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use foxwedge_formats::model::IdentifierReplacement;
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{AgentPresence, BodyChunk};
use crate::{
    BridgeNote, BridgePhase, ClientToolResult, PermissionDecision, PermissionKind,
    PermissionRequest, RequestCheck, RequestTail,
};

/// A live agent. It is in the pool as long as it accepts requests.
#[derive(Debug)]
pub struct AgentHandle {
    /// Its session.
    pub session: Arc<str>,
    /// The owner.
    pub(super) owner: Arc<str>,
    /// The upstream it belongs to.
    pub(super) upstream: Arc<str>,
    /// Hash of the tools and instructions.
    pub setup: u128,
    /// Tools whose names differ for the agent.
    pub names: Vec<IdentifierReplacement>,
    pub(super) commands: mpsc::Sender<LiveAgentCommand>,
    /// Whether it accepts no more requests.
    leaving: AtomicBool,
    /// Whether its process has ended and its files are removed.
    exited: watch::Sender<bool>,
    pub(super) status: Mutex<AgentStatus>,
}

/// The state of an agent that others see.
#[derive(Debug)]
pub(super) struct AgentStatus {
    pub(super) phase: BridgePhase,
    /// Start of the phase.
    pub(super) since: Instant,
    /// Ids of calls without a tool result.
    pub(super) open_calls: Vec<String>,
    /// Open questions.
    pub(super) questions: Vec<PermissionRequest>,
    /// Digest of the conversation after each reply since the agent's last input. A client that
    /// continues after one of these replies continues with this agent.
    pub(super) reply_digests: Vec<u128>,
    /// Results received while others are missing: call id and digest of the content.
    pub(super) results: Vec<(String, u64)>,
    /// The agent continued without its client: the next reply replaces the earlier ones.
    pub(super) undelivered: bool,
    /// The current run.
    pub(super) run: Option<Arc<str>>,
}

/// A command for an agent.
#[derive(Debug)]
pub(super) enum LiveAgentCommand {
    /// Predicts the outcome of a request. Changes nothing.
    Check { tail: RequestTail, done: oneshot::Sender<(RequestCheck, RequestTail)> },
    /// A client sends a request.
    Request(Box<AgentRequest>),
    /// A user decides a question. Reports whether the question was open.
    Decide { ticket: String, decision: PermissionDecision, done: oneshot::Sender<bool> },
    /// Ends the agent.
    End,
}

/// A request of a client.
#[derive(Debug)]
pub struct AgentRequest {
    /// The new messages.
    pub tail: RequestTail,
    /// Receives the reply. Its receiver is dropped when the client disconnects.
    pub chunks: mpsc::Sender<BodyChunk>,
    /// The run it belongs to.
    pub run: Arc<str>,
    /// Receives the notes that are not part of the reply.
    pub notes: Option<NoteRecorder>,
}

/// Records what an agent does beside its reply: its own tools, and questions to people.
pub struct NoteRecorder(Box<dyn FnMut(BridgeNote) + Send>);

impl NoteRecorder {
    /// Passes every note to `record`, on the task of the agent, before the reply goes on.
    pub fn new(record: impl FnMut(BridgeNote) + Send + 'static) -> NoteRecorder {
        NoteRecorder(Box::new(record))
    }

    pub(super) fn record(&mut self, note: BridgeNote) {
        (self.0)(note);
    }
}

impl fmt::Debug for NoteRecorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("NoteRecorder")
    }
}

/// A question that waits for a user.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentQuestion {
    /// The ticket that identifies it.
    pub ticket: String,
    /// A permission request, or multiple-choice questions.
    pub kind: PermissionKind,
    /// The agent's name for the tool.
    pub tool: String,
    /// The id of its call, if known.
    pub call: Option<String>,
    /// The arguments of the tool.
    pub input: Value,
}

impl AgentHandle {
    pub(super) fn new(
        session: Arc<str>,
        owner: Arc<str>,
        upstream: Arc<str>,
        setup: u128,
        names: Vec<IdentifierReplacement>,
        commands: mpsc::Sender<LiveAgentCommand>,
    ) -> AgentHandle {
        let status = AgentStatus {
            phase: BridgePhase::Replying,
            since: Instant::now(),
            open_calls: Vec::new(),
            questions: Vec::new(),
            reply_digests: Vec::new(),
            results: Vec::new(),
            undelivered: false,
            run: None,
        };
        let (leaving, status) = (AtomicBool::new(false), Mutex::new(status));
        let exited = watch::Sender::new(false);
        AgentHandle { session, owner, upstream, setup, names, commands, leaving, exited, status }
    }

    /// Number of messages of a conversation that the agent has seen. `None` if the conversation
    /// contains none of its replies.
    pub fn known_messages(&self, chain: &[u128]) -> Option<usize> {
        let status = self.status();
        chain.iter().rposition(|value| status.reply_digests.contains(value)).map(|last| last + 1)
    }

    /// Whether a conversation can belong to this agent. Conversations with the same beginning and
    /// the same call ids differ in their tool results: it must continue after the newest reply, or
    /// repeat all results received so far.
    pub fn owns_conversation(&self, chain: &[u128], tail: &RequestTail) -> bool {
        let status = self.status();
        if status.reply_digests.last().is_some_and(|newest| chain.contains(newest)) {
            return true;
        }
        status.results.iter().all(|(call, digest)| {
            let answer = tail.answers.iter().find(|answer| answer.call == *call);
            answer.is_some_and(|answer| result_digest(answer) == *digest)
        })
    }

    /// Number of results received while others are missing.
    pub fn result_count(&self) -> usize {
        self.status().results.len()
    }

    /// Whether it waits for a result of one of these calls.
    pub(super) fn awaits_any<'a>(&self, answers: impl IntoIterator<Item = &'a str>) -> bool {
        let status = self.status();
        answers.into_iter().any(|answer| status.open_calls.iter().any(|open| open == answer))
    }

    /// Whether it has open calls.
    pub fn has_open_calls(&self) -> bool {
        !self.status().open_calls.is_empty()
    }

    /// Whether it has output that its client has not received.
    pub fn has_undelivered_reply(&self) -> bool {
        self.status().undelivered
    }

    /// Records a complete reply; `tip` is the digest of the conversation after it. Returns the
    /// digests after earlier replies from which a client may still continue, because the agent has
    /// had no input since.
    pub fn record_reply(&self, tip: u128) -> Vec<u128> {
        let mut status = self.status();
        if std::mem::take(&mut status.undelivered) {
            status.reply_digests.clear();
        }
        let before = status.reply_digests.clone();
        status.reply_digests.push(tip);
        before
    }

    /// Records that the agent gets new input. The client then continues after the reply to it.
    pub(super) fn record_input(&self) {
        let mut status = self.status();
        status.results.clear();
        if !status.undelivered {
            status.reply_digests.clear();
        }
    }

    /// Predicts the outcome of a request with this tail, and returns the tail; `None` if the agent
    /// has exited.
    pub async fn check(&self, tail: RequestTail) -> Option<(RequestCheck, RequestTail)> {
        let (done, checked) = oneshot::channel();
        let response = async {
            let _ = self.commands.send(LiveAgentCommand::Check { tail, done }).await;
            checked.await.ok()
        };
        self.unless_exited(response).await
    }

    /// Sends a request and returns the first chunk of the reply; `None` if the agent has exited.
    pub async fn send_request(
        &self,
        request: AgentRequest,
        replies: &mut mpsc::Receiver<BodyChunk>,
    ) -> Option<BodyChunk> {
        self.record_results(&request.tail.answers);
        let response = async {
            let _ = self.commands.send(LiveAgentCommand::Request(Box::new(request))).await;
            replies.recv().await
        };
        if let Some(chunk) = self.unless_exited(response).await {
            return Some(chunk);
        }
        replies.try_recv().ok()
    }

    /// Records which results of open calls the client has sent.
    fn record_results(&self, answers: &[ClientToolResult]) {
        let mut status = self.status();
        for answer in answers {
            let open = status.open_calls.contains(&answer.call);
            if open && status.results.iter().all(|(call, _)| *call != answer.call) {
                status.results.push((answer.call.clone(), result_digest(answer)));
            }
        }
    }

    /// The next chunk of a reply; `None` if the agent has exited.
    pub async fn next_chunk(&self, replies: &mut mpsc::Receiver<BodyChunk>) -> Option<BodyChunk> {
        if let Some(chunk) = self.unless_exited(replies.recv()).await {
            return Some(chunk);
        }
        replies.try_recv().ok()
    }

    /// Passes on a user's decision. Returns whether the question was open.
    pub(super) async fn decide(&self, ticket: String, decision: PermissionDecision) -> bool {
        let (done, decided) = oneshot::channel();
        let response = async {
            let _ = self.commands.send(LiveAgentCommand::Decide { ticket, decision, done }).await;
            decided.await.ok()
        };
        self.unless_exited(response).await.unwrap_or(false)
    }

    /// Waits for work of the agent's task, but not longer than that task lives. Channels do not
    /// report their end reliably: a message sent while the receiver is dropped stays in the channel
    /// as long as a sender exists, and this handle has one.
    async fn unless_exited<T>(&self, work: impl Future<Output = Option<T>>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.wait_for_exit() => None,
        }
    }

    /// Whether it accepts no more requests.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Marks it as not accepting requests.
    pub(super) fn mark_leaving(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Records that its process has ended and its files are removed.
    pub(super) fn mark_exited(&self) {
        self.exited.send_replace(true);
    }

    /// A handle to check later whether its process is running.
    pub fn presence(&self) -> AgentPresence {
        AgentPresence::new(self.exited.subscribe())
    }

    /// Waits until its process has ended.
    pub(super) async fn wait_for_exit(&self) {
        // Cannot fail: this handle holds the sender.
        let _ = self.exited.subscribe().wait_for(|exited| *exited).await;
    }

    /// Ends the agent.
    pub(super) fn stop(&self) {
        self.mark_leaving();
        // If the queue is full, the task sees the mark above.
        let _ = self.commands.try_send(LiveAgentCommand::End);
    }

    /// Questions that wait for a user.
    pub(super) fn questions(&self) -> Vec<AgentQuestion> {
        let status = self.status();
        let questions = status.questions.iter().cloned().map(|question| AgentQuestion {
            ticket: question.ticket,
            kind: question.kind,
            tool: question.tool,
            call: question.call,
            input: question.input,
        });
        questions.collect()
    }

    pub(super) fn status(&self) -> MutexGuard<'_, AgentStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A digest of a result.
fn result_digest(answer: &ClientToolResult) -> u64 {
    let content: String = answer.content.iter().map(Value::to_string).collect();
    xxh3_64_with_seed(content.as_bytes(), u64::from(answer.error))
}
