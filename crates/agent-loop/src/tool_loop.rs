//! The tool loop: sends the conversation to a model, runs the tools it calls and sends the results
//! back, until the model is done or the run is stopped. The history stays valid throughout, and
//! finished work is never lost.
//!
//! Every event goes through the run machine and is stored before an observer sees it. After a crash
//! the next start reads the store, so starting and resuming share one code path.

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
use foxwedge_formats::convert::ConversionOptions;
use foxwedge_run::{EventPayload, Outcome, RunEnd, RunStart as Start, RunSummary};
use foxwedge_store::{
    CloseAuthority, ListFilter, ListPage, NewRun, NewSession, RunRow, StartResult, Store,
    StoreError, close_run, limits, process,
};
use foxwedge_tools::Toolbox;
use serde_json::{Value, json};
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

use compaction::{CompactionTrigger, HistoryCompactor};
use context::RequestComposer;
use conversation_log::{ConversationLog, RewriteReason};
use foxwedge_upstream::{CountedList, RepairChange, changes_of, model::ChatModel};
use live_runs::LiveRunGuard;
use run_recorder::{RunRecorder, now_millis};
use tool_offer::ToolOffer;
use turn_driver::{LoopDependencies, TurnDriver};

/// Maximum number of open runs that are read when a session is locked.
const MAX_OPEN_RUNS: usize = 100;

/// Lease for closing a run of another process, in milliseconds.
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

/// A finished run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FinishedRun {
    /// The run ID.
    pub run: String,
    /// How it ended.
    pub ended: RunEnd,
    /// Totals of the run.
    pub summary: RunSummary,
}

/// A prompt that was undone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndonePrompt {
    /// Its text.
    pub text: String,
    /// The ids of the calls after it, in order.
    pub calls: Vec<String>,
}

/// Options for [`ToolLoop::compact`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompactOptions {
    /// What the summary must preserve, in the user's words.
    pub focus: Option<String>,
}

/// The result of [`ToolLoop::compact`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopCompaction {
    /// The conversation is shorter.
    Compacted {
        /// Tokens before.
        before: u64,
        /// Tokens now.
        after: u64,
    },
    /// The conversation cannot get shorter.
    NothingToGain,
    /// The compaction was stopped; the conversation is unchanged.
    Stopped,
}

