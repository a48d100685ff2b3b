//! What commands behind a slash do.

use std::time::SystemTime;

use foxwedge_engine::tool_loop::{Compaction, Finished, Listener, LoopError, Wish};
use foxwedge_tools::Effect;

use super::{
    Chat, Session,
    lines::compacted,
    paper::About,
    sessions,
    slash::{self, Command, Line},
    terminal::{Ending, Reply, Then},
    world,
};
use crate::{
    command::serve::machine::Machine,
    runs::draw,
    say::{Trouble, clean, count, cut},
};

/// Sessions that are listed without being asked for more.
const LISTED: usize = 20;
/// Characters of what a tool does that are told.
const TOLD: usize = 100;

impl Chat {
    /// Does what a line that begins with a slash says.
    pub(crate) async fn typed(
        &mut self,
        line: &str,
        listener: &mut dyn Listener,
    ) -> anyhow::Result<Reply> {
        match slash::parse(line) {
            Line::Empty => Ok(reply(Vec::new())),
            Line::Command(command) => self.command(command, listener).await,
            Line::Unknown(unknown) => Err(Trouble::new(unknown.message).help(unknown.help).into()),
            Line::Prompt(prompt) => {
                let finished = self.prompt(&prompt, listener).await?;
                Ok(ended(finished))
            }
        }
    }

    /// Does what was asked for.
    pub(crate) async fn command(
        &mut self,
        command: Command,
        listener: &mut dyn Listener,
    ) -> anyhow::Result<Reply> {
        Ok(match command {
            Command::Help => reply(slash::help().lines().map(str::to_owned).collect()),
            Command::Continue => ended(self.go_on(listener).await?),
            Command::Compact(focus) => reply(vec![self.compact(focus, listener).await?]),
            Command::Undo => self.undo().await?,
            Command::Resume(None) => reply(self.list().await?),
            Command::Resume(Some(id)) => {
                let all = sessions::all(&self.kept).await?;
                let known = sessions::pick(&all, &id)?;
                self.turned = Some(self.resume(known).await?);
                reply(vec![format!("going on with `{}`: {}", known.id, clean(&known.title))])
            }
            Command::Fork => {
                let old = self.session().to_owned();
                self.turned = Some(self.fork().await?);
                reply(vec![format!("this is `{}` now, a copy of `{old}`", self.session())])
            }
            Command::Export(wish) => reply(vec![self.export(wish.as_deref())?]),
            Command::Model(None) => reply(vec![format!("the model is `{}`", clean(self.model()))]),
            Command::Model(Some(name)) => reply(self.turn_to(&name)?),
            Command::Tools => reply(self.tell_tools()),
            Command::Status => reply(self.tell_status()?),
            Command::New => {
                self.session = Session::New(sessions::fresh());
                self.reception.leave();
                self.last = None;
                self.turned = Some(Vec::new());
                reply(vec!["a new session begins with the next prompt".to_owned()])
            }
            Command::Quit => Reply { lines: Vec::new(), then: Then::Leave },
        })
    }

    async fn compact(
        &mut self,
        focus: Option<String>,
        listener: &mut dyn Listener,
    ) -> anyhow::Result<String> {
        let Session::Open(_, tool_loop) = &mut self.session else {
            return Ok("there is nothing to make shorter".to_owned());
        };
        let done = tool_loop.compact(Wish { focus }, listener).await;
        Ok(match done {
            // Nothing is lost by it: the history stays as it is.
            Err(LoopError::Compaction(why)) => {
                format!("the history stays as it is: {}", clean(&why))
            }
            Err(error) => return Err(self.told(error)),
            Ok(Compaction::Shorter { before, after }) => compacted(before, after),
            Ok(Compaction::NothingToGain) => {
                "there is nothing to gain: the history is as short as it can be".to_owned()
            }
            Ok(Compaction::Stopped) => "stopped: the history stays as it is".to_owned(),
        })
    }

    async fn undo(&mut self) -> anyhow::Result<Reply> {
        let Session::Open(_, tool_loop) = &mut self.session else {
            return Ok(reply(vec!["there is no prompt to take back".to_owned()]));
        };
        let undone = tool_loop.undo().await.map_err(|error| self.told(error))?;
        Ok(match undone {
            Some(prompt) => {
                let told = "the last prompt and what followed is taken back; files are as they are";
                Reply { lines: vec![told.to_owned()], then: Then::Edit(prompt) }
            }
            None => reply(vec!["there is no prompt to take back".to_owned()]),
        })
    }

