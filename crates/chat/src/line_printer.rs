//! Prints a run as lines: the model's text goes to stdout, everything else to stderr.
//! Pure: events go in, text comes out.

use std::collections::HashMap;

use foxwedge_agent_loop::tool_loop::{LoopEvent, LoopNotice};
use foxwedge_run::{
    Outcome, RawJson, RunEffect, RunSummary, SharedId, ToolRef, ToolStatus, ToolStatusReason,
    UiChange,
};

use super::approval;
use foxwedge_local::{
    language::{list_separator, localize},
    output::{self, DIM, HELP, WARNING, clean, cut, is_harmful, paint, pluralize},
    runs::{
        RunTimes,
        draw::{self, CallLine, SignSet, call_subject},
    },
};

/// Maximum length of a printed reason or problem.
const MAX_REASON_CHARS: usize = 240;

/// Where the model's text is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplyDestination {
    /// A terminal: control characters are replaced.
    Terminal,
    /// A program: the text is passed on byte for byte.
    Pipe,
}

/// What is printed besides the model's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChatVerbosity {
    /// Tool calls, notes and the outcome.
    All,
    /// Errors only.
    Errors,
}

/// Text to write.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ChatOutput {
    /// To stdout.
    pub(crate) out: String,
    /// To stderr.
    pub(crate) err: String,
}

/// Prints runs, one after the other.
#[derive(Debug)]
pub(crate) struct ChatLinePrinter {
    signs: SignSet,
    reader: ReplyDestination,
    verbosity: ChatVerbosity,
    times: RunTimes,
    calls: HashMap<(SharedId, ToolRef), PrintedCall>,
    /// Whether the last output to stdout did not end its line.
    mid_line: bool,
    /// Names of tools that were denied in this run.
    denied: Vec<SharedId>,
}

/// What has been received about a call.
#[derive(Clone, Debug)]
struct PrintedCall {
    name: SharedId,
    title: Option<String>,
    about: String,
}

impl ChatLinePrinter {
    pub(crate) fn new(
        signs: SignSet,
        reader: ReplyDestination,
        verbosity: ChatVerbosity,
    ) -> ChatLinePrinter {
        ChatLinePrinter {
            signs,
            reader,
            verbosity,
            times: RunTimes::default(),
            calls: HashMap::new(),
            mid_line: false,
            denied: Vec::new(),
        }
    }

    /// The output for an event.
    pub(crate) fn on_event(&mut self, event: &LoopEvent) -> ChatOutput {
        let mut written = ChatOutput::default();
        match event {
            LoopEvent::Run(effect) => {
                self.times.record(effect);
                if let RunEffect::Show { run, change } = effect {
                    self.on_change(run, change, &mut written);
                }
            }
            LoopEvent::Notice(note) => written.err.push_str(&self.describe_note(note)),
        }
        written
    }

    fn on_change(&mut self, run: &SharedId, change: &UiChange, written: &mut ChatOutput) {
        match change {
            UiChange::TextDelta(part, delta) if part.parent.is_none() => {
                written.out.push_str(&self.write_delta(delta));
            }
            UiChange::TextClosed(part) if part.parent.is_none() => self.end_line(written),
            UiChange::ToolOpened { tool, name, title, .. } => {
                let about = call_subject(title.as_deref(), None);
                let call = PrintedCall { name: name.clone(), title: title.clone(), about };
                self.calls.insert((run.clone(), tool.clone()), call);
            }
            UiChange::ToolReady { tool, input } => {
                if let Some(call) = self.calls.get_mut(&(run.clone(), tool.clone())) {
                    call.about = call_subject(call.title.as_deref(), Some(input));
                }
            }
            UiChange::ToolSettled { tool, status, reason, content }
            | UiChange::ToolCorrected { tool, status, reason, content } => {
                self.end_line(written);
                let line = self.describe_settled_call(run, tool, (*status, *reason), content);
                written.err.push_str(&line);
            }
            UiChange::Problem(problem) => {
                self.end_line(written);
                let why = clean(&cut(problem.message.trim(), MAX_REASON_CHARS));
                written.err.push_str(&self.side_note("warning", &why));
            }
            UiChange::RunEnded { ended, summary, .. } => {
                self.end_line(written);
                self.calls.retain(|(of, _), _| of != run);
                written.err.push_str(&self.describe_run_end(run, ended, summary));
            }
            UiChange::TextDelta(..)
            | UiChange::TextClosed(_)
            | UiChange::RunStarted { .. }
            | UiChange::StepStarted { .. }
            | UiChange::StepEnded { .. }
            | UiChange::TextOpened(_)
            | UiChange::ThoughtOpened(_)
            | UiChange::ThoughtDelta(..)
            | UiChange::ThoughtClosed(_)
            | UiChange::ToolArguments { .. }
            | UiChange::ToolStatus { .. }
            | UiChange::ToolProgress { .. }
            | UiChange::ApprovalRequested { .. }
            | UiChange::ApprovalClosed { .. }
            | UiChange::ToolsAvailable(_)
            | UiChange::Tasks(_)
            | UiChange::Usage(_)
            | UiChange::Activity(_) => {}
        }
    }

    fn write_delta(&mut self, delta: &str) -> String {
        if let Some(last) = delta.chars().next_back() {
            self.mid_line = last != '\n';
        }
        match self.reader {
            ReplyDestination::Pipe => delta.to_owned(),
            ReplyDestination::Terminal => delta.chars().filter_map(printable_char).collect(),
        }
    }

