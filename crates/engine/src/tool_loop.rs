//! The tool loop: asks a model, runs the tools it calls, tells it the answers, until it is done or
//! somebody stops it. Whatever happens in between, the history stays valid and nothing finished is
//! lost.
//!
//! Everything is kept before anybody sees it, and everything goes through the run machine. What is
//! left when a process dies is what the store holds, and the next start reads that: starting and
//! going on are one path.

mod settings;
mod observer;
mod error;
mod handle;
mod inbox;
mod live_runs;
mod message;
mod conversation_log;
mod context;
mod plan;
mod tool_tasks;
mod tool_results;
mod run_recorder;
mod compaction;
mod tool_offer;
mod turn_driver;

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_dialect::convert::ConversionOptions;
use foxwedge_run::{EventPayload, Outcome, RunEnd, RunStart as Start, RunSummary};
use foxwedge_store::{
    CloseAuthority, ListFilter, ListPage, NewRun, NewSession, RunRow, StartResult, Store,
    StoreError, close_run, limits, process,
};
use foxwedge_tools::Toolbox;
use serde_json::json;
use tokio::task::spawn_blocking;

pub use error::LoopError;
pub use handle::{InterruptResult, LoopHandle};
pub use inbox::PromptQueue;
pub use message::ConversationMessage;
pub use observer::{
    ApproveAll, ApproveReadOnly, LoopEvent, LoopNotice, LoopObserver, SilentObserver,
    ToolApprovalRequest, ToolApprover, ToolDecision,
};
pub use settings::{LoopLimits, LoopSetup};

use crate::{CountedList, RepairChange, guard::changes_of, model::ChatModel};
use compaction::{CompactionTrigger, HistoryCompactor};
use context::RequestComposer;
use conversation_log::{ConversationLog, RewriteReason};
use live_runs::LiveRunGuard;
use run_recorder::{RunRecorder, now_millis};
use tool_offer::ToolOffer;
use turn_driver::{LoopDependencies, TurnDriver};

/// How many runs of a session may be open at once before somebody looks at them.
const MAX_OPEN_RUNS: usize = 100;

/// How long a run of somebody else is ours while it is closed, in milliseconds.
const TAKE_OVER_LEASE: u64 = 5_000;

/// An agent on one session: a model, its tools, and the conversation in a store.
pub struct ToolLoop<S> {
    setup: LoopSetup,
    model: Arc<dyn ChatModel>,
    tools: Toolbox,
    approver: Arc<dyn ToolApprover>,
    log: ConversationLog<S>,
    compactor: HistoryCompactor,
    handle: LoopHandle,
    offer: ToolOffer,
}

/// A run that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FinishedRun {
    /// The run.
    pub run: String,
    /// How it ended.
    pub ended: RunEnd,
    /// In numbers.
    pub summary: RunSummary,
}

/// How a conversation is to be made shorter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompactOptions {
    /// What a person wants to be kept.
    pub focus: Option<String>,
}

/// What became of a wish to make a conversation shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopCompaction {
    /// It is shorter.
    Compacted {
        /// Tokens before.
        before: u64,
        /// Tokens now.
        after: u64,
    },
    /// It is as short as it can be.
    NothingToGain,
    /// Somebody stopped it: it is as it was.
    Stopped,
}

impl<S: Store> ToolLoop<S> {
    /// Opens a session, or makes it. Runs whose process is gone are closed, and what is wrong with
    /// the conversation is repaired for good.
    ///
    /// # Errors
    /// If the store cannot be used, or somebody else works on the session.
    pub async fn open(
        store: Arc<S>,
        setup: LoopSetup,
        model: Arc<dyn ChatModel>,
        tools: Toolbox,
        approver: Arc<dyn ToolApprover>,
    ) -> Result<ToolLoop<S>, LoopError> {
        let new = NewSession {
            id: setup.session.clone(),
            owner: setup.owner.clone(),
            title: setup.title.clone(),
            meta: Some(setup.meta.clone().unwrap_or_else(|| json!({ "kind": "chat" }).to_string())),
        };
        store.create_session(new).await?;
        let shelf = ConversationLog::new(store, &setup.session);
        let (shortener, handle) = (HistoryCompactor::default(), LoopHandle::default());
        let offer = ToolOffer::default();
        let mut this = ToolLoop {
            setup,
            model,
            tools,
            approver,
            log: shelf,
            compactor: shortener,
            handle,
            offer,
        };
        this.lock_session(None).await?;
        this.log.load().await?;
        this.repair().await?;
        Ok(this)
    }

