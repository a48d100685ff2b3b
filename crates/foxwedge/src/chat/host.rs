//! What the terminal asks of a conversation.

use std::sync::Arc;

use foxwedge_engine::tool_loop::{Finished, Listener};
use foxwedge_tools::Future;

use super::{
    Chat,
    marks::Mark,
    paper::Said,
    slash,
    terminal::{Before, Desk, Ending, Host, Reply, Start},
};
use crate::{runs::draw::Signs, say::clean};

/// Things said before that are shown again, at most.
const BEFORE: usize = 60;
/// Prompts that can be typed again with a key.
const HISTORY: usize = 200;

impl Host for Chat {
    fn desk(&self) -> Arc<dyn Desk> {
        Arc::new(self.reception())
    }

    fn say<'a>(
        &'a mut self,
        prompt: String,
        listener: &'a mut dyn Listener,
    ) -> Future<'a, anyhow::Result<Ending>> {
        Box::pin(async move {
            let Finished { ended, summary, .. } = self.prompt(&prompt, listener).await?;
            Ok(Ending { ended, summary })
        })
    }

    fn command<'a>(
        &'a mut self,
        line: String,
        listener: &'a mut dyn Listener,
    ) -> Future<'a, anyhow::Result<Reply>> {
        Box::pin(async move { self.typed(&line, listener).await })
    }

    fn turned(&mut self) -> Option<Vec<String>> {
        self.turned.take()
    }

    fn status(&self) -> String {
        clean(self.model())
    }

    fn comeback(&self) -> Option<String> {
        Chat::comeback(self)
    }
}

impl Chat {
    /// What the terminal has to know before it begins.
    pub(crate) async fn start(
        &self,
        greeting: Vec<String>,
        prompt: Option<String>,
    ) -> anyhow::Result<Start> {
        let said = match self.paper()? {
            Some(paper) => paper.said()?,
            None => Vec::new(),
        };
        let prompts = said.iter().filter_map(|said| match said {
            Said::Prompt(text) => Some(text.clone()),
            Said::Text(_) | Said::Call(..) => None,
        });
        let prompts: Vec<String> = prompts.collect();
        let history = prompts.get(prompts.len().saturating_sub(HISTORY)..).unwrap_or_default();
        let signs = Signs::here();
        let from = said.len().saturating_sub(BEFORE);
        let before = said.into_iter().skip(from).map(|said| match said {
            Said::Prompt(text) => Before::Prompt(text),
            Said::Text(text) => Before::Text(text),
            Said::Call(name, about, status) => {
                let mark = Mark::of(signs, status, None, None);
                let (name, words) = (clean(&name), mark.words);
                Before::Call(format!("{} {name}  {about}  {words}", mark.sign))
            }
        });
        let commands = slash::TABLE.iter();
        let commands = commands.map(|entry| (format!("/{}", entry.name), entry.help.to_owned()));
        Ok(Start {
            greeting,
            before: before.collect(),
            prompt,
            queued: self.queued().await?,
            history: history.to_vec(),
            commands: commands.collect(),
        })
    }
}
