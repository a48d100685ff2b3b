//! Who writes summaries: a command of the user, or the digest that is always there.

use std::{
    io::{self, IsTerminal},
    process::ExitStatus,
    time::Duration,
};

use foxwedge_dialect::compact::{Digest, Summarizer, SummaryRequest};

use super::leash::{Failed, run};
use crate::{
    cli::CompactArgs,
    say::{self, clean, count, cut},
};

/// Seconds until a command is stopped.
const PATIENCE: u64 = 120;
/// Bytes of a summary: more is none.
const MOST: usize = 1_000_000;

/// The summarizer that was asked for.
pub(crate) fn summarizer(args: &CompactArgs) -> Box<dyn Summarizer> {
    match &args.summarizer {
        None => Box::new(Digest),
        Some(command) => Box::new(Command {
            command: command.clone(),
            name: clean(&cut(command.trim(), 60)),
            patience: Duration::from_secs(args.summarizer_timeout.unwrap_or(PATIENCE)),
            quiet: args.quiet,
        }),
    }
}

/// A command of the shell: a prompt in, a summary out.
struct Command {
    command: String,
    name: String,
    patience: Duration,
    quiet: bool,
}

impl Summarizer for Command {
    fn name(&self) -> &str {
        &self.name
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        if io::stderr().is_terminal() && !self.quiet {
            let messages = count(request.history.messages.len(), "message");
            say::note(&format!("`{}` is asked for a summary of {messages}", self.name));
        }
        let told = run(&self.command, request.prompt(), self.patience, MOST);
        let bytes = told.map_err(|failed| self.sentence(&failed))?;
        String::from_utf8(bytes).map_err(|_| "what it printed is no text in UTF-8".to_owned())
    }
}

impl Command {
    fn sentence(&self, failed: &Failed) -> String {
        match failed {
            Failed::Start(error) => format!("`sh` could not run it: {error}"),
            Failed::Slow => {
                let seconds = usize::try_from(self.patience.as_secs()).unwrap_or(usize::MAX);
                format!("it had not ended after {}, and was stopped", count(seconds, "second"))
            }
            Failed::Long => format!("it printed more than {MOST} bytes, and was stopped"),
            Failed::Ended(status, said) => {
                let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
                let said = last.map(|line| format!(": {}", cut(&clean(line), 200)));
                format!("it ended with {}{}", ending(*status), said.unwrap_or_default())
            }
        }
    }
}

fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}