    /// Interrupts what is at work, from another task.
    pub fn handle(&self) -> LoopHandle {
        self.handle.clone()
    }

    /// Where input waits while a run is at work.
    pub fn inbox(&self) -> PromptQueue<S> {
        PromptQueue::new(self.log.store.clone(), self.log.session.clone())
    }

    /// Says something to the model: one run, until it is done, a limit is reached, somebody stops it
    /// or something goes wrong. However it ends, the conversation is valid, and it is kept.
    ///
    /// # Errors
    /// If the store fails, somebody else works on the session, or there is nothing to say.
    pub async fn prompt(
        &mut self,
        prompt: &str,
        listener: &mut dyn LoopObserver,
    ) -> Result<FinishedRun, LoopError> {
        if prompt.trim().is_empty() {
            return Err(LoopError::NothingToSend);
        }
        let body = json!({ "role": "user", "content": prompt }).to_string();
        if body.len() > limits::RECORD_BYTES {
            let (bytes, most) = (body.len(), limits::RECORD_BYTES);
            return Err(LoopError::TooLarge { what: "the prompt", bytes, most });
        }
        self.run(Some(body), listener).await
    }

    /// Goes on with what is there: after a crash, an error or a stop.
    ///
    /// # Errors
    /// As [`ToolLoop::say`]; if the model has had the last word, there is nothing to go on with.
    pub async fn resume(
        &mut self,
        listener: &mut dyn LoopObserver,
    ) -> Result<FinishedRun, LoopError> {
        self.log.refresh().await?;
        if !context::awaits_model(&self.log.messages) {
            return Err(LoopError::NothingToSend);
        }
        self.run(None, listener).await
    }

    /// Makes the conversation shorter now. What was there before stays in the store.
    ///
    /// # Errors
    /// If the store fails, or the history cannot be made shorter; it then stays as it is.
    pub async fn compact(
        &mut self,
        wish: CompactOptions,
        listener: &mut dyn LoopObserver,
    ) -> Result<LoopCompaction, LoopError> {
        let busy = self.handle.begin();
        self.lock_session(None).await?;
        self.log.refresh().await?;
        let context = self.context();
        let body = context.compose(&self.log.messages)?.body;
        let (question, limits) = (context.check_options(), &self.setup.limits);
        let about = self.model.about();
        let load = self.compactor.needs_compaction(
            &body,
            about,
            question,
            limits,
            CompactionTrigger::Requested,
        );
        let Some(load) = load else { return Ok(LoopCompaction::NothingToGain) };
        listener.on_event(LoopEvent::Notice(LoopNotice::Compacting));
        let shorten =
            self.compactor.compact_in_background(load, &self.model, wish.focus, busy.stop.clone());
        let mut stop = busy.stop.clone();
        let shortened = tokio::select! {
            biased;
            () = stop.wait_for(foxwedge_tools::StopLevel::Graceful) => return Ok(LoopCompaction::Stopped),
            shortened = shorten => shortened,
        };
        let shorter = match shortened {
            Ok(Some(shorter)) if shorter.after < shorter.before => shorter,
            Ok(_) => return Ok(LoopCompaction::NothingToGain),
            Err(failed) => return Err(LoopError::Compaction(failed.why)),
        };
        let messages = self.context().messages(&shorter.body)?;
        let (before, after) = (shorter.before, shorter.after);
        self.log.rewrite(RewriteReason::Compacted(before, after), messages, "base", None).await?;
        listener.on_event(LoopEvent::Notice(LoopNotice::Compacted(before, after)));
        Ok(LoopCompaction::Compacted { before, after })
    }

