//! A live agent as others see it: what it waits for, how it is told something.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use foxwedge_agent::{Answer, Ask, AskKind, Decision, Phase, RequestCheck, Tail};
use foxwedge_dialect::canon::Renamed;
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{http::Piece, record::Side};

/// A live agent. It is in the pool for as long as anybody may ask it.
#[derive(Debug)]
pub(crate) struct Handle {
    /// Its session.
    pub(crate) session: Arc<str>,
    /// Whose it is.
    pub(super) owner: Arc<str>,
    /// The upstream it belongs to.
    pub(super) upstream: Arc<str>,
    /// The same for the same tools and instructions.
    pub(crate) setup: u128,
    /// Names of tools that it knows under another name.
    pub(crate) names: Vec<Renamed>,
    pub(super) commands: mpsc::Sender<Command>,
    /// Nobody finds it any more.
    leaving: AtomicBool,
    /// Its process is gone, and so is everything around it.
    gone: watch::Sender<bool>,
    pub(super) shown: Mutex<Shown>,
}

/// What can be seen of an agent.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) phase: Phase,
    /// Since when.
    pub(super) since: Instant,
    /// Ids of calls that the client has not answered.
    pub(super) open: Vec<String>,
    /// Questions that nobody has answered.
    pub(super) asked: Vec<Ask>,
    /// What the conversation looks like behind each reply since it was told something: a client
    /// that goes on behind one of them goes on with it.
    pub(super) tips: Vec<u128>,
    /// Answers that it keeps until none is missing: calls, and the same for the same words.
    pub(super) heard: Vec<(String, u64)>,
    /// The agent went on without its client: the next reply takes the place of those before it.
    pub(super) unheard: bool,
    /// The run that it works on.
    pub(super) run: Option<Arc<str>>,
}

/// Something for an agent.
#[derive(Debug)]
pub(super) enum Command {
    /// What would become of a request? Nothing changes.
    Check { tail: Tail, done: oneshot::Sender<(RequestCheck, Tail)> },
    /// A client asks.
    Request(Box<Asking>),
    /// A person decides. Whether there was such a question is told back.
    Decide { ticket: String, decision: Decision, done: oneshot::Sender<bool> },
    /// Nobody needs it any more.
    End,
}

/// A client that asks.
#[derive(Debug)]
pub(crate) struct Asking {
    /// What is new.
    pub(crate) tail: Tail,
    /// Where the reply goes. Dropped on the other side: the client is gone.
    pub(crate) pieces: mpsc::Sender<Piece>,
    /// The run it belongs to.
    pub(crate) run: Arc<str>,
    /// What is told beside the reply goes there.
    pub(crate) side: Option<Side>,
}

/// Whether an agent is there.
#[derive(Clone, Debug)]
pub(crate) struct Presence(watch::Receiver<bool>);

impl Presence {
    pub(crate) fn is_there(&self) -> bool {
        !*self.0.borrow()
    }

    /// One that changes when the other side says so.
    #[cfg(test)]
    pub(crate) fn pair() -> (watch::Sender<bool>, Presence) {
        let (gone, looks) = watch::channel(false);
        (gone, Presence(looks))
    }
}

/// A question that waits for a person.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// Names it.
    pub ticket: String,
    /// Whether a tool may run, or questions with answers to choose from.
    pub kind: AskKind,
    /// The agent's name of the tool.
    pub tool: String,
    /// The id of the call it is about.
    pub call: Option<String>,
    /// What the tool would be given.
    pub input: Value,
}

impl Handle {
    pub(super) fn new(
        session: Arc<str>,
        owner: Arc<str>,
        upstream: Arc<str>,
        setup: u128,
        names: Vec<Renamed>,
        commands: mpsc::Sender<Command>,
    ) -> Handle {
        let shown = Shown {
            phase: Phase::Replying,
            since: Instant::now(),
            open: Vec::new(),
            asked: Vec::new(),
            tips: Vec::new(),
            heard: Vec::new(),
            unheard: false,
            run: None,
        };
        let (leaving, shown) = (AtomicBool::new(false), Mutex::new(shown));
        let gone = watch::Sender::new(false);
        Handle { session, owner, upstream, setup, names, commands, leaving, gone, shown }
    }

    /// Which messages of a conversation it has seen: all before this one. `None` if it goes on
    /// behind none of its replies.
    pub(crate) fn seen(&self, chain: &[u128]) -> Option<usize> {
        let shown = self.shown();
        chain.iter().rposition(|value| shown.tips.contains(value)).map(|last| last + 1)
    }

    /// Whether a conversation can be its own: two that begin alike, with calls of the same ids, are
    /// told apart by what each answered. It is behind the newest reply, or says everything again that
    /// was answered before.
    pub(crate) fn agrees(&self, chain: &[u128], tail: &Tail) -> bool {
        let shown = self.shown();
        if shown.tips.last().is_some_and(|newest| chain.contains(newest)) {
            return true;
        }
        shown.heard.iter().all(|(call, words)| {
            let said = tail.answers.iter().find(|answer| answer.call == *call);
            said.is_some_and(|said| digest(said) == *words)
        })
    }

