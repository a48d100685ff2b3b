//! Execution of slash commands.

use std::time::SystemTime;

use foxwedge_agent_loop::tool_loop::{
    CompactOptions, FinishedRun, LoopCompaction, LoopError, LoopObserver, UndonePrompt,
};
use foxwedge_tools::ToolEffect;

use super::{
    ChatAgent, ChatSessionState,
    file_journal::RestoredFile,
    history::ChatExportHeader,
    line_printer::describe_compaction,
    sessions, setup,
    slash::{self, ChatInputLine, SlashCommand, UndoScope},
    terminal::{ChatRunEnd, CommandFollowUp, CommandReply},
};
use foxwedge_gateway::config::LocalEnvironment;
use foxwedge_local::{
    language::localize,
    output::{HelpfulError, clean, cut, pluralize},
    runs::draw,
    screen::pad,
};

/// Maximum number of sessions that `/resume` lists.
const MAX_LISTED_SESSIONS: usize = 20;
/// Maximum length of a tool description in `/tools`.
const MAX_TOOL_CHARS: usize = 56;

impl ChatAgent {
    /// Runs an input line: a slash command or a prompt.
    pub(crate) async fn run_line(
        &mut self,
        line: &str,
        listener: &mut dyn LoopObserver,
    ) -> anyhow::Result<CommandReply> {
        match slash::parse(line) {
            ChatInputLine::Empty => Ok(reply_with_lines(Vec::new())),
            ChatInputLine::Command(command) => self.run_command(command, listener).await,
            ChatInputLine::Unknown(unknown) => {
                Err(HelpfulError::new(unknown.message).help(unknown.help).into())
            }
            ChatInputLine::Prompt(prompt) => {
                let finished = self.prompt(prompt.as_str().into(), listener).await?;
                Ok(reply_run_ended(finished))
            }
        }
    }

