//! What commands behind a slash do.

use std::time::SystemTime;

use foxwedge_agent_loop::tool_loop::{
    CompactOptions, FinishedRun, LoopCompaction, LoopError, LoopObserver,
};
use foxwedge_tools::ToolEffect;

use super::{
    ChatAgent, ChatSessionState,
    history::ChatExportHeader,
    line_printer::describe_compaction,
    sessions, setup,
    slash::{self, ChatInputLine, SlashCommand},
    terminal::{ChatRunEnd, CommandFollowUp, CommandReply},
};
use crate::{
    cli_output::{CliError, clean, cut, pluralize},
    command::serve::environment::LocalEnvironment,
    runs::draw,
};

/// Sessions that are listed without being asked for more.
const MAX_LISTED_SESSIONS: usize = 20;
/// Characters of what a tool does that are told.
const MAX_TOOL_CHARS: usize = 100;

impl ChatAgent {
    /// Does what a line that begins with a slash says.
    pub(crate) async fn run_line(
        &mut self,
        line: &str,
        listener: &mut dyn LoopObserver,
    ) -> anyhow::Result<CommandReply> {
        match slash::parse(line) {
            ChatInputLine::Empty => Ok(reply_with_lines(Vec::new())),
            ChatInputLine::Command(command) => self.run_command(command, listener).await,
            ChatInputLine::Unknown(unknown) => {
                Err(CliError::new(unknown.message).help(unknown.help).into())
            }
            ChatInputLine::Prompt(prompt) => {
                let finished = self.prompt(&prompt, listener).await?;
                Ok(reply_run_ended(finished))
            }
        }
    }

    /// Does what was asked for.
    pub(crate) async fn run_command(
        &mut self,
        command: SlashCommand,
        listener: &mut dyn LoopObserver,
    ) -> anyhow::Result<CommandReply> {
        Ok(match command {
            SlashCommand::Help => {
                reply_with_lines(slash::help_text().lines().map(str::to_owned).collect())
            }
            SlashCommand::Continue => reply_run_ended(self.continue_run(listener).await?),
            SlashCommand::Compact(focus) => {
                reply_with_lines(vec![self.compact(focus, listener).await?])
            }
            SlashCommand::Undo => self.undo().await?,
            SlashCommand::Resume(None) => reply_with_lines(self.list_sessions().await?),
            SlashCommand::Resume(Some(id)) => {
                let all = sessions::list_all(&self.open_store).await?;
                let known = sessions::pick(&all, &id)?;
                self.switched_queue = Some(self.resume(known).await?);
                reply_with_lines(vec![format!(
                    "going on with `{}`: {}",
                    known.id,
                    clean(&known.title)
                )])
            }
            SlashCommand::Fork => {
                let old = self.session().to_owned();
                self.switched_queue = Some(self.fork().await?);
                reply_with_lines(vec![format!(
                    "this is `{}` now, a copy of `{old}`",
                    self.session()
                )])
            }
            SlashCommand::Export(wish) => reply_with_lines(vec![self.export(wish.as_deref())?]),
            SlashCommand::Model(None) => {
                reply_with_lines(vec![format!("the model is `{}`", clean(self.model()))])
            }
            SlashCommand::Model(Some(name)) => reply_with_lines(self.switch_model(&name)?),
            SlashCommand::Tools => reply_with_lines(self.describe_tools()),
            SlashCommand::Status => reply_with_lines(self.describe_status()?),
            SlashCommand::New => {
                self.session = ChatSessionState::New(sessions::new_id());
                self.run_controller.detach();
                self.last_run = None;
                self.switched_queue = Some(Vec::new());
                reply_with_lines(vec!["a new session begins with the next prompt".to_owned()])
            }
            SlashCommand::Quit => {
                CommandReply { lines: Vec::new(), follow_up: CommandFollowUp::Leave }
            }
        })
    }

    async fn compact(
        &mut self,
        focus: Option<String>,
        listener: &mut dyn LoopObserver,
    ) -> anyhow::Result<String> {
        let ChatSessionState::Open(_, tool_loop) = &mut self.session else {
            return Ok("there is nothing to make shorter".to_owned());
        };
        let done = tool_loop.compact(CompactOptions { focus }, listener).await;
        Ok(match done {
            // Nothing is lost by it: the history stays as it is.
            Err(LoopError::Compaction(why)) => {
                format!("the history stays as it is: {}", clean(&why))
            }
            Err(error) => return Err(self.describe_error(error)),
            Ok(LoopCompaction::Compacted { before, after }) => describe_compaction(before, after),
            Ok(LoopCompaction::NothingToGain) => {
                "there is nothing to gain: the history is as short as it can be".to_owned()
            }
            Ok(LoopCompaction::Stopped) => "stopped: the history stays as it is".to_owned(),
        })
    }

