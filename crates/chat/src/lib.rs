//! `foxwedge chat`: a conversation with a model that can use tools, in the terminal or over a pipe.
//! The store records it from the first prompt on.
//!
//! [`run`] holds it, from [`ChatOptions`] to an exit code; [`list_sessions`] lists earlier ones.
//! Nothing here parses a command line.
//!
//! `ChatAgent` owns the tool loop and its commands. Input and output are elsewhere: `pipe` and
//! `once` for pipes, `terminal` for a terminal.
//!
//! ```
//! // The sessions of an empty store: a line about it on stderr.
//! assert!(foxwedge_chat::list_sessions(Some("memory:")).is_ok());
//! ```

mod options;
mod call_mark;
mod slash;
mod approval;
mod allow_rules;
mod instructions;
mod attachments;
mod shell;
mod file_journal;
mod line_printer;
mod reply_json;
mod output_thread;
mod models;
mod sessions;
mod history;
mod setup;
mod mcp_login;
mod run_control;
mod commands;
mod interruptible;
mod input;
mod pipe;
mod once;
mod host;
mod terminal;
mod acp;
mod start;

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use foxwedge_agent_loop::tool_loop::{
    FinishedRun, LoopError, LoopLimits, LoopObserver, LoopSetup, ToolApprover, ToolLoop,
};
use foxwedge_core::Format;
use foxwedge_store::{AnyStore, NewSession, Store, StoreUrl};
use foxwedge_tools::{Tool, ToolWorkspace, Toolbox};
use foxwedge_upstream::{http::NetworkConfig, model::ChatModel};
use serde_json::Value;

use self::{
    approval::AllowedTools, attachments::ChatPrompt, file_journal::FileJournal,
    history::ChatHistory, models::ModelLookup, run_control::ChatRunController,
    sessions::ChatSessionEntry,
};
use foxwedge_local::{
    output::HelpfulError,
    runs::{self, OpenStore},
};

pub use approval::ALL_TOOLS;
pub use file_journal::remove_file_copies;
pub use mcp_login::McpLoginOptions;
pub use options::{ChatApi, ChatOptions, ReplyFormat, SessionChoice};
pub use terminal::picker::{PickerRow, PickerRows, pick};

/// How long remaining tasks may take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs a conversation until it ends. An invalid configuration is the error
/// [`ConfigError`](foxwedge_gateway::config::ConfigError).
///
/// Commands of tools are started through this program once more: its `main` has to ask
/// [`launched_command`](foxwedge_tools::launched_command) first.
pub fn run(options: ChatOptions) -> anyhow::Result<ExitCode> {
    block_on(start::run(options))
}

fn block_on(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the worker threads")?;
    let result = runtime.block_on(work);
    // Remaining tasks are dropped, which ends the processes they started. A task that hangs does
    // not block the exit; its run is closed at the next start.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    result
}

/// Serves an editor that speaks the Agent Client Protocol on stdin and stdout, until its input ends.
/// Of the options, those about the model, the tools and the store count.
///
/// # Errors
/// As [`run`].
pub fn serve_acp(options: ChatOptions) -> anyhow::Result<ExitCode> {
    block_on(acp::run(options))
}

/// Logs in at an MCP server over HTTP. The tokens are kept for later conversations.
///
/// # Errors
/// If the server is unknown or supports no login, or the user does not agree.
pub fn log_in_to_mcp(options: McpLoginOptions) -> anyhow::Result<ExitCode> {
    block_on(mcp_login::log_in(options))
}

/// Removes the login at an MCP server.
///
/// # Errors
/// If the server is unknown, or the file of logins cannot be used.
pub fn log_out_of_mcp(options: McpLoginOptions) -> anyhow::Result<ExitCode> {
    block_on(mcp_login::log_out(options))
}

/// Lists the sessions of a store, newest first; without one, of `FOXWEDGE_STORE` or the default.
pub fn list_sessions(store: Option<&str>) -> anyhow::Result<ExitCode> {
    runs::block_on(start::list_sessions(store))
}