    /// How many answers it keeps.
    pub(crate) fn heard(&self) -> usize {
        self.shown().heard.len()
    }

    /// Whether it waits for one of these answers.
    pub(super) fn wants<'a>(&self, answers: impl IntoIterator<Item = &'a str>) -> bool {
        let shown = self.shown();
        answers.into_iter().any(|answer| shown.open.iter().any(|open| open == answer))
    }

    /// Whether calls of it are open.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.shown().open.is_empty()
    }

    /// Whether its client has not heard all of it.
    pub(crate) fn is_unheard(&self) -> bool {
        self.shown().unheard
    }

    /// A reply of it is whole; behind it the conversation has this value. Tells the values behind
    /// earlier replies from which a client may still go on: nothing was told to the agent since.
    pub(crate) fn settled(&self, tip: u128) -> Vec<u128> {
        let mut shown = self.shown();
        if std::mem::take(&mut shown.unheard) {
            shown.tips.clear();
        }
        let before = shown.tips.clone();
        shown.tips.push(tip);
        before
    }

    /// It is told something. A client that knows of it goes on behind the reply to that.
    pub(super) fn told_more(&self) {
        let mut shown = self.shown();
        shown.heard.clear();
        if !shown.unheard {
            shown.tips.clear();
        }
    }

    /// What would become of a request that brings this, and the same back; `None` if it has left.
    pub(crate) async fn check(&self, tail: Tail) -> Option<(RequestCheck, Tail)> {
        let (done, checked) = oneshot::channel();
        let asked = async {
            let _ = self.commands.send(Command::Check { tail, done }).await;
            checked.await.ok()
        };
        self.unless_gone(asked).await
    }

    /// A client asks: the first piece of the reply. `None` if it has left.
    pub(crate) async fn ask(
        &self,
        asking: Asking,
        replies: &mut mpsc::Receiver<Piece>,
    ) -> Option<Piece> {
        self.keep_results(&asking.tail.answers);
        let asked = async {
            let _ = self.commands.send(Command::Request(Box::new(asking))).await;
            replies.recv().await
        };
        if let Some(piece) = self.unless_gone(asked).await {
            return Some(piece);
        }
        replies.try_recv().ok()
    }

    /// Notes which results of open calls the client has given.
    fn keep_results(&self, answers: &[Answer]) {
        let mut shown = self.shown();
        for answer in answers {
            let open = shown.open.contains(&answer.call);
            if open && shown.heard.iter().all(|(call, _)| *call != answer.call) {
                shown.heard.push((answer.call.clone(), digest(answer)));
            }
        }
    }

    /// The next piece of a reply. `None` if it ends without another.
    pub(crate) async fn next(&self, replies: &mut mpsc::Receiver<Piece>) -> Option<Piece> {
        if let Some(piece) = self.unless_gone(replies.recv()).await {
            return Some(piece);
        }
        replies.try_recv().ok()
    }

    /// A person decides; whether there was such a question.
    pub(super) async fn decide(&self, ticket: String, decision: Decision) -> bool {
        let (done, answered) = oneshot::channel();
        let asked = async {
            let _ = self.commands.send(Command::Decide { ticket, decision, done }).await;
            answered.await.ok()
        };
        self.unless_gone(asked).await.unwrap_or(false)
    }

    /// Waits for something that the task of this agent does, and no longer than that task lives. A
    /// channel does not tell its end reliably: what is sent while its receiver is dropped may stay
    /// in it for as long as anybody could send, and this handle could.
    async fn unless_gone<T>(&self, work: impl Future<Output = Option<T>>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.wait() => None,
        }
    }

    /// Whether nobody finds it any more.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// From now on nobody finds it.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Its process is gone, and so is everything around it.
    pub(super) fn is_gone(&self) {
        self.gone.send_replace(true);
    }

    /// Whether its process is gone, for somebody who looks later.
    pub(crate) fn presence(&self) -> Presence {
        Presence(self.gone.subscribe())
    }

    /// Waits until its process is gone.
    pub(super) async fn wait(&self) {
        // The sender is here.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Nobody needs it any more.
    pub(super) fn end(&self) {
        self.leave();
        // One whose commands wait in a row looks at the mark above.
        let _ = self.commands.try_send(Command::End);
    }

    /// Questions that wait for a person.
    pub(super) fn questions(&self) -> Vec<Question> {
        let shown = self.shown();
        let questions = shown.asked.iter().cloned().map(|ask| Question {
            ticket: ask.ticket,
            kind: ask.kind,
            tool: ask.tool,
            call: ask.call,
            input: ask.input,
        });
        questions.collect()
    }

    pub(super) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same for the same words.
fn digest(answer: &Answer) -> u64 {
    let words: String = answer.content.iter().map(Value::to_string).collect();
    xxh3_64_with_seed(words.as_bytes(), u64::from(answer.error))
}