    async fn undo(&mut self) -> anyhow::Result<CommandReply> {
        let ChatSessionState::Open(_, tool_loop) = &mut self.session else {
            return Ok(reply_with_lines(vec!["there is no prompt to take back".to_owned()]));
        };
        let undone = tool_loop.undo().await.map_err(|error| self.describe_error(error))?;
        Ok(match undone {
            Some(prompt) => {
                let told = "the last prompt and what followed is taken back; files are as they are";
                CommandReply {
                    lines: vec![told.to_owned()],
                    follow_up: CommandFollowUp::Edit(prompt),
                }
            }
            None => reply_with_lines(vec!["there is no prompt to take back".to_owned()]),
        })
    }

    async fn list_sessions(&self) -> anyhow::Result<Vec<String>> {
        let all = sessions::list_all(&self.open_store).await?;
        if all.is_empty() {
            return Ok(vec!["no session was kept yet".to_owned()]);
        }
        let shown = all.get(..MAX_LISTED_SESSIONS).unwrap_or(&all);
        let table = sessions::table(shown, SystemTime::now(), None);
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        lines.push("`/resume ID` goes on with one".to_owned());
        Ok(lines)
    }

    fn export(&self, wish: Option<&str>) -> anyhow::Result<String> {
        let Some(paper) = self.history()? else {
            return Ok("there is nothing to export yet".to_owned());
        };
        let about =
            ChatExportHeader { session: self.session(), model: self.model(), folder: &self.folder };
        let path = paper.export(wish, about)?;
        Ok(format!("exported to {}", clean(&path.to_string_lossy())))
    }

    fn switch_model(&mut self, name: &str) -> anyhow::Result<Vec<String>> {
        let choice = self.models.choose(Some(name), &LocalEnvironment)?;
        self.model = setup::build_model(&choice)?;
        if let ChatSessionState::Open(_, tool_loop) = &mut self.session {
            tool_loop.set_model(std::sync::Arc::clone(&self.model));
        }
        let mut told = vec![format!("the model is `{}` from now on", clean(self.model()))];
        told.extend(setup::left_out_tools_note(&self.tools, self.model.about()));
        Ok(told)
    }

    fn describe_tools(&self) -> Vec<String> {
        if self.tools.is_empty() {
            return vec!["there are no tools".to_owned()];
        }
        let widest = self.tools.iter().map(|tool| tool.spec().name.len()).max().unwrap_or(0);
        let line = |about: &foxwedge_tools::ToolSpec| {
            let asks = match about.effect {
                ToolEffect::Reads => "reads",
                ToolEffect::Writes if self.allowed.has(&about.name) => "allowed",
                ToolEffect::Writes => "asks   ",
            };
            let first = about.description.lines().next().unwrap_or_default();
            let (name, told) = (clean(&about.name), clean(&cut(first, MAX_TOOL_CHARS)));
            format!("{name:widest$}  {asks:7}  {told}")
        };
        self.tools.iter().map(|tool| line(tool.spec())).collect()
    }

    fn describe_status(&self) -> anyhow::Result<Vec<String>> {
        let mut lines = vec![
            format!(
                "session  {}{}",
                self.session(),
                if self.is_new() { " (not begun)" } else { "" }
            ),
            format!("folder   {}", clean(&self.folder)),
            format!("store    {}", clean(&self.open_store.url.to_string())),
            format!("model    {}", clean(self.model())),
        ];
        if let Some(paper) = self.history()? {
            let size = paper.size(self.model())?;
            let window = match self.model.about().window {
                Some(window) => format!(" of {window}"),
                None => String::new(),
            };
            let (messages, calls) =
                (pluralize(size.messages, "message"), pluralize(size.calls, "call"));
            lines.push(format!(
                "history  {messages}, {calls}, about {} tokens{window}",
                size.tokens
            ));
            lines.push(match size.findings {
                0 => "health   valid: a provider takes it as it is".to_owned(),
                number => format!("health   {}", pluralize(number, "finding")),
            });
        }
        lines.extend(self.last_run.as_ref().map(|last| format!("last run {}", describe_run(last))));
        Ok(lines)
    }
}

/// A run in one line.
fn describe_run(finished: &FinishedRun) -> String {
    let outcome = finished.ended.outcome.map_or("ended", draw::outcome_text);
    let calls = draw::format_call_counts(&finished.summary);
    let usage = finished.ended.usage.unwrap_or_default();
    format!(
        "{} {outcome}, {calls}, {} tokens in ({} cached), {} out",
        finished.run, usage.input, usage.cached, usage.output
    )
}

fn reply_with_lines(lines: Vec<String>) -> CommandReply {
    CommandReply { lines, follow_up: CommandFollowUp::Stay }
}

pub(super) fn reply_run_ended(finished: FinishedRun) -> CommandReply {
    let FinishedRun { ended, summary, .. } = finished;
    CommandReply {
        lines: Vec::new(),
        follow_up: CommandFollowUp::Ended(ChatRunEnd { ended, summary }),
    }
}