    /// Ends the current line of the model's text, so that nothing follows it on that line.
    fn end_line(&mut self, written: &mut ChatOutput) {
        if std::mem::take(&mut self.mid_line) {
            written.out.push('\n');
        }
    }

    fn describe_settled_call(
        &mut self,
        run: &SharedId,
        tool: &ToolRef,
        (status, reason): (ToolStatus, Option<ToolStatusReason>),
        content: &RawJson,
    ) -> String {
        let Some(call) = self.calls.get(&(run.clone(), tool.clone())).cloned() else {
            return String::new();
        };
        if self.verbosity == ChatVerbosity::Errors {
            return String::new();
        }
        let duration = self.times.of_call(run, tool, None);
        let (name, subject) = (&*call.name, call.about.as_str());
        let call_line =
            CallLine { name, subject, status, reason, duration, content: Some(content), depth: 0 };
        let mut line = call_line.line(self.signs, None).draw(None);
        if status == ToolStatus::Denied && !self.denied.contains(&call.name) {
            line.push_str(&help_line(&approval::allow_hint(name)));
            self.denied.push(call.name);
        }
        line
    }

    fn describe_note(&self, note: &LoopNotice) -> String {
        match note {
            LoopNotice::Retrying { pause, why } => {
                let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                let time = draw::format_duration(pause).unwrap_or_else(|| "a moment".to_owned());
                self.side_note(
                    "note",
                    &format!("waiting {time}: {}", clean(&cut(why.trim(), MAX_REASON_CHARS))),
                )
            }
            LoopNotice::Repaired(changes) => {
                let what =
                    format!("the history was repaired: {}", pluralize(changes.len(), "change"));
                self.side_note("note", &what)
            }
            LoopNotice::FewerTools { offered, all } => {
                self.side_note("note", &describe_fewer_tools(*offered, *all))
            }
            LoopNotice::Compacting => self.side_note("note", "compacting the history"),
            LoopNotice::Compacted(before, after) => {
                self.side_note("note", &describe_compaction(*before, *after))
            }
        }
    }

    fn side_note(&self, label: &str, text: &str) -> String {
        let style = if label == "warning" { WARNING } else { HELP };
        match self.verbosity {
            ChatVerbosity::All => {
                format!("{}: {}\n", paint(style, localize(label)), localize(text))
            }
            ChatVerbosity::Errors => String::new(),
        }
    }

    fn describe_run_end(
        &mut self,
        run: &SharedId,
        ended: &foxwedge_run::RunEnd,
        summary: &RunSummary,
    ) -> String {
        self.denied.clear();
        let duration = self.times.of_run(run, None);
        // The times of this run are not needed any more.
        self.times = RunTimes::default();
        match (self.verbosity, ended.outcome, &ended.problem) {
            (ChatVerbosity::Errors, Some(Outcome::Completed), _) => String::new(),
            (ChatVerbosity::Errors, outcome, problem) => {
                let why = problem.as_ref().map_or_else(
                    || outcome.map_or("ended", draw::outcome_text).to_owned(),
                    |problem| cut(problem.message.trim(), MAX_REASON_CHARS),
                );
                output::format_error(&why, None)
            }
            (ChatVerbosity::All, outcome, _) => {
                let mut lines = draw::run_end_line(self.signs, ended, summary, duration).draw(None);
                if matches!(outcome, Some(Outcome::Stopped | Outcome::Interrupted)) {
                    let kept = localize(describe_kept_results(summary));
                    lines.push_str(&format!("{}\n", paint(DIM, kept)));
                }
                lines
            }
        }
    }
}

/// Describes what a stopped run left.
pub(crate) fn describe_kept_results(summary: &RunSummary) -> String {
    let results =
        [ToolStatus::Succeeded, ToolStatus::Failed, ToolStatus::Denied, ToolStatus::HandedOver];
    let results: usize = results.into_iter().map(|status| summary.count(status)).sum();
    let mut parts = vec![format!("kept {}", pluralize(results, "result"))];
    let open = [(ToolStatus::Interrupted, "may have run"), (ToolStatus::Cancelled, "not started")];
    for (status, label) in open {
        match summary.count(status) {
            0 => {}
            number => parts.push(format!("{number} {label}")),
        }
    }
    let parts: Vec<_> = parts.into_iter().map(localize).collect();
    format!("{}; the history is valid", parts.join(list_separator()))
}

/// Describes that a provider accepts fewer tools than there are.
pub(crate) fn describe_fewer_tools(offered: usize, all: usize) -> String {
    format!("the provider rejected this many tools: {offered} of {all} are offered from now on")
}

/// Describes a compaction by its token counts.
pub(crate) fn describe_compaction(before: u64, after: u64) -> String {
    format!("the history was compacted from about {before} to {after} tokens")
}

fn help_line(text: &str) -> String {
    format!("  {}: {}\n", paint(HELP, localize("help")), localize(text))
}

/// A character that is safe to show on a terminal; `None` if it is dropped.
fn printable_char(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(c),
        '\r' => None,
        c if is_harmful(c) => Some('\u{fffd}'),
        c => Some(c),
    }
}

#[cfg(test)]
mod tests;
