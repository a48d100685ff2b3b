//! The handle of a live agent: what it waits for, and how to send it commands.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use foxwedge_agent::{
    BridgePhase, ClientToolResult, PermissionDecision, PermissionKind, PermissionRequest,
    RequestCheck, RequestTail,
};
use foxwedge_formats::model::IdentifierReplacement;
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::agent::BodyChunk;
use crate::record::SideChannel;

/// A live agent. It is in the pool for as long as anybody may ask it.
#[derive(Debug)]
pub(crate) struct AgentHandle {
    /// Its session.
    pub(crate) session: Arc<str>,
    /// The owner.
    pub(super) owner: Arc<str>,
    /// The upstream it belongs to.
    pub(super) upstream: Arc<str>,
    /// The same for the same tools and instructions.
    pub(crate) setup: u128,
    /// Tools that it knows under another name.
    pub(crate) names: Vec<IdentifierReplacement>,
    pub(super) commands: mpsc::Sender<LiveAgentCommand>,
    /// Nobody finds it any more.
    leaving: AtomicBool,
    /// Its process is gone, and so is everything around it.
    exited: watch::Sender<bool>,
    pub(super) status: Mutex<AgentStatus>,
}

/// What can be seen of an agent.
#[derive(Debug)]
pub(super) struct AgentStatus {
    pub(super) phase: BridgePhase,
    /// Since when.
    pub(super) since: Instant,
    /// Ids of calls without a tool result.
    pub(super) open_calls: Vec<String>,
    /// Open questions.
    pub(super) questions: Vec<PermissionRequest>,
    /// What the conversation looks like behind each reply since it was told something: a client
    /// that goes on behind one of them goes on with it.
    pub(super) reply_digests: Vec<u128>,
    /// Answers that it keeps until none is missing: calls, and the same for the same words.
    pub(super) results: Vec<(String, u64)>,
    /// The agent went on without its client: the next reply takes the place of those before it.
    pub(super) undelivered: bool,
    /// The current run.
    pub(super) run: Option<Arc<str>>,
}

/// A command for an agent.
#[derive(Debug)]
pub(super) enum LiveAgentCommand {
    /// What would become of a request? Nothing changes.
    Check { tail: RequestTail, done: oneshot::Sender<(RequestCheck, RequestTail)> },
    /// A client asks.
    Request(Box<AgentRequest>),
    /// A person decides. Whether there was such a question is told back.
    Decide { ticket: String, decision: PermissionDecision, done: oneshot::Sender<bool> },
    /// Nobody needs it any more.
    End,
}

/// A request of a client.
#[derive(Debug)]
pub(crate) struct AgentRequest {
    /// What is new.
    pub(crate) tail: RequestTail,
    /// Where the reply goes. Dropped on the other side: the client is gone.
    pub(crate) chunks: mpsc::Sender<BodyChunk>,
    /// The run it belongs to.
    pub(crate) run: Arc<str>,
    /// What is told beside the reply goes there.
    pub(crate) side: Option<SideChannel>,
}

/// Whether an agent is there.
#[derive(Clone, Debug)]
pub(crate) struct AgentPresence(watch::Receiver<bool>);

impl AgentPresence {
    pub(crate) fn is_alive(&self) -> bool {
        !*self.0.borrow()
    }

    /// One that changes when the other side says so.
    #[cfg(test)]
    pub(crate) fn pair() -> (watch::Sender<bool>, AgentPresence) {
        let (gone, looks) = watch::channel(false);
        (gone, AgentPresence(looks))
    }
}