    /// Takes the last prompt back, and everything behind it: returns what it said. Nothing is deleted.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn undo(&mut self) -> Result<Option<String>, LoopError> {
        self.lock_session(None).await?;
        self.log.refresh().await?;
        let entries = self.log.messages.iter().enumerate().rev();
        let mut prompts =
            entries.filter_map(|(place, it)| Some((place, context::prompt_text(it)?)));
        let Some((place, prompt)) = prompts.next() else { return Ok(None) };
        self.log.rewind(place).await?;
        Ok(Some(prompt))
    }

    /// Copies the conversation into a new session.
    ///
    /// # Errors
    /// If the store fails, or there is such a session.
    pub async fn fork(&self, session: &str) -> Result<(), LoopError> {
        let store = &self.log.store;
        let row = store.session(&self.log.session).await?;
        let (title, meta) = row.map(|row| (row.title, row.meta)).unwrap_or_default();
        let owner = self.setup.owner.clone();
        store.create_session(NewSession { id: session.to_owned(), owner, title, meta }).await?;
        let mut copy = ConversationLog::new(store.clone(), session);
        copy.load().await?;
        if copy.tip().is_some() {
            return Err(LoopError::Unconvertible(format!("session `{session}` is there already")));
        }
        let entries = self.log.messages.iter();
        let messages = entries.map(|entry| (entry.wire, entry.body.to_string())).collect();
        copy.rewrite(RewriteReason::Forked(&self.log.session), messages, "base", None).await
    }

    /// The conversation as a request in a format, with instructions and tools.
    ///
    /// # Errors
    /// If it cannot be told in that format.
    pub fn to_request(&self, wire: Format) -> Result<String, LoopError> {
        let options = match wire == self.model.about().wire {
            true => ConversionOptions {
                profile: Some(self.model.about().profile),
                ..ConversionOptions::default()
            },
            false => ConversionOptions::default(),
        };
        Ok(self.context().compose_in(&self.log.messages, wire, options)?.body)
    }

    /// How many tokens the conversation takes, with instructions and tools; `None` if nobody knows.
    pub fn tokens(&self) -> Option<u64> {
        let body = self.context().compose(&self.log.messages).ok()?.body;
        self.compactor.count_tokens(&body, self.model.about())
    }

    /// The conversation.
    pub fn history(&self) -> &[ConversationMessage] {
        &self.log.messages
    }

    /// The session.
    pub fn session(&self) -> &str {
        &self.log.session
    }

    /// Who is asked.
    pub fn model(&self) -> &Arc<dyn ChatModel> {
        &self.model
    }

    /// Asks another model from now on.
    pub fn set_model(&mut self, model: Arc<dyn ChatModel>) {
        self.model = model;
        self.offer = ToolOffer::default();
    }

    /// What may be called.
    pub fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// Offers other tools from now on.
    pub fn set_tools(&mut self, tools: Toolbox) {
        self.tools = tools;
    }

    async fn run(
        &mut self,
        prompt: Option<String>,
        listener: &mut dyn LoopObserver,
    ) -> Result<FinishedRun, LoopError> {
        let busy = self.handle.begin();
        self.lock_session(None).await?;
        self.log.refresh().await?;
        let start = Start {
            session: Some(self.setup.session.as_str().into()),
            agent: Some("foxwedge".into()),
            model: Some((&*self.model.about().name).into()),
            ..Start::default()
        };
        let new = NewRun {
            id: new_run_id(),
            session: self.setup.session.clone(),
            key: None,
            owner: self.setup.process.clone(),
            ttl: u64::try_from(self.setup.limits.lease.as_millis()).unwrap_or(u64::MAX),
            start: start.clone(),
            at: Some(now_millis()),
        };
        let live = LiveRunGuard::new(&new.id);
        let (row, lease) = match self.log.store.start_run(new).await? {
            StartResult::New { run, lease } => (run, lease),
            StartResult::Existing(run) => return Err(self.busy_error(&run)),
        };
        // Two may have started at the same moment: the first one stays.
        if let Err(error) = self.lock_session(Some(&row)).await {
            let (store, authority) = (&*self.log.store, CloseAuthority::Holder(lease));
            close_run(store, &row.id, ended_event(Outcome::Replaced), authority).await?;
            return Err(error);
        }
        if let Some(body) = prompt {
            self.log
                .append(vec![ConversationMessage {
                    id: format!("{}-0", row.epoch).into(),
                    wire: Format::Anthropic,
                    body: body.into(),
                    run: Some(row.id.as_str().into()),
                }])
                .await?;
        }
        let keeper = RunRecorder::new(self.log.store.clone(), &row, lease, start, listener);
        let gear = LoopDependencies {
            model: self.model.clone(),
            tools: &self.tools,
            approver: &self.approver,
            instructions: &self.setup.instructions,
            limits: self.setup.limits,
            stop: busy.stop.clone(),
            compactor: &self.compactor,
            offer: &mut self.offer,
        };
        let finished = TurnDriver::new(keeper, &mut self.log, gear).run().await;
        drop(live);
        finished
    }

    /// Makes sure that nobody else works on the session: closes what dead processes left open. Of
    /// two runs the older one has the right.
    async fn lock_session(&self, mine: Option<&RunRow>) -> Result<(), LoopError> {
        let session = Some(self.setup.session.clone());
        let of = ListFilter { session, open: Some(true), ..ListFilter::default() };
        let store = &*self.log.store;
        for run in store.runs(of, ListPage { after: None, limit: MAX_OPEN_RUNS }).await? {
            if mine.is_some_and(|mine| run.epoch >= mine.epoch) {
                continue;
            }
            let owner = run.lease.as_ref().map_or("", |lease| lease.owner.as_str());
            let dead = process::is_gone(owner);
            if dead {
                // Whoever was killed could not end what its tools had started.
                let _ = spawn_blocking(foxwedge_tools::end_orphans).await;
            }
            let authority = match dead || live_runs::is_abandoned_here(owner, &run.id) {
                true => CloseAuthority::Operator,
                false => {
                    match store.take_over(&run.id, &self.setup.process, TAKE_OVER_LEASE).await? {
                        Some(lease) => CloseAuthority::Holder(lease),
                        None => return Err(self.busy_error(&run)),
                    }
                }
            };
            match close_run(store, &run.id, ended_event(Outcome::Interrupted), authority).await {
                // Somebody else was faster, or deleted it.
                Ok(_) | Err(StoreError::Ended(_) | StoreError::NoRun(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn busy_error(&self, run: &RunRow) -> LoopError {
        let owner = run.lease.as_ref().map_or("nobody", |lease| lease.owner.as_str());
        LoopError::Busy {
            session: self.setup.session.clone(),
            run: run.id.clone(),
            owner: owner.to_owned(),
        }
    }

    /// Repairs the conversation for good, if a provider would refuse it.
    async fn repair(&mut self) -> Result<CountedList<RepairChange>, LoopError> {
        if self.log.messages.is_empty() {
            return Ok(CountedList::default());
        }
        let composed = self.context().compose(&self.log.messages)?;
        if composed.edits.is_empty() {
            return Ok(CountedList::default());
        }
        let messages = self.context().messages(&composed.body)?;
        self.log.rewrite(RewriteReason::Repaired, messages, "base", None).await?;
        Ok(changes_of(composed.edits))
    }

    fn context(&self) -> RequestComposer<'_> {
        RequestComposer {
            about: self.model.about(),
            instructions: &self.setup.instructions,
            tools: &self.tools,
            max_tools: self.offer.max_tools(self.model.about().profile),
            max_reply_tokens: self.setup.limits.max_reply_tokens,
        }
    }
}

fn ended_event(outcome: Outcome) -> EventPayload {
    EventPayload::Ended(RunEnd { outcome: Some(outcome), ..RunEnd::default() })
}

/// An id that nobody has.
fn new_run_id() -> String {
    let (one, two) = (getrandom::u64().unwrap_or_default(), getrandom::u64().unwrap_or_default());
    format!("run_{:012x}{one:016x}{:04x}", now_millis(), two & 0xffff)
}