impl<S: Store> ToolLoop<S> {
    /// Opens a session, or creates it. Closes runs whose process is gone, repairs an invalid
    /// conversation and stores the repair.
    ///
    /// # Errors
    /// If the store fails, or another process works on the session.
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
        let log = ConversationLog::new(store, &setup.session);
        let (compactor, handle) = (HistoryCompactor::default(), LoopHandle::default());
        let offer = ToolOffer::default();
        let mut this = ToolLoop { setup, model, tools, approver, log, compactor, handle, offer };
        this.lock_session(None).await?;
        this.log.load().await?;
        this.repair().await?;
        Ok(this)
    }

    /// A handle that interrupts the current run from another task.
    pub fn handle(&self) -> LoopHandle {
        self.handle.clone()
    }

    /// The queue of prompts that wait for the current run to end.
    pub fn inbox(&self) -> PromptQueue<S> {
        PromptQueue::new(self.log.store.clone(), self.log.session.clone())
    }

    /// Sends a prompt to the model: one run, until the model is done, a limit is reached, the run
    /// is stopped or an error occurs. However it ends, the conversation is valid and stored.
    ///
    /// # Errors
    /// If the store fails, another process works on the session, or the prompt is empty.
    pub async fn prompt(
        &mut self,
        prompt: &str,
        observer: &mut dyn LoopObserver,
    ) -> Result<FinishedRun, LoopError> {
        self.prompt_with(prompt, &[], observer).await
    }

    /// The same, with more content after the text: blocks in Anthropic's format, such as images.
    ///
    /// # Errors
    /// As [`ToolLoop::prompt`].
    pub async fn prompt_with(
        &mut self,
        prompt: &str,
        blocks: &[Value],
        observer: &mut dyn LoopObserver,
    ) -> Result<FinishedRun, LoopError> {
        if prompt.trim().is_empty() && blocks.is_empty() {
            return Err(LoopError::NothingToSend);
        }
        let text = json!({ "type": "text", "text": prompt });
        let content = match (blocks, prompt.trim()) {
            ([], _) => json!(prompt),
            (blocks, "") => json!(blocks),
            (blocks, _) => std::iter::once(text).chain(blocks.iter().cloned()).collect(),
        };
        let body = json!({ "role": "user", "content": content }).to_string();
        if body.len() > limits::RECORD_BYTES {
            let (bytes, most) = (body.len(), limits::RECORD_BYTES);
            return Err(LoopError::TooLarge { what: "the prompt", bytes, most });
        }
        self.run(Some(body), observer).await
    }

    /// Continues the conversation without a new prompt: after a crash, an error or a stop.
    ///
    /// # Errors
    /// As [`ToolLoop::prompt`]; also if the last message is the model's final reply.
    pub async fn resume(
        &mut self,
        observer: &mut dyn LoopObserver,
    ) -> Result<FinishedRun, LoopError> {
        self.log.refresh().await?;
        if !context::awaits_model(&self.log.messages) {
            return Err(LoopError::NothingToSend);
        }
        self.run(None, observer).await
    }

    /// Compacts the conversation now. The old messages stay in the store.
    ///
    /// # Errors
    /// If the store fails, or compaction fails; the history is then unchanged.
    pub async fn compact(
        &mut self,
        options: CompactOptions,
        observer: &mut dyn LoopObserver,
    ) -> Result<LoopCompaction, LoopError> {
        let busy = self.handle.begin();
        self.lock_session(None).await?;
        self.log.refresh().await?;
        let context = self.context();
        let body = context.compose(&self.log.messages)?.body;
        let (check_options, limits) = (context.check_options(), &self.setup.limits);
        let description = self.model.about();
        let job = self.compactor.needs_compaction(
            &body,
            description,
            check_options,
            limits,
            CompactionTrigger::Requested,
        );
        let Some(job) = job else { return Ok(LoopCompaction::NothingToGain) };
        observer.on_event(LoopEvent::Notice(LoopNotice::Compacting));
        let compaction = self.compactor.compact_in_background(
            job,
            &self.model,
            options.focus,
            busy.stop.clone(),
        );
        let mut stop = busy.stop.clone();
        let result = tokio::select! {
            biased;
            () = stop.wait_for(foxwedge_tools::StopLevel::Graceful) => return Ok(LoopCompaction::Stopped),
            result = compaction => result,
        };
        let compacted = match result {
            Ok(Some(compacted)) if compacted.after < compacted.before => compacted,
            Ok(_) => return Ok(LoopCompaction::NothingToGain),
            Err(failure) => return Err(LoopError::Compaction(failure.why)),
        };
        let messages = self.context().messages(&compacted.body)?;
        let (before, after) = (compacted.before, compacted.after);
        self.log.rewrite(RewriteReason::Compacted(before, after), messages, "base", None).await?;
        observer.on_event(LoopEvent::Notice(LoopNotice::Compacted(before, after)));
        Ok(LoopCompaction::Compacted { before, after })
    }

    /// Undoes the last prompt and everything after it. Deletes nothing.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn undo(&mut self) -> Result<Option<UndonePrompt>, LoopError> {
        self.lock_session(None).await?;
        self.log.refresh().await?;
        let entries = self.log.messages.iter().enumerate().rev();
        let mut prompts =
            entries.filter_map(|(index, message)| Some((index, context::prompt_text(message)?)));
        let Some((index, text)) = prompts.next() else { return Ok(None) };
        let undone = self.log.messages.iter().skip(index);
        let calls = undone.filter_map(|message| context::call_ids(&message.body, message.wire));
        let calls = calls.flatten().collect();
        self.log.rewind(index).await?;
        Ok(Some(UndonePrompt { text, calls }))
    }

    /// Copies the conversation into a new session.
    ///
    /// # Errors
    /// If the store fails, or the session already has messages.
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
        let history = self.log.messages.iter();
        let messages = history.map(|message| (message.wire, message.body.to_string())).collect();
        copy.rewrite(RewriteReason::Forked(&self.log.session), messages, "base", None).await
    }

    /// The conversation as a request in a format, with instructions and tools.
    ///
    /// # Errors
    /// If it cannot be converted to that format.
    pub fn to_request(&self, format: Format) -> Result<String, LoopError> {
        let options = match format == self.model.about().wire {
            true => ConversionOptions {
                profile: Some(self.model.about().profile),
                ..ConversionOptions::default()
            },
            false => ConversionOptions::default(),
        };
        Ok(self.context().compose_in(&self.log.messages, format, options)?.body)
    }

    /// Token count of the conversation with instructions and tools; `None` if it is unknown.
    pub fn tokens(&self) -> Option<u64> {
        let body = self.context().compose(&self.log.messages).ok()?.body;
        self.compactor.count_tokens(&body, self.model.about())
    }

    /// The messages of the conversation.
    pub fn history(&self) -> &[ConversationMessage] {
        &self.log.messages
    }

    /// The session ID.
    pub fn session(&self) -> &str {
        &self.log.session
    }

    /// The current model.
    pub fn model(&self) -> &Arc<dyn ChatModel> {
        &self.model
    }

    /// Uses another model for the next requests.
    pub fn set_model(&mut self, model: Arc<dyn ChatModel>) {
        self.model = model;
        self.offer = ToolOffer::default();
    }

    /// The tools that the model may call.
    pub fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// Offers other tools in the next requests.
    pub fn set_tools(&mut self, tools: Toolbox) {
        self.tools = tools;
    }

    async fn run(
        &mut self,
        prompt: Option<String>,
        observer: &mut dyn LoopObserver,
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
        // Two runs may have started at the same moment: the first one wins.
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
        let recorder = RunRecorder::new(self.log.store.clone(), &row, lease, start, observer);
        let dependencies = LoopDependencies {
            model: self.model.clone(),
            tools: &self.tools,
            approver: &self.approver,
            instructions: &self.setup.instructions,
            limits: self.setup.limits,
            stop: busy.stop.clone(),
            compactor: &self.compactor,
            offer: &mut self.offer,
        };
        let finished = TurnDriver::new(recorder, &mut self.log, dependencies).run().await;
        drop(live);
        finished
    }

    /// Ensures that no other process works on the session. Closes runs that dead processes left
    /// open. Of two live runs the older one wins.
    async fn lock_session(&self, own_run: Option<&RunRow>) -> Result<(), LoopError> {
        let session = Some(self.setup.session.clone());
        let filter = ListFilter { session, open: Some(true), ..ListFilter::default() };
        let store = &*self.log.store;
        for run in store.runs(filter, ListPage { after: None, limit: MAX_OPEN_RUNS }).await? {
            if own_run.is_some_and(|own_run| run.epoch >= own_run.epoch) {
                continue;
            }
            let owner = run.lease.as_ref().map_or("", |lease| lease.owner.as_str());
            let dead = process::is_gone(owner);
            if dead {
                // A killed process could not end the processes that its tools had started.
                let _ = spawn_blocking(foxwedge_process::end_orphans).await;
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
                // Another process closed or deleted it first.
                Ok(_) | Err(StoreError::Ended(_) | StoreError::NoRun(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn busy_error(&self, run: &RunRow) -> LoopError {
        let owner = run.lease.as_ref().map_or("an unknown process", |lease| lease.owner.as_str());
        LoopError::Busy {
            session: self.setup.session.clone(),
            run: run.id.clone(),
            owner: owner.to_owned(),
        }
    }

    /// Repairs a conversation that a provider would refuse, and stores the result.
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

/// A new unique run ID.
fn new_run_id() -> String {
    let (one, two) = (getrandom::u64().unwrap_or_default(), getrandom::u64().unwrap_or_default());
    format!("run_{:012x}{one:016x}{:04x}", now_millis(), two & 0xffff)
}