/// A question that waits for a user.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentQuestion {
    /// Names it.
    pub ticket: String,
    /// Whether a tool may run, or questions with answers to choose from.
    pub kind: PermissionKind,
    /// The agent's name for the tool.
    pub tool: String,
    /// The id of the call it is about.
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
        let shown = AgentStatus {
            phase: BridgePhase::Replying,
            since: Instant::now(),
            open_calls: Vec::new(),
            questions: Vec::new(),
            reply_digests: Vec::new(),
            results: Vec::new(),
            undelivered: false,
            run: None,
        };
        let (leaving, shown) = (AtomicBool::new(false), Mutex::new(shown));
        let gone = watch::Sender::new(false);
        AgentHandle {
            session,
            owner,
            upstream,
            setup,
            names,
            commands,
            leaving,
            exited: gone,
            status: shown,
        }
    }

    /// Which messages of a conversation it has seen: all before this one. `None` if it goes on
    /// behind none of its replies.
    pub(crate) fn known_messages(&self, chain: &[u128]) -> Option<usize> {
        let shown = self.status();
        chain.iter().rposition(|value| shown.reply_digests.contains(value)).map(|last| last + 1)
    }

    /// Whether a conversation can be its own: two that begin alike, with calls of the same ids, are
    /// told apart by what each answered. It is behind the newest reply, or says everything again that
    /// was answered before.
    pub(crate) fn owns_conversation(&self, chain: &[u128], tail: &RequestTail) -> bool {
        let shown = self.status();
        if shown.reply_digests.last().is_some_and(|newest| chain.contains(newest)) {
            return true;
        }
        shown.results.iter().all(|(call, words)| {
            let said = tail.answers.iter().find(|answer| answer.call == *call);
            said.is_some_and(|said| result_digest(said) == *words)
        })
    }

    /// How many answers it keeps.
    pub(crate) fn result_count(&self) -> usize {
        self.status().results.len()
    }

    /// Whether it waits for one of these answers.
    pub(super) fn awaits_any<'a>(&self, answers: impl IntoIterator<Item = &'a str>) -> bool {
        let shown = self.status();
        answers.into_iter().any(|answer| shown.open_calls.iter().any(|open| open == answer))
    }

    /// Whether calls of it are open.
    pub(crate) fn has_open_calls(&self) -> bool {
        !self.status().open_calls.is_empty()
    }

    /// Whether its client has not heard all of it.
    pub(crate) fn has_undelivered_reply(&self) -> bool {
        self.status().undelivered
    }

    /// A reply of it is whole; behind it the conversation has this value. Tells the values behind
    /// earlier replies from which a client may still go on: nothing was told to the agent since.
    pub(crate) fn record_reply(&self, tip: u128) -> Vec<u128> {
        let mut shown = self.status();
        if std::mem::take(&mut shown.undelivered) {
            shown.reply_digests.clear();
        }
        let before = shown.reply_digests.clone();
        shown.reply_digests.push(tip);
        before
    }

    /// It is told something. A client that knows of it goes on behind the reply to that.
    pub(super) fn record_input(&self) {
        let mut shown = self.status();
        shown.results.clear();
        if !shown.undelivered {
            shown.reply_digests.clear();
        }
    }

    /// What would become of a request that brings this, and the same back; `None` if it has left.
    pub(crate) async fn check(&self, tail: RequestTail) -> Option<(RequestCheck, RequestTail)> {
        let (done, checked) = oneshot::channel();
        let asked = async {
            let _ = self.commands.send(LiveAgentCommand::Check { tail, done }).await;
            checked.await.ok()
        };
        self.unless_exited(asked).await
    }

    /// A client asks: the first piece of the reply. `None` if it has left.
    pub(crate) async fn send_request(
        &self,
        asking: AgentRequest,
        replies: &mut mpsc::Receiver<BodyChunk>,
    ) -> Option<BodyChunk> {
        self.record_results(&asking.tail.answers);
        let asked = async {
            let _ = self.commands.send(LiveAgentCommand::Request(Box::new(asking))).await;
            replies.recv().await
        };
        if let Some(piece) = self.unless_exited(asked).await {
            return Some(piece);
        }
        replies.try_recv().ok()
    }

    /// Notes which results of open calls the client has given.
    fn record_results(&self, answers: &[ClientToolResult]) {
        let mut shown = self.status();
        for answer in answers {
            let open = shown.open_calls.contains(&answer.call);
            if open && shown.results.iter().all(|(call, _)| *call != answer.call) {
                shown.results.push((answer.call.clone(), result_digest(answer)));
            }
        }
    }

    /// The next piece of a reply. `None` if it ends without another.
    pub(crate) async fn next_chunk(
        &self,
        replies: &mut mpsc::Receiver<BodyChunk>,
    ) -> Option<BodyChunk> {
        if let Some(piece) = self.unless_exited(replies.recv()).await {
            return Some(piece);
        }
        replies.try_recv().ok()
    }

    /// A person decides; whether there was such a question.
    pub(super) async fn decide(&self, ticket: String, decision: PermissionDecision) -> bool {
        let (done, answered) = oneshot::channel();
        let asked = async {
            let _ = self.commands.send(LiveAgentCommand::Decide { ticket, decision, done }).await;
            answered.await.ok()
        };
        self.unless_exited(asked).await.unwrap_or(false)
    }

    /// Waits for something that the task of this agent does, and no longer than that task lives. A
    /// channel does not tell its end reliably: what is sent while its receiver is dropped may stay
    /// in it for as long as anybody could send, and this handle could.
    async fn unless_exited<T>(&self, work: impl Future<Output = Option<T>>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.wait_for_exit() => None,
        }
    }

    /// Whether nobody finds it any more.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// From now on nobody finds it.
    pub(super) fn mark_leaving(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Its process is gone, and so is everything around it.
    pub(super) fn mark_exited(&self) {
        self.exited.send_replace(true);
    }

    /// Whether its process is gone, for somebody who looks later.
    pub(crate) fn presence(&self) -> AgentPresence {
        AgentPresence(self.exited.subscribe())
    }

    /// Waits until its process is gone.
    pub(super) async fn wait_for_exit(&self) {
        // The sender is here.
        let _ = self.exited.subscribe().wait_for(|gone| *gone).await;
    }

    /// Nobody needs it any more.
    pub(super) fn stop(&self) {
        self.mark_leaving();
        // One whose commands wait in a row looks at the mark above.
        let _ = self.commands.try_send(LiveAgentCommand::End);
    }

    /// Questions that wait for a person.
    pub(super) fn questions(&self) -> Vec<AgentQuestion> {
        let shown = self.status();
        let questions = shown.questions.iter().cloned().map(|ask| AgentQuestion {
            ticket: ask.ticket,
            kind: ask.kind,
            tool: ask.tool,
            call: ask.call,
            input: ask.input,
        });
        questions.collect()
    }

    pub(super) fn status(&self) -> MutexGuard<'_, AgentStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same for the same words.
fn result_digest(answer: &ClientToolResult) -> u64 {
    let words: String = answer.content.iter().map(Value::to_string).collect();
    xxh3_64_with_seed(words.as_bytes(), u64::from(answer.error))
}
