//! The terminal interface of `foxwedge chat`: finished output goes to the scrollback of the
//! terminal; a few live rows below show what is in progress, and the editor.
//!
//! `screen` decides what is shown and what a key means. It is pure; `driver` waits for events,
//! passes them to the screen and performs the resulting actions. Output of models and tools never
//! reaches the terminal unchanged: every row is sanitized.

mod row;
mod keys;
mod editor;
mod markdown;
mod diff;
mod calls;
mod approval_prompt;
mod screen;
mod draw;
mod paint;
mod approver;
mod queue_writer;
mod guard;
mod driver;
pub(crate) mod picker;
#[cfg(test)]
mod tests;

use std::{env, io::IsTerminal as _, process::ExitCode, sync::Arc};

use foxwedge_agent_loop::tool_loop::LoopObserver;
use foxwedge_run::{RunEnd, RunSummary};
use foxwedge_tools::{ToolFuture, ToolWorkspace};

use crate::file_journal::RecentChanges;

pub(crate) use approver::{TerminalApprovalInbox, approver};

/// The conversation behind the terminal. It hides models, tools and stores from the terminal.
pub(crate) trait TerminalHost: Send {
    /// A handle that controls a run while it is open.
    fn run_controller(&self) -> Arc<dyn RunController>;

    /// Runs a prompt until the run ends. The listener receives the events.
    fn run_prompt<'a>(
        &'a mut self,
        prompt: String,
        listener: &'a mut dyn LoopObserver,
    ) -> ToolFuture<'a, anyhow::Result<ChatRunEnd>>;

    /// Runs a line that starts with `/`.
    fn run_slash_line<'a>(
        &'a mut self,
        line: String,
        listener: &'a mut dyn LoopObserver,
    ) -> ToolFuture<'a, anyhow::Result<CommandReply>>;

    /// Takes the queued prompts of the session that the last command switched to; `None` if it did
    /// not switch.
    fn take_switched_queue(&mut self) -> Option<Vec<String>> {
        None
    }

    /// A short text for the status line, such as the model.
    fn status(&self) -> String;

    /// The command that resumes this conversation; `None` if it has no prompt yet.
    fn resume_command(&self) -> Option<String>;
}

/// Controls a run while it is open.
pub(crate) trait RunController: Send + Sync {
    /// Interrupts the run: the first call asks it to stop, the second forces it.
    fn interrupt(&self) -> InterruptDelivery;

    /// Saves all queued prompts.
    fn save_queue<'a>(&'a self, texts: Vec<String>) -> ToolFuture<'a, anyhow::Result<()>>;
}

/// Whether an interrupt reached a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InterruptDelivery {
    Delivered,
    NotRunning,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub(crate) struct ChatRunEnd {
    pub(crate) ended: RunEnd,
    pub(crate) summary: RunSummary,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub(crate) struct CommandReply {
    /// Lines to show.
    pub(crate) lines: Vec<String>,
    pub(crate) follow_up: CommandFollowUp,
}

/// What to do after a command.
#[derive(Clone, Debug)]
pub(crate) enum CommandFollowUp {
    /// Nothing.
    Stay,
    /// Put this text into the editor.
    Edit(String),
    /// The command ran the model, and the run ended like this.
    Ended(ChatRunEnd),
    /// Exit.
    Leave,
}

/// The initial state of the terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct TerminalStart {
    /// The first lines: the model and the folder.
    pub(crate) greeting: Vec<String>,
    /// Earlier messages and calls, to be shown again.
    pub(crate) past_items: Vec<TerminalHistoryItem>,
    /// A prompt to send at once.
    pub(crate) prompt: Option<String>,
    /// Prompts that an earlier process left queued.
    pub(crate) queued: Vec<String>,
    /// Earlier prompts for the editor's history, oldest first.
    pub(crate) history: Vec<String>,
    /// Commands with their help: `("/compact", "compact the history now")`.
    pub(crate) commands: Vec<(String, String)>,
    /// What tools change in files, for the rows of their calls.
    pub(crate) changes: RecentChanges,
    /// The folder whose files are offered after an `@`.
    pub(crate) workspace: Option<ToolWorkspace>,
}

/// An earlier message or call.
#[derive(Clone, Debug)]
pub(crate) enum TerminalHistoryItem {
    /// A prompt.
    Prompt(String),
    /// Text of the model.
    Text(String),
    /// A tool call on one line, with its status.
    Call(String),
}

/// Whether stdin and stdout are a terminal that can be drawn on.
pub(crate) fn is_available() -> bool {
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    !dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Runs the terminal interface until the user leaves. The terminal is restored on return and on
/// panic.
pub(crate) async fn run(
    host: &mut dyn TerminalHost,
    questions: TerminalApprovalInbox,
    start: TerminalStart,
) -> anyhow::Result<ExitCode> {
    driver::run(host, questions, start).await
}
