//! The terminal of `foxwedge chat`: what is settled stands in the scrollback of the terminal, and a
//! few rows below it show what is under way and take what is typed.
//!
//! What is shown and what a key means is decided in `screen`, which is pure; `driver` waits, asks it
//! and does what it says. Nothing that a model or a tool said reaches the terminal as it came: every
//! row is cleaned on its way.

mod row;
mod keys;
mod editor;
mod markdown;
mod calls;
mod approval_prompt;
mod screen;
mod draw;
mod paint;
mod approver;
mod queue_writer;
mod guard;
mod driver;
#[cfg(test)]
mod tests;

use std::{env, io::IsTerminal as _, process::ExitCode, sync::Arc};

use foxwedge_agent_loop::tool_loop::LoopObserver;
use foxwedge_run::{RunEnd, RunSummary};
use foxwedge_tools::ToolFuture;

pub(crate) use approver::{TerminalApprovalInbox, approver};

/// What the terminal drives. It knows models, tools and stores; the terminal knows none of them.
pub(crate) trait TerminalHost: Send {
    /// What can be done while a run is at work.
    fn run_controller(&self) -> Arc<dyn RunController>;

    /// One run, from the prompt to its end. What happens is told to the listener.
    fn run_prompt<'a>(
        &'a mut self,
        prompt: String,
        listener: &'a mut dyn LoopObserver,
    ) -> ToolFuture<'a, anyhow::Result<ChatRunEnd>>;

    /// Does what a line that begins with `/` says.
    fn run_slash_line<'a>(
        &'a mut self,
        line: String,
        listener: &'a mut dyn LoopObserver,
    ) -> ToolFuture<'a, anyhow::Result<CommandReply>>;

    /// What waits in the session that the last command turned to, once; `None` if it did not.
    fn take_switched_queue(&mut self) -> Option<Vec<String>> {
        None
    }

    /// A few words for the status line, such as the model and how full its window is.
    fn status(&self) -> String;

    /// How to come back to this conversation: a command line; `None` if there is nothing to come
    /// back to.
    fn resume_command(&self) -> Option<String>;
}

/// What can be done while a run is at work.
pub(crate) trait RunController: Send + Sync {
    /// An interrupt: the first is a wish, the second is force. One that is not heard did nothing.
    fn interrupt(&self) -> InterruptDelivery;

    /// Keeps what waits for the end of the run, all of it.
    fn save_queue<'a>(&'a self, texts: Vec<String>) -> ToolFuture<'a, anyhow::Result<()>>;
}

/// Whether something was at work that heard an interrupt.
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

/// What a command has to say.
#[derive(Clone, Debug)]
pub(crate) struct CommandReply {
    /// Lines for the person.
    pub(crate) lines: Vec<String>,
    pub(crate) follow_up: CommandFollowUp,
}

/// What happens behind a command.
#[derive(Clone, Debug)]
pub(crate) enum CommandFollowUp {
    /// Nothing.
    Stay,
    /// This stands in the editor now.
    Edit(String),
    /// A run was at work, and this is how it ended.
    Ended(ChatRunEnd),
    /// The terminal is left.
    Leave,
}

/// What the terminal has to know before it begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct TerminalStart {
    /// The lines above everything else: the model, the session, the tools.
    pub(crate) greeting: Vec<String>,
    /// What was said before, to be shown again: who, and what.
    pub(crate) past_items: Vec<TerminalHistoryItem>,
    /// What is sent at once.
    pub(crate) prompt: Option<String>,
    /// What waited when the last process ended.
    pub(crate) queued: Vec<String>,
    /// What was typed before, the oldest first.
    pub(crate) history: Vec<String>,
    /// Commands by name, with what they do: `("/compact", "makes the history shorter")`.
    pub(crate) commands: Vec<(String, String)>,
}

/// Something from before.
#[derive(Clone, Debug)]
pub(crate) enum TerminalHistoryItem {
    /// A prompt.
    Prompt(String),
    /// What the model said.
    Text(String),
    /// A call, on one line, with its mark.
    Call(String),
}

/// Whether somebody sits at a terminal that can be drawn on.
pub(crate) fn is_available() -> bool {
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    !dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Runs the terminal until somebody leaves it. It is as it was before when this returns, and when
/// something panics.
pub(crate) async fn run(
    host: &mut dyn TerminalHost,
    questions: TerminalApprovalInbox,
    start: TerminalStart,
) -> anyhow::Result<ExitCode> {
    driver::run(host, questions, start).await
}
