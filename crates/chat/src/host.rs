//! The conversation as the host of the terminal.

use std::sync::Arc;

use foxwedge_agent_loop::tool_loop::{FinishedRun, LoopObserver};
use foxwedge_tools::ToolFuture;

use super::{
    ChatAgent, ChatSessionState,
    attachments::ChatPrompt,
    call_mark::CallMark,
    history::ChatHistoryItem,
    slash,
    terminal::{
        ChatRunEnd, CommandReply, RunController, TerminalHistoryItem, TerminalHost, TerminalStart,
    },
};
use foxwedge_local::{language::localize, output::clean, runs::draw::SignSet, screen};

/// Maximum number of earlier items that are shown again.
const MAX_PAST_ITEMS: usize = 60;
/// Maximum number of earlier prompts in the editor's history.
const MAX_PROMPT_HISTORY: usize = 200;

impl TerminalHost for ChatAgent {
    fn run_controller(&self) -> Arc<dyn RunController> {
        Arc::new(self.run_controller())
    }

    fn run_prompt<'a>(
        &'a mut self,
        prompt: String,
        listener: &'a mut dyn LoopObserver,
    ) -> ToolFuture<'a, anyhow::Result<ChatRunEnd>> {
        Box::pin(async move {
            let prompt = ChatPrompt::read(&prompt, self.workspace.root())?;
            let FinishedRun { ended, summary, .. } = self.prompt(prompt, listener).await?;
            Ok(ChatRunEnd { ended, summary })
        })
    }

    fn run_slash_line<'a>(
        &'a mut self,
        line: String,
        listener: &'a mut dyn LoopObserver,
    ) -> ToolFuture<'a, anyhow::Result<CommandReply>> {
        Box::pin(async move {
            match line.strip_prefix('!') {
                Some(command) => self.run_shell(command.trim()).await,
                None => self.run_line(&line, listener).await,
            }
        })
    }

    fn take_switched_queue(&mut self) -> Option<Vec<String>> {
        self.switched_queue.take()
    }

    fn status(&self) -> String {
        let mut parts = vec![clean(self.model())];
        if let ChatSessionState::Open(_, tool_loop) = &self.session
            && let Some(tokens) = tool_loop.tokens()
        {
            parts.push(
                localize(match self.model.about().window.filter(|window| *window > 0) {
                    Some(window) => {
                        let percent = (tokens * 100).div_ceil(window);
                        format!("{} tokens, {percent}% of the context", short_number(tokens))
                    }
                    None => format!("{} {}", short_number(tokens), localize("tokens")),
                })
                .into_owned(),
            );
        }
        let home = foxwedge_local::agents::home_folder();
        parts.push(clean(&screen::abbreviate_home(&self.folder, home.as_deref())));
        parts.join(SignSet::here().dot())
    }

    fn resume_command(&self) -> Option<String> {
        ChatAgent::resume_command(self)
    }
}

/// A number in few characters: `950`, `12.3k`, `1.2M`.
fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}.{}k", number / 1_000, number / 100 % 10),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

impl ChatAgent {
    /// The initial state of the terminal.
    pub(crate) async fn terminal_start(
        &self,
        greeting: Vec<String>,
        prompt: Option<String>,
    ) -> anyhow::Result<TerminalStart> {
        let items = match self.history()? {
            Some(chat_history) => chat_history.items()?,
            None => Vec::new(),
        };
        let prompts = items.iter().filter_map(|item| match item {
            ChatHistoryItem::Prompt(text) => Some(text.clone()),
            ChatHistoryItem::Text(_) | ChatHistoryItem::Call(..) => None,
        });
        let prompts: Vec<String> = prompts.collect();
        let history =
            prompts.get(prompts.len().saturating_sub(MAX_PROMPT_HISTORY)..).unwrap_or_default();
        let signs = SignSet::here();
        let from = items.len().saturating_sub(MAX_PAST_ITEMS);
        let past_items = items.into_iter().skip(from).map(|item| match item {
            ChatHistoryItem::Prompt(text) => TerminalHistoryItem::Prompt(text),
            ChatHistoryItem::Text(text) => TerminalHistoryItem::Text(text),
            ChatHistoryItem::Call(name, subject, status) => {
                let mark = CallMark::of(signs, status, None, None);
                let (name, text) = (clean(&name), mark.text);
                TerminalHistoryItem::Call(format!("{} {name}  {subject}  {text}", mark.sign))
            }
        });
        let commands = slash::SLASH_COMMANDS.iter();
        let commands = commands.map(|entry| (format!("/{}", entry.name), entry.help.to_owned()));
        Ok(TerminalStart {
            greeting,
            past_items: past_items.collect(),
            prompt,
            queued: self.queued().await?,
            history: history.to_vec(),
            commands: commands.collect(),
            changes: self.journal.recent.clone(),
            workspace: Some(self.workspace.clone()),
        })
    }
}