    /// Runs a slash command.
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
            SlashCommand::Undo(scope) => self.undo(scope).await?,
            SlashCommand::Resume(None) => reply_with_lines(self.list_sessions().await?),
            SlashCommand::Resume(Some(id)) => {
                let all = sessions::list_all(&self.open_store).await?;
                let entry = sessions::pick(&all, &id)?;
                self.switched_queue = Some(self.resume(entry).await?);
                reply_with_lines(vec![format!("resumed `{}`: {}", entry.id, clean(&entry.title))])
            }
            SlashCommand::Fork => {
                let old = self.session().to_owned();
                self.switched_queue = Some(self.fork().await?);
                reply_with_lines(vec![format!(
                    "switched to `{}`, a copy of `{old}`",
                    self.session()
                )])
            }
            SlashCommand::Export(target) => reply_with_lines(vec![self.export(target.as_deref())?]),
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
                self.shell_blocks.clear();
                self.undone_calls.clear();
                self.switched_queue = Some(Vec::new());
                reply_with_lines(vec!["the next prompt starts a new session".to_owned()])
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
            return Ok("there is nothing to compact".to_owned());
        };
        let result = tool_loop.compact(CompactOptions { focus }, listener).await;
        Ok(match result {
            // A failed compaction loses nothing.
            Err(LoopError::Compaction(why)) => {
                format!("the history is not changed: {}", clean(&why))
            }
            Err(error) => return Err(self.describe_error(error)),
            Ok(LoopCompaction::Compacted { before, after }) => describe_compaction(before, after),
            Ok(LoopCompaction::NothingToGain) => {
                "the history is already as short as possible".to_owned()
            }
            Ok(LoopCompaction::Stopped) => "stopped: the history is not changed".to_owned(),
        })
    }

    async fn undo(&mut self, scope: UndoScope) -> anyhow::Result<CommandReply> {
        if scope == UndoScope::WithFiles && !self.undone_calls.is_empty() {
            let calls = std::mem::take(&mut self.undone_calls);
            return Ok(reply_with_lines(self.restore_files(&calls)));
        }
        let ChatSessionState::Open(_, tool_loop) = &mut self.session else {
            return Ok(reply_with_lines(vec!["there is no prompt to undo".to_owned()]));
        };
        let undone = tool_loop.undo().await.map_err(|error| self.describe_error(error))?;
        let Some(UndonePrompt { text, calls }) = undone else {
            return Ok(reply_with_lines(vec!["there is no prompt to undo".to_owned()]));
        };
        let mut lines = vec!["the last prompt and its replies are undone".to_owned()];
        match (scope, self.journal.count_files(&calls)) {
            (_, 0) => {}
            (UndoScope::WithFiles, _) => lines.extend(self.restore_files(&calls)),
            (UndoScope::Conversation, files) => {
                let files = pluralize(files, "file");
                lines.push(format!("it changed {files}: `/undo files` restores what was there"));
                self.undone_calls = calls;
            }
        }
        Ok(CommandReply { follow_up: CommandFollowUp::Edit(text), ..reply_with_lines(lines) })
    }

    /// Takes back what calls changed in files, and says so.
    fn restore_files(&self, calls: &[String]) -> Vec<String> {
        let restored = self.journal.restore(calls, &self.workspace);
        let line = |(path, result): &RestoredFile| {
            let path = clean(&path.to_string_lossy());
            match result {
                Ok(()) => format!("restored {path}"),
                Err(error) => format!("not restored: {path}: {}", clean(&error.to_string())),
            }
        };
        restored.iter().map(line).collect()
    }

    async fn list_sessions(&self) -> anyhow::Result<Vec<String>> {
        let all = sessions::list_all(&self.open_store).await?;
        if all.is_empty() {
            return Ok(vec!["there are no sessions yet".to_owned()]);
        }
        let shown = all.get(..MAX_LISTED_SESSIONS).unwrap_or(&all);
        let table = sessions::table(shown, SystemTime::now(), None);
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        lines.push("`/resume ID` resumes one".to_owned());
        Ok(lines)
    }

    fn export(&self, target: Option<&str>) -> anyhow::Result<String> {
        let Some(history) = self.history()? else {
            return Ok("there is nothing to export yet".to_owned());
        };
        let header =
            ChatExportHeader { session: self.session(), model: self.model(), folder: &self.folder };
        let path = history.export(target, header)?;
        Ok(format!("exported to {}", clean(&path.to_string_lossy())))
    }

    fn switch_model(&mut self, name: &str) -> anyhow::Result<Vec<String>> {
        let choice = self.models.choose(Some(name), &LocalEnvironment)?;
        self.model = setup::build_model(&choice, &self.network)?;
        if let ChatSessionState::Open(_, tool_loop) = &mut self.session {
            tool_loop.set_model(std::sync::Arc::clone(&self.model));
        }
        let mut lines = vec![format!("the model is now `{}`", clean(self.model()))];
        lines.extend(setup::left_out_tools_note(&self.tools, self.model.about()));
        Ok(lines)
    }

    fn describe_tools(&self) -> Vec<String> {
        if self.tools.is_empty() {
            return vec!["there are no tools".to_owned()];
        }
        let widest = self.tools.iter().map(|tool| tool.spec().name.len()).max().unwrap_or(0);
        let line = |spec: &foxwedge_tools::ToolSpec| {
            let access = match spec.effect {
                ToolEffect::Reads => "reads",
                ToolEffect::Writes if self.allowed.has(&spec.name) => "allowed",
                ToolEffect::Writes => "asks",
            };
            let first = spec.description.lines().next().unwrap_or_default();
            let access = pad(&localize(access), 7);
            let (name, summary) = (clean(&spec.name), clean(&cut(first, MAX_TOOL_CHARS)));
            format!("{name:widest$}  {access}  {summary}")
        };
        let mut lines: Vec<String> = self.tools.iter().map(|tool| line(tool.spec())).collect();
        lines.extend(self.allowed.rules.describe().iter().map(|line| clean(line)));
        lines
    }

    fn describe_status(&self) -> anyhow::Result<Vec<String>> {
        let mut lines = vec![
            format!(
                "session  {}{}",
                self.session(),
                if self.is_new() { " (not started)" } else { "" }
            ),
            format!("folder   {}", clean(&self.folder)),
            format!("store    {}", clean(&self.open_store.url.to_string())),
            format!("model    {}", clean(self.model())),
        ];
        if let Some(history) = self.history()? {
            let size = history.size(self.model())?;
            let window = match self.model.about().window {
                Some(window) => format!(" of {window}"),
                None => String::new(),
            };
            let (messages, calls) =
                (pluralize(size.messages, "message"), pluralize(size.calls, "tool call"));
            lines.push(format!(
                "history  {messages}, {calls}, about {} tokens{window}",
                size.tokens
            ));
            lines.push(match size.findings {
                0 => "health   valid: a provider accepts it as it is".to_owned(),
                number => format!("health   {}", pluralize(number, "finding")),
            });
        }
        lines.extend(self.last_run.as_ref().map(|last| format!("last run {}", describe_run(last))));
        Ok(lines)
    }
}

/// Formats a run in one line.
fn describe_run(finished: &FinishedRun) -> String {
    let outcome = finished.ended.outcome.map_or("ended", draw::outcome_text);
    let calls = draw::format_call_counts(&finished.summary);
    let usage = finished.ended.usage.unwrap_or_default();
    let outcome = localize(outcome);
    format!(
        "{} {outcome}, {calls}, {} tokens in ({} cached), {} out",
        finished.run, usage.input, usage.cached, usage.output
    )
}

pub(super) fn reply_with_lines(lines: Vec<String>) -> CommandReply {
    let lines = lines.into_iter().map(|line| localize(line).into_owned()).collect();
    CommandReply { lines, follow_up: CommandFollowUp::Stay }
}

pub(super) fn reply_run_ended(finished: FinishedRun) -> CommandReply {
    let FinishedRun { ended, summary, .. } = finished;
    CommandReply {
        lines: Vec::new(),
        follow_up: CommandFollowUp::Ended(ChatRunEnd { ended, summary }),
    }
}
