//! Summarizers: a command of the user, or the built-in digest.

use std::{
    io::{self, IsTerminal},
    process::ExitStatus,
    time::Duration,
};

use foxwedge_formats::compact::{DigestSummarizer, HistorySummarizer, SummaryRequest};

use super::command_guard::{CommandFailure, run_command};
use crate::cli::CompactArgs;
use foxwedge_local::output::{self, clean, cut, pluralize};

/// Default timeout of a command.
const DEFAULT_TIMEOUT_SECONDS: u64 = 120;
/// Max bytes of a summary. A longer one is refused.
const MAX_SUMMARY_BYTES: usize = 1_000_000;

/// The summarizer that the flags select.
pub(crate) fn create_summarizer(args: &CompactArgs) -> Box<dyn HistorySummarizer> {
    match &args.summarizer {
        None => Box::new(DigestSummarizer),
        Some(command) => Box::new(SummarizerCommand {
            command: command.clone(),
            name: clean(&cut(command.trim(), 60)),
            timeout: Duration::from_secs(
                args.summarizer_timeout.unwrap_or(DEFAULT_TIMEOUT_SECONDS),
            ),
            quiet: args.quiet,
        }),
    }
}

/// A shell command that reads a prompt on stdin and writes a summary to stdout.
struct SummarizerCommand {
    command: String,
    name: String,
    timeout: Duration,
    quiet: bool,
}

impl HistorySummarizer for SummarizerCommand {
    fn name(&self) -> &str {
        &self.name
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        if io::stderr().is_terminal() && !self.quiet {
            let messages = pluralize(request.history.messages.len(), "message");
            output::print_note(&format!("`{}` summarizes {messages}", self.name));
        }
        let output = run_command(&self.command, request.prompt(), self.timeout, MAX_SUMMARY_BYTES);
        let bytes = output.map_err(|failure| self.describe_failure(&failure))?;
        String::from_utf8(bytes).map_err(|_| "its output is not valid UTF-8".to_owned())
    }
}

impl SummarizerCommand {
    fn describe_failure(&self, failure: &CommandFailure) -> String {
        match failure {
            CommandFailure::Start(error) => format!("`sh` could not run it: {error}"),
            CommandFailure::TimedOut => {
                let seconds = usize::try_from(self.timeout.as_secs()).unwrap_or(usize::MAX);
                format!("it did not finish within {} and was stopped", pluralize(seconds, "second"))
            }
            CommandFailure::OutputTooLong => {
                format!("it printed more than {MAX_SUMMARY_BYTES} bytes and was stopped")
            }
            CommandFailure::Exited(status, stderr) => {
                let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
                let reason = last.map(|line| format!(": {}", cut(&clean(line), 200)));
                format!(
                    "it ended with {}{}",
                    describe_exit_status(*status),
                    reason.unwrap_or_default()
                )
            }
        }
    }
}

fn describe_exit_status(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}