    async fn list(&self) -> anyhow::Result<Vec<String>> {
        let all = sessions::all(&self.kept).await?;
        if all.is_empty() {
            return Ok(vec!["no session was kept yet".to_owned()]);
        }
        let shown = all.get(..LISTED).unwrap_or(&all);
        let table = sessions::table(shown, SystemTime::now(), None);
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        lines.push("`/resume ID` goes on with one".to_owned());
        Ok(lines)
    }

    fn export(&self, wish: Option<&str>) -> anyhow::Result<String> {
        let Some(paper) = self.paper()? else {
            return Ok("there is nothing to export yet".to_owned());
        };
        let about = About { session: self.session(), model: self.model(), folder: &self.folder };
        let path = paper.export(wish, about)?;
        Ok(format!("exported to {}", clean(&path.to_string_lossy())))
    }

    fn turn_to(&mut self, name: &str) -> anyhow::Result<Vec<String>> {
        let choice = self.models.choose(Some(name), &Machine)?;
        self.model = world::model(&choice)?;
        if let Session::Open(_, tool_loop) = &mut self.session {
            tool_loop.set_model(std::sync::Arc::clone(&self.model));
        }
        let mut told = vec![format!("the model is `{}` from now on", clean(self.model()))];
        told.extend(world::left_out(&self.tools, self.model.about()));
        Ok(told)
    }

    fn tell_tools(&self) -> Vec<String> {
        if self.tools.is_empty() {
            return vec!["there are no tools".to_owned()];
        }
        let widest = self.tools.iter().map(|tool| tool.about().name.len()).max().unwrap_or(0);
        let line = |about: &foxwedge_tools::About| {
            let asks = match about.effect {
                Effect::Reads => "reads",
                Effect::Writes if self.allowed.has(&about.name) => "allowed",
                Effect::Writes => "asks   ",
            };
            let first = about.description.lines().next().unwrap_or_default();
            let (name, told) = (clean(&about.name), clean(&cut(first, TOLD)));
            format!("{name:widest$}  {asks:7}  {told}")
        };
        self.tools.iter().map(|tool| line(tool.about())).collect()
    }

    fn tell_status(&self) -> anyhow::Result<Vec<String>> {
        let mut lines = vec![
            format!(
                "session  {}{}",
                self.session(),
                if self.is_new() { " (not begun)" } else { "" }
            ),
            format!("folder   {}", clean(&self.folder)),
            format!("store    {}", clean(&self.kept.url.to_string())),
            format!("model    {}", clean(self.model())),
        ];
        if let Some(paper) = self.paper()? {
            let size = paper.size(self.model())?;
            let window = match self.model.about().window {
                Some(window) => format!(" of {window}"),
                None => String::new(),
            };
            let (messages, calls) = (count(size.messages, "message"), count(size.calls, "call"));
            lines.push(format!(
                "history  {messages}, {calls}, about {} tokens{window}",
                size.tokens
            ));
            lines.push(match size.findings {
                0 => "health   valid: a provider takes it as it is".to_owned(),
                number => format!("health   {}", count(number, "finding")),
            });
        }
        lines.extend(self.last.as_ref().map(|last| format!("last run {}", told_run(last))));
        Ok(lines)
    }
}

/// A run in one line.
fn told_run(finished: &Finished) -> String {
    let outcome = finished.ended.outcome.map_or("ended", draw::word);
    let calls = draw::counts(&finished.summary);
    let usage = finished.ended.usage.unwrap_or_default();
    format!(
        "{} {outcome}, {calls}, {} tokens in ({} cached), {} out",
        finished.run, usage.input, usage.cached, usage.output
    )
}

fn reply(lines: Vec<String>) -> Reply {
    Reply { lines, then: Then::Stay }
}

pub(super) fn ended(finished: Finished) -> Reply {
    let Finished { ended, summary, .. } = finished;
    Reply { lines: Vec::new(), then: Then::Ended(Ending { ended, summary }) }
}
