//! What the terminal asks of a conversation.

use std::sync::Arc;

use foxwedge_agent_loop::tool_loop::{FinishedRun, LoopObserver};
use foxwedge_tools::ToolFuture;

use super::{
    ChatAgent,
    call_mark::CallMark,
    history::ChatHistoryItem,
    slash,
    terminal::{
        ChatRunEnd, CommandReply, RunController, TerminalHistoryItem, TerminalHost, TerminalStart,
    },
};
use crate::{cli_output::clean, runs::draw::SignSet};

/// Things said before that are shown again, at most.
const MAX_PAST_ITEMS: usize = 60;
/// Prompts that can be typed again with a key.
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
            let FinishedRun { ended, summary, .. } = self.prompt(&prompt, listener).await?;
            Ok(ChatRunEnd { ended, summary })
        })
    }

    fn run_slash_line<'a>(
        &'a mut self,
        line: String,
        listener: &'a mut dyn LoopObserver,
    ) -> ToolFuture<'a, anyhow::Result<CommandReply>> {
        Box::pin(async move { self.run_line(&line, listener).await })
    }

    fn take_switched_queue(&mut self) -> Option<Vec<String>> {
        self.switched_queue.take()
    }

    fn status(&self) -> String {
        clean(self.model())
    }

    fn resume_command(&self) -> Option<String> {
        ChatAgent::resume_command(self)
    }
}

impl ChatAgent {
    /// What the terminal has to know before it begins.
    pub(crate) async fn terminal_start(
        &self,
        greeting: Vec<String>,
        prompt: Option<String>,
    ) -> anyhow::Result<TerminalStart> {
        let said = match self.history()? {
            Some(paper) => paper.items()?,
            None => Vec::new(),
        };
        let prompts = said.iter().filter_map(|said| match said {
            ChatHistoryItem::Prompt(text) => Some(text.clone()),
            ChatHistoryItem::Text(_) | ChatHistoryItem::Call(..) => None,
        });
        let prompts: Vec<String> = prompts.collect();
        let history =
            prompts.get(prompts.len().saturating_sub(MAX_PROMPT_HISTORY)..).unwrap_or_default();
        let signs = SignSet::here();
        let from = said.len().saturating_sub(MAX_PAST_ITEMS);
        let before = said.into_iter().skip(from).map(|said| match said {
            ChatHistoryItem::Prompt(text) => TerminalHistoryItem::Prompt(text),
            ChatHistoryItem::Text(text) => TerminalHistoryItem::Text(text),
            ChatHistoryItem::Call(name, about, status) => {
                let mark = CallMark::of(signs, status, None, None);
                let (name, words) = (clean(&name), mark.text);
                TerminalHistoryItem::Call(format!("{} {name}  {about}  {words}", mark.sign))
            }
        });
        let commands = slash::SLASH_COMMANDS.iter();
        let commands = commands.map(|entry| (format!("/{}", entry.name), entry.help.to_owned()));
        Ok(TerminalStart {
            greeting,
            past_items: before.collect(),
            prompt,
            queued: self.queued().await?,
            history: history.to_vec(),
            commands: commands.collect(),
        })
    }
}
