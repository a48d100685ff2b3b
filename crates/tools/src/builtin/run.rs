//! Runs a command of the shell.

mod variables;

use std::{process::ExitStatus, time::Duration};

use super::about as describe;
use crate::{
    About, Answer, CommandSettings, Content, Effect, Future, How, Limits, Output, Tool, Work,
    Workspace,
    arguments::Arguments,
    path::plain,
    process::{End, Finished, Process},
    refusal::Refusal,
};

/// Bytes of a command: more cannot be given to a shell.
const LONGEST: usize = 100 << 10;
/// Names of processes that are told.
const NAMED: usize = 5;

/// Runs a command of the shell.
#[derive(Debug)]
pub(super) struct Run {
    about: About,
    workspace: Workspace,
    limits: Limits,
    commands: CommandSettings,
}

impl Run {
    pub(super) fn new(workspace: Workspace, limits: Limits, commands: CommandSettings) -> Run {
        let (usual, most) = (limits.run.as_secs(), limits.run_most.as_secs());
        let shell = if cfg!(windows) { "`cmd /C`" } else { "`sh -c`" };
        let about = describe(
            "run",
            format!(
                "Runs a command with {shell} in the root of the workspace, and answers with what \
                 it prints and its exit code. It gets no input. Everything that it starts ends \
                 with it: nothing can be left running in the background."
            ),
            &["command"],
            &[
                ("command", "string", "The command.".into()),
                (
                    "timeout_seconds",
                    "integer",
                    format!("After how many seconds it is killed, 1 to {most}. Default: {usual}."),
                ),
            ],
            Effect::Writes,
            limits.run_most,
        );
        Run { about, workspace, limits, commands }
    }

    async fn act(&self, work: Work<'_>) -> Result<Answer, Refusal> {
        let (usual, most) = (self.limits.run.as_secs(), self.limits.run_most.as_secs());
        let mut arguments = Arguments::new("run", work.input);
        let command = arguments.text("command");
        let seconds = arguments.number("timeout_seconds", 1, most.max(1), usual);
        arguments.end()?;
        check(command)?;
        let folder = self.workspace.standing()?;
        let variables = variables::seen(std::env::vars_os(), &self.commands.pass);
        let launcher = self.commands.launcher.as_deref();
        let mut process = Process::start(command, folder, variables, launcher)
            .map_err(|error| Refusal(format!("the command cannot be started: {error}")))?;
        let limit = Duration::from_secs(seconds);
        let end = process.watch(&work.output, &work.stop, limit).await;
        let finished = process.finish(end, &work.output).await;
        Ok(told(end, &finished, seconds, &work.output))
    }
}

impl Tool for Run {
    fn about(&self) -> &About {
        &self.about
    }

    fn run<'a>(&'a self, work: Work<'a>) -> Future<'a, Answer> {
        Box::pin(async move { self.act(work).await.unwrap_or_else(Answer::from) })
    }
}

fn check(command: &str) -> Result<(), Refusal> {
    if command.trim().is_empty() {
        return Err(Refusal("the command is empty".to_owned()));
    }
    if command.contains('\0') {
        return Err(Refusal("the command has a NUL character in it".to_owned()));
    }
    if command.len() > LONGEST {
        return Err(Refusal(format!(
            "the command has {} bytes; it may have {LONGEST}: write it to a file and run that",
            command.len()
        )));
    }
    Ok(())
}

/// What it said, and how it ended.
fn told(end: End, finished: &Finished, seconds: u64, output: &Output) -> Answer {
    let mut text = output.captured().text;
    if text.is_empty() {
        text.push_str("[no output]");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let succeeded = finished.status.is_some_and(|status| status.success());
    let how = match end {
        End::Ended if succeeded => How::Done,
        End::Ended | End::Late => How::Failed,
        End::Asked | End::Forced => How::Stopped,
    };
    text.push_str(&match end {
        End::Ended => format!("[{}]", status(finished.status)),
        End::Asked => format!("[asked to stop: {}]", status(finished.status)),
        End::Forced => "[killed: it was to stop at once]".to_owned(),
        End::Late => format!("[killed: it took longer than {seconds} s]"),
    });
    match end {
        End::Ended | End::Asked if !finished.left.is_empty() => text.push_str(&left(finished)),
        End::Ended | End::Asked | End::Forced | End::Late => {}
    }
    Answer { how, content: Content::Text(text) }
}

fn left(finished: &Finished) -> String {
    let mut names: Vec<String> = finished.left.iter().take(NAMED).map(|name| plain(name)).collect();
    if finished.left.len() > NAMED {
        names.push("…".to_owned());
    }
    format!("\n[killed what it had left running: {}]", names.join(", "))
}

fn status(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => match status.code() {
            Some(code) => format!("exit code {code}"),
            None => format!("ended by {status}").replace("ended by signal:", "ended by signal"),
        },
        None => "it is not known how it ended".to_owned(),
    }
}