/// One conversation with its model, tools and store.
pub(crate) struct ChatAgent {
    pub(crate) open_store: OpenStore,
    models: ModelLookup,
    network: NetworkConfig,
    model: Arc<dyn ChatModel>,
    tools: Toolbox,
    workspace: ToolWorkspace,
    journal: Arc<FileJournal>,
    allowed: AllowedTools,
    approver: Arc<dyn ToolApprover>,
    /// The folder that tools work in, as recorded with the session.
    folder: String,
    instructions: String,
    turns: Option<u32>,
    /// The value of `--store`, for suggested commands.
    store: Option<String>,
    session: ChatSessionState,
    run_controller: ChatRunController,
    last_run: Option<FinishedRun>,
    /// Runs commands of the user.
    shell: Option<Arc<dyn Tool>>,
    /// Commands of the user and their output, for the next prompt.
    shell_blocks: Vec<Value>,
    /// The calls of the prompt that was undone last, until its files are restored.
    undone_calls: Vec<String>,
    /// Queued prompts of the session that a command switched to, until they are taken.
    switched_queue: Option<Vec<String>>,
}

/// The session. It is created with the first prompt, so an unused session is never stored.
enum ChatSessionState {
    New(String),
    Open(String, Box<ToolLoop<AnyStore>>),
}

/// The parts of a conversation.
pub(crate) struct ChatSetup {
    pub(crate) open_store: OpenStore,
    pub(crate) models: ModelLookup,
    pub(crate) network: NetworkConfig,
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) tools: Toolbox,
    pub(crate) workspace: ToolWorkspace,
    pub(crate) journal: Arc<FileJournal>,
    pub(crate) shell: Option<Arc<dyn Tool>>,
    pub(crate) allowed: AllowedTools,
    pub(crate) approver: Arc<dyn ToolApprover>,
    pub(crate) folder: String,
    pub(crate) instructions: String,
    pub(crate) turns: Option<u32>,
    pub(crate) store: Option<String>,
}

impl ChatAgent {
    /// Creates a conversation without any prompt.
    pub(crate) fn new(setup: ChatSetup) -> ChatAgent {
        let ChatSetup { open_store, models, model, tools, allowed, approver, folder, .. } = setup;
        ChatAgent {
            open_store,
            models,
            network: setup.network,
            model,
            tools,
            workspace: setup.workspace,
            journal: setup.journal,
            allowed,
            approver,
            folder,
            instructions: setup.instructions,
            turns: setup.turns,
            store: setup.store,
            session: ChatSessionState::New(sessions::new_id()),
            run_controller: ChatRunController::default(),
            last_run: None,
            shell: setup.shell,
            shell_blocks: Vec::new(),
            undone_calls: Vec::new(),
            switched_queue: None,
        }
    }

    /// The id of the session, which may not be stored yet.
    pub(crate) fn session(&self) -> &str {
        match &self.session {
            ChatSessionState::New(id) | ChatSessionState::Open(id, _) => id,
        }
    }

