//! The agent in the terminal and over pipes: one conversation with a model that may use tools, kept
//! in the store from its first word on.
//!
//! [`ChatAgent`] owns the loop and everything that can be asked of it. Who prints and who types is
//! decided elsewhere: `pipe` and `once` over pipes, `terminal` on a screen.

mod call_mark;
mod slash;
mod approval;
mod instructions;
mod line_printer;
mod reply_json;
mod output_thread;
mod models;
mod sessions;
mod history;
mod setup;
mod run_control;
mod commands;
mod interruptible;
mod input;
mod pipe;
mod once;
mod host;
mod terminal;
pub(crate) mod start;

use std::sync::Arc;

use foxwedge_agent_loop::tool_loop::{
    FinishedRun, LoopError, LoopLimits, LoopObserver, LoopSetup, ToolApprover, ToolLoop,
};
use foxwedge_core::Format;
use foxwedge_store::{AnyStore, NewSession, Store};
use foxwedge_tools::Toolbox;
use foxwedge_upstream::model::ChatModel;

use self::{
    approval::AllowedTools, history::ChatHistory, models::ModelLookup,
    run_control::ChatRunController, sessions::ChatSessionEntry,
};
use crate::{
    cli_output::CliError,
    runs::{self, OpenStore},
};

/// One conversation, and everything around it.
pub(crate) struct ChatAgent {
    pub(crate) open_store: OpenStore,
    models: ModelLookup,
    model: Arc<dyn ChatModel>,
    tools: Toolbox,
    allowed: AllowedTools,
    approver: Arc<dyn ToolApprover>,
    /// The folder that tools work in, as sessions remember it.
    folder: String,
    instructions: String,
    turns: Option<u32>,
    /// The flag that named the store, for commands that somebody may type next.
    store: Option<String>,
    session: ChatSessionState,
    run_controller: ChatRunController,
    last_run: Option<FinishedRun>,
    /// What waits in the session that a command turned to, until somebody asks.
    switched_queue: Option<Vec<String>>,
}

/// The session. It is made with the first prompt, so that one that was never used is never kept.
enum ChatSessionState {
    New(String),
    Open(String, Box<ToolLoop<AnyStore>>),
}

/// What a conversation is made of.
pub(crate) struct ChatSetup {
    pub(crate) open_store: OpenStore,
    pub(crate) models: ModelLookup,
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) tools: Toolbox,
    pub(crate) allowed: AllowedTools,
    pub(crate) approver: Arc<dyn ToolApprover>,
    pub(crate) folder: String,
    pub(crate) instructions: String,
    pub(crate) turns: Option<u32>,
    pub(crate) store: Option<String>,
}

impl ChatAgent {
    /// A conversation that has not begun.
    pub(crate) fn new(parts: ChatSetup) -> ChatAgent {
        let ChatSetup { open_store: kept, models, model, tools, allowed, approver, folder, .. } =
            parts;
        ChatAgent {
            open_store: kept,
            models,
            model,
            tools,
            allowed,
            approver,
            folder,
            instructions: parts.instructions,
            turns: parts.turns,
            store: parts.store,
            session: ChatSessionState::New(sessions::new_id()),
            run_controller: ChatRunController::default(),
            last_run: None,
            switched_queue: None,
        }
    }

    /// The id of the session, which may not be there yet.
    pub(crate) fn session(&self) -> &str {
        match &self.session {
            ChatSessionState::New(id) | ChatSessionState::Open(id, _) => id,
        }
    }

