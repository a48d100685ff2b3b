//! Runs a shell command.

mod variables;

use std::{process::ExitStatus, time::Duration};

use super::build_spec as describe;
use crate::{
    CommandSettings, OutputCapture, Tool, ToolCallResult, ToolCompletion, ToolEffect, ToolFuture,
    ToolInvocation, ToolLimits, ToolResultContent, ToolSpec, ToolWorkspace,
    arguments::ArgumentReader,
    path::display_text,
    process::{FinishedProcess, ProcessEnd, ShellProcess},
    refusal::ToolRefusal,
};

/// Bytes of a command: a shell accepts no more.
const MAX_COMMAND_BYTES: usize = 100 << 10;
/// Maximum number of process names in a message.
const NAMED: usize = 5;

/// Runs a shell command.
#[derive(Debug)]
pub(super) struct RunTool {
    spec: ToolSpec,
    workspace: ToolWorkspace,
    limits: ToolLimits,
    commands: CommandSettings,
}

impl RunTool {
    pub(super) fn new(
        workspace: ToolWorkspace,
        limits: ToolLimits,
        commands: CommandSettings,
    ) -> RunTool {
        let (default, max) = (limits.run.as_secs(), limits.run_max.as_secs());
        let shell = if cfg!(windows) { "`cmd /C`" } else { "`sh -c`" };
        let spec = describe(
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
                    format!("After how many seconds it is killed, 1 to {max}. Default: {default}."),
                ),
            ],
            ToolEffect::Writes,
            limits.run_max,
        );
        RunTool { spec, workspace, limits, commands }
    }

    async fn run_command(
        &self,
        invocation: ToolInvocation<'_>,
    ) -> Result<ToolCallResult, ToolRefusal> {
        let (default, max) = (self.limits.run.as_secs(), self.limits.run_max.as_secs());
        let mut arguments = ArgumentReader::new("run", invocation.input);
        let command = arguments.text("command");
        let seconds = arguments.number("timeout_seconds", 1, max.max(1), default);
        arguments.finish()?;
        check_command(command)?;
        let folder = self.workspace.current_root()?;
        let variables =
            variables::visible_variables(std::env::vars_os(), &self.commands.passed_variables);
        let launcher = self.commands.launcher.as_deref();
        let mut process = ShellProcess::start(command, folder, variables, launcher)
            .map_err(|error| ToolRefusal(format!("the command cannot be started: {error}")))?;
        let limit = Duration::from_secs(seconds);
        let end = process.wait_for_end(&invocation.output, &invocation.stop, limit).await;
        let finished = process.finish(end, &invocation.output).await;
        Ok(command_result(end, &finished, seconds, &invocation.output))
    }
}

impl Tool for RunTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        Box::pin(
            async move { self.run_command(invocation).await.unwrap_or_else(ToolCallResult::from) },
        )
    }
}

fn check_command(command: &str) -> Result<(), ToolRefusal> {
    if command.trim().is_empty() {
        return Err(ToolRefusal("the command is empty".to_owned()));
    }
    if command.contains('\0') {
        return Err(ToolRefusal("the command has a NUL character in it".to_owned()));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(ToolRefusal(format!(
            "the command has {} bytes; it may have {MAX_COMMAND_BYTES}: write it to a file and run that",
            command.len()
        )));
    }
    Ok(())
}

/// The result: output and how the command ended.
fn command_result(
    end: ProcessEnd,
    finished: &FinishedProcess,
    seconds: u64,
    output: &OutputCapture,
) -> ToolCallResult {
    let mut text = output.capture().text;
    if text.is_empty() {
        text.push_str("[no output]");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let succeeded = finished.status.is_some_and(|status| status.success());
    let completion = match end {
        ProcessEnd::Exited if succeeded => ToolCompletion::Done,
        ProcessEnd::Exited | ProcessEnd::TimedOut => ToolCompletion::Failed,
        ProcessEnd::StoppedGracefully | ProcessEnd::Killed => ToolCompletion::Stopped,
    };
    text.push_str(&match end {
        ProcessEnd::Exited => format!("[{}]", status_note(finished.status)),
        ProcessEnd::StoppedGracefully => {
            format!("[asked to stop: {}]", status_note(finished.status))
        }
        ProcessEnd::Killed => "[killed: it was to stop at once]".to_owned(),
        ProcessEnd::TimedOut => format!("[killed: it took longer than {seconds} s]"),
    });
    match end {
        ProcessEnd::Exited | ProcessEnd::StoppedGracefully if !finished.left_running.is_empty() => {
            text.push_str(&left_running_note(finished))
        }
        ProcessEnd::Exited
        | ProcessEnd::StoppedGracefully
        | ProcessEnd::Killed
        | ProcessEnd::TimedOut => {}
    }
    ToolCallResult { completion, content: ToolResultContent::Text(text) }
}

fn left_running_note(finished: &FinishedProcess) -> String {
    let mut names: Vec<String> =
        finished.left_running.iter().take(NAMED).map(|name| display_text(name)).collect();
    if finished.left_running.len() > NAMED {
        names.push("…".to_owned());
    }
    format!("\n[killed what it had left running: {}]", names.join(", "))
}

fn status_note(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => match status.code() {
            Some(code) => format!("exit code {code}"),
            None => format!("ended by {status}").replace("ended by signal:", "ended by signal"),
        },
        None => "it is not known how it ended".to_owned(),
    }
}