    /// Whether the session has no prompt yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.session, ChatSessionState::New(_))
    }

    /// The name of the model.
    pub(crate) fn model(&self) -> &str {
        &self.model.about().name
    }

    /// Interrupts runs and saves queued prompts. Usable while a run is open.
    pub(crate) fn run_controller(&self) -> ChatRunController {
        self.run_controller.clone()
    }

    /// Runs a prompt until the run ends.
    pub(crate) async fn prompt(
        &mut self,
        prompt: ChatPrompt,
        listener: &mut dyn LoopObserver,
    ) -> anyhow::Result<FinishedRun> {
        if let ChatSessionState::New(id) = &self.session {
            let id = id.clone();
            self.open(&id, &prompt.text).await?;
        }
        let ChatSessionState::Open(_, tool_loop) = &mut self.session else {
            return Err(nothing_to_continue());
        };
        self.undone_calls.clear();
        // What the user ran since the last prompt belongs to this one.
        let mut blocks = prompt.blocks;
        blocks.append(&mut self.shell_blocks);
        let finished = tool_loop.prompt_with(&prompt.text, &blocks, listener).await;
        self.remember_finished(finished)
    }

    /// Continues without a new prompt until the run ends.
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

    /// Resumes a stored session. Returns its queued prompts.
    pub(crate) async fn resume(&mut self, entry: &ChatSessionEntry) -> anyhow::Result<Vec<String>> {
        sessions::check_free(&self.open_store, &entry.id).await?;
        let queued = self.open(&entry.id, &entry.title).await?;
        // What commands printed belongs to the session in which they ran.
        self.shell_blocks.clear();
        Ok(queued)
    }

    /// Switches to a copy of this session. Returns its queued prompts.
    pub(crate) async fn fork(&mut self) -> anyhow::Result<Vec<String>> {
        let ChatSessionState::Open(old, tool_loop) = &self.session else {
            return Err(nothing_to_continue());
        };
        let row = self.open_store.with_store_error(self.open_store.store.session(old).await)?;
        let title = row.map(|row| row.title).unwrap_or_default();
        let id = sessions::new_id();
        // The row is created before the copy, because the folder may differ from the original's.
        let new = self.describe_session(&id, &title);
        self.open_store.with_store_error(self.open_store.store.create_session(new).await)?;
        tool_loop.fork(&id).await.map_err(|error| self.describe_error(error))?;
        self.open(&id, &title).await
    }

    /// The conversation as a request; `None` if there is no prompt yet.
    fn history(&self) -> anyhow::Result<Option<ChatHistory>> {
        let ChatSessionState::Open(_, tool_loop) = &self.session else { return Ok(None) };
        let text =
            tool_loop.to_request(Format::Anthropic).map_err(|error| self.describe_error(error))?;
        Ok(Some(ChatHistory(text)))
    }

    /// Prompts that an earlier process left queued.
    pub(crate) async fn queued(&self) -> anyhow::Result<Vec<String>> {
        match &self.session {
            ChatSessionState::New(_) => Ok(Vec::new()),
            ChatSessionState::Open(_, tool_loop) => {
                tool_loop.inbox().get().await.map_err(|error| self.describe_error(error))
            }
        }
    }

    /// The command that resumes this session; `None` if it is new, or ends with this process.
    pub(crate) fn resume_command(&self) -> Option<String> {
        let store_flag = runs::repeat_store_flag(self.store.as_deref());
        let is_kept = !self.is_new() && self.open_store.url != StoreUrl::Memory;
        is_kept.then(|| format!("foxwedge chat --resume {}{store_flag}", self.session()))
    }

    /// The row of a new session.
    fn describe_session(&self, id: &str, title: &str) -> NewSession {
        sessions::new_session(id, title, &self.folder, self.model())
    }

    /// Opens a session. Returns its queued prompts.
    async fn open(&mut self, id: &str, title: &str) -> anyhow::Result<Vec<String>> {
        let NewSession { id: session, owner, title, meta } = self.describe_session(id, title);
        let defaults = LoopLimits::default();
        let setup = LoopSetup {
            session,
            owner,
            process: runs::current_owner(),
            title,
            meta,
            instructions: self.instructions.clone(),
            limits: LoopLimits { max_turns: self.turns.unwrap_or(defaults.max_turns), ..defaults },
        };
        let opened = ToolLoop::open(
            Arc::clone(&self.open_store.store),
            setup,
            Arc::clone(&self.model),
            self.tools.clone(),
            Arc::clone(&self.approver),
        );
        let tool_loop = opened.await.map_err(|error| self.describe_error(error))?;
        // From here on, queued prompts are saved to this session.
        let queued = tool_loop.inbox().get().await.map_err(|error| self.describe_error(error))?;
        self.run_controller.attach(&tool_loop);
        self.journal.set_session(id);
        self.undone_calls.clear();
        self.session = ChatSessionState::Open(id.to_owned(), Box::new(tool_loop));
        self.last_run = None;
        Ok(queued)
    }

    fn remember_finished(
        &mut self,
        finished: Result<FinishedRun, LoopError>,
    ) -> anyhow::Result<FinishedRun> {
        let finished = finished.map_err(|error| self.describe_error(error))?;
        self.last_run = Some(finished.clone());
        Ok(finished)
    }

    /// Converts an error of the loop to one with a message for people.
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
            error => HelpfulError::new(error.to_string()).into(),
        }
    }
}

fn nothing_to_continue() -> anyhow::Error {
    HelpfulError::new("there is nothing to continue").help("send a prompt first").into()
}