    /// Whether anything was ever said in it.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.session, ChatSessionState::New(_))
    }

    /// The model's name.
    pub(crate) fn model(&self) -> &str {
        &self.model.about().name
    }

    /// Stops what is at work, and keeps what waits; usable while a run is at work.
    pub(crate) fn run_controller(&self) -> ChatRunController {
        self.run_controller.clone()
    }

    /// One run: the prompt, and whatever follows from it.
    pub(crate) async fn prompt(
        &mut self,
        prompt: &str,
        listener: &mut dyn LoopObserver,
    ) -> anyhow::Result<FinishedRun> {
        if let ChatSessionState::New(id) = &self.session {
            let id = id.clone();
            self.open(&id, prompt).await?;
        }
        let ChatSessionState::Open(_, tool_loop) = &mut self.session else {
            return Err(nothing_to_continue());
        };
        let finished = tool_loop.prompt(prompt, listener).await;
        self.remember_finished(finished)
    }

    /// One run without a new prompt.
    pub(crate) async fn continue_run(
        &mut self,
        listener: &mut dyn LoopObserver,
    ) -> anyhow::Result<FinishedRun> {
        let ChatSessionState::Open(_, tool_loop) = &mut self.session else {
            return Err(nothing_to_continue());
        };
        let finished = tool_loop.resume(listener).await;
        self.remember_finished(finished)
    }

    /// Goes on with a session that is there, and tells what waits in it.
    pub(crate) async fn resume(&mut self, known: &ChatSessionEntry) -> anyhow::Result<Vec<String>> {
        sessions::check_free(&self.open_store, &known.id).await?;
        self.open(&known.id, &known.title).await
    }

    /// Goes on in a copy of this session, and tells what waits in it.
    pub(crate) async fn fork(&mut self) -> anyhow::Result<Vec<String>> {
        let ChatSessionState::Open(old, tool_loop) = &self.session else {
            return Err(nothing_to_continue());
        };
        let row = self.open_store.with_store_error(self.open_store.store.session(old).await)?;
        let title = row.map(|row| row.title).unwrap_or_default();
        let id = sessions::new_id();
        // What the list says about it is said before the copy is made: it may be another folder.
        let new = self.describe_session(&id, &title);
        self.open_store.with_store_error(self.open_store.store.create_session(new).await)?;
        tool_loop.fork(&id).await.map_err(|error| self.describe_error(error))?;
        self.open(&id, &title).await
    }

    /// The conversation as a document; `None` if nothing was said yet.
    fn history(&self) -> anyhow::Result<Option<ChatHistory>> {
        let ChatSessionState::Open(_, tool_loop) = &self.session else { return Ok(None) };
        let text =
            tool_loop.to_request(Format::Anthropic).map_err(|error| self.describe_error(error))?;
        Ok(Some(ChatHistory(text)))
    }

    /// What waits for the end of a run, from a process that is gone.
    pub(crate) async fn queued(&self) -> anyhow::Result<Vec<String>> {
        match &self.session {
            ChatSessionState::New(_) => Ok(Vec::new()),
            ChatSessionState::Open(_, tool_loop) => {
                tool_loop.inbox().get().await.map_err(|error| self.describe_error(error))
            }
        }
    }

    /// The command that goes on with this session.
    pub(crate) fn resume_command(&self) -> Option<String> {
        let again = runs::repeat_store_flag(self.store.as_deref());
        (!self.is_new()).then(|| format!("foxwedge chat --resume {}{again}", self.session()))
    }

    /// What a list says about a session.
    fn describe_session(&self, id: &str, title: &str) -> NewSession {
        sessions::new_session(id, title, &self.folder, self.model())
    }

    /// Opens a session, and tells what waits in it.
    async fn open(&mut self, id: &str, title: &str) -> anyhow::Result<Vec<String>> {
        let NewSession { id: session, owner, title, meta } = self.describe_session(id, title);
        let usual = LoopLimits::default();
        let setup = LoopSetup {
            session,
            owner,
            process: runs::current_owner(),
            title,
            meta,
            instructions: self.instructions.clone(),
            limits: LoopLimits { max_turns: self.turns.unwrap_or(usual.max_turns), ..usual },
        };
        let opened = ToolLoop::open(
            Arc::clone(&self.open_store.store),
            setup,
            Arc::clone(&self.model),
            self.tools.clone(),
            Arc::clone(&self.approver),
        );
        let tool_loop = opened.await.map_err(|error| self.describe_error(error))?;
        // From here on what is typed is kept in its place.
        let waiting = tool_loop.inbox().get().await.map_err(|error| self.describe_error(error))?;
        self.run_controller.attach(&tool_loop);
        self.session = ChatSessionState::Open(id.to_owned(), Box::new(tool_loop));
        self.last_run = None;
        Ok(waiting)
    }

    fn remember_finished(
        &mut self,
        finished: Result<FinishedRun, LoopError>,
    ) -> anyhow::Result<FinishedRun> {
        let finished = finished.map_err(|error| self.describe_error(error))?;
        self.last_run = Some(finished.clone());
        Ok(finished)
    }

    /// An error of the loop, for people.
    fn describe_error(&self, error: LoopError) -> anyhow::Error {
        match error {
            LoopError::Store(error) => match self.open_store.with_store_error::<()>(Err(error)) {
                Err(error) => error,
                Ok(()) => nothing_to_continue(),
            },
            LoopError::Busy { session, run, owner } => {
                sessions::busy_error(&session, &run, &runs::describe_owner(&owner)).into()
            }
            LoopError::NothingToSend => nothing_to_continue(),
            error => CliError::new(error.to_string()).into(),
        }
    }
}

fn nothing_to_continue() -> anyhow::Error {
    CliError::new("there is nothing to go on with").help("say something first").into()
}
