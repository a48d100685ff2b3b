//! When a run ends, and how.
//!
//! A `result` is not the end: background work and queued prompts bring more lines and another
//! `result` for the same prompt. So the last one is kept, and emitted when the agent reports idle,
//! when the next prompt is sent, or when the stream ends.

use crate::{
    EventPayload, Outcome, RunEnd, RunProblem, RunUsage, SharedId, ToolOutcome, ToolResult,
    follow::{
        AgentExit,
        calls::CallStage,
        claude::{ClaudeCodeReader, reply::error_code},
        emitter::{EmitterPhase, unfinished_end},
        fields::{LineFields, text_of},
    },
};

/// The announced end of a run.
#[derive(Default)]
pub(super) struct PendingEnd {
    /// The agent reports when it is idle.
    pub(super) state_events: bool,
    announced: Option<AnnouncedEnd>,
    /// More lines followed the `result`.
    has_later_lines: bool,
    /// Prompts queued in the agent.
    queued: u64,
}

#[derive(Default)]
struct AnnouncedEnd {
    ended: RunEnd,
    unknown_word: Option<SharedId>,
}

impl PendingEnd {
    /// Whether a `result` was the last line and no prompt is queued.
    pub(super) fn is_announced(&self) -> bool {
        self.announced.is_some() && !self.has_later_lines && self.queued == 0
    }

    /// Resets for a new run of the same agent.
    pub(super) fn reset(&mut self) {
        *self = PendingEnd { state_events: self.state_events, ..PendingEnd::default() };
    }

    /// The run continues.
    pub(super) fn resume(&mut self) {
        self.has_later_lines = self.announced.is_some();
    }
}

impl ClaudeCodeReader {
    pub(super) fn read_result(&mut self, line: &str, fields: &LineFields<'_>) {
        if self.emitter.phase() == EmitterPhase::Ended {
            return self.emitter.emit_unknown("result", line);
        }
        self.emitter.begin();
        self.messages.close_unnamed();
        self.messages.stop_stream(None);
        self.close_denied(fields);
        if fields.text("terminal_reason").as_deref() == Some("tool_deferred") {
            self.close_deferred(fields);
        }
        self.record_result_usage(fields);
        let new = read_announced_end(fields, self.interrupted);
        let before = self.ending.announced.take();
        self.ending.announced = Some(match before {
            Some(before) if is_empty_result(fields) => before,
            Some(before) => {
                let text = new.ended.text.or(before.ended.text);
                AnnouncedEnd { ended: RunEnd { text, ..new.ended }, unknown_word: new.unknown_word }
            }
            None => new,
        });
        self.ending.has_later_lines = false;
        self.ending.queued = fields.number("queued_turn_count").unwrap_or(0);
    }

    /// Closes denied calls. Those that have a result have one in the host's own text, which does
    /// not show the denial; this does.
    fn close_denied(&mut self, fields: &LineFields<'_>) {
        let denials = fields.list("permission_denials").into_iter();
        let denied = denials.filter_map(|raw| LineFields::read(raw.get())?.id("tool_use_id"));
        for id in denied.collect::<Vec<SharedId>>() {
            let number = self.emitter.calls.find(Some(&id));
            let known = number.and_then(|number| self.emitter.calls.get(number));
            let should_close = known.is_some_and(|known| match known.stage {
                CallStage::Complete => true,
                CallStage::Settled => known.failed,
                CallStage::Mentioned | CallStage::Writing => false,
            });
            if let Some(number) = number.filter(|_| should_close) {
                self.close_call(number, ToolOutcome::Denied);
            }
        }
    }

    /// The host runs one call later, when the session is resumed; the other calls are cancelled.
    fn close_deferred(&mut self, fields: &LineFields<'_>) {
        let deferred = fields.object("deferred_tool_use").and_then(|call| call.id("id"));
        let deferred = deferred.and_then(|id| self.emitter.calls.find(Some(&id)));
        let open: Vec<usize> = self.emitter.calls.open().map(|(number, _)| number).collect();
        for number in open {
            let outcome = if Some(number) == deferred {
                ToolOutcome::HandedOver
            } else {
                ToolOutcome::Cancelled
            };
            self.close_call(number, outcome);
        }
    }

    fn close_call(&mut self, number: usize, outcome: ToolOutcome) {
        let Some(known) = self.emitter.calls.get(number) else { return };
        let (call, name) = (known.call.clone(), known.name.clone());
        let result = ToolResult { call, name, outcome, reason: None, content: None };
        self.emitter.emit(EventPayload::ToolResult(result));
        self.emitter.calls.settle(number);
        if let Some(known) = self.emitter.calls.get_mut(number) {
            known.failed = false;
        }
    }

    /// The agent reports idle.
    pub(super) fn end_when_idle(&mut self) {
        if self.emitter.phase() == EmitterPhase::Running {
            self.end_run();
        }
    }

    /// Emits the end.
    pub(super) fn end_run(&mut self) {
        let AnnouncedEnd { ended, unknown_word: word } =
            self.ending.announced.take().unwrap_or_else(|| {
                let outcome = self.interrupted.then_some(Outcome::Stopped);
                AnnouncedEnd { ended: RunEnd { outcome, ..RunEnd::default() }, unknown_word: None }
            });
        self.end_with(ended, word);
    }

    /// A turn begins that only a prompt can have caused; for streams without the host's lines.
    pub(super) fn end_before_new_turn(&mut self) {
        if self.emitter.phase() == EmitterPhase::Running && self.ending.is_announced() {
            self.end_run();
        }
    }

    /// The stream has ended.
    pub(super) fn end_at_exit(&mut self, exit: AgentExit) {
        let died = !matches!(exit, AgentExit::Eof | AgentExit::Code(0));
        let busy = self.ending.queued > 0 || self.background.is_busy();
        let cut = self.ending.has_later_lines || (died && busy);
        match self.ending.announced.take() {
            Some(AnnouncedEnd { ended, unknown_word: odd }) => match ended.outcome {
                None | Some(Outcome::Completed) if cut => {
                    self.end_with(RunEnd { text: ended.text, ..unfinished_end(exit) }, odd);
                }
                _ => self.end_with(ended, odd),
            },
            None if self.interrupted => {
                self.end_with(
                    RunEnd { outcome: Some(Outcome::Stopped), ..RunEnd::default() },
                    None,
                );
            }
            None => self.end_with(unfinished_end(exit), None),
        }
    }

    fn end_with(&mut self, ended: RunEnd, odd: Option<SharedId>) {
        let total = self.usage.total();
        let usage = (total != RunUsage::default()).then_some(total);
        self.emitter.end(RunEnd { usage, ..ended }, odd);
    }
}

/// A `result` that the agent prints when there was nothing to do.
fn is_empty_result(fields: &LineFields<'_>) -> bool {
    let silent = fields.non_empty_text("result").is_none()
        && fields.non_empty_text("terminal_reason").is_none();
    silent && !fields.is_true("is_error") && fields.text("subtype").as_deref() == Some("success")
}

fn read_announced_end(fields: &LineFields<'_>, interrupted: bool) -> AnnouncedEnd {
    let is_error = fields.is_true("is_error");
    let result_text = fields
        .non_empty_text("result")
        .or_else(|| fields.json("structured_output").map(|output| output.raw().to_owned()));
    let text = result_text.clone().filter(|_| !is_error);
    let (outcome, odd) = outcome(fields, text.is_some(), interrupted);
    let problem = match outcome {
        Some(Outcome::Failed | Outcome::MaxTurns) => Some(problem(fields, result_text)),
        Some(
            Outcome::Completed
            | Outcome::Stopped
            | Outcome::NoText
            | Outcome::Refused
            | Outcome::Replaced
            | Outcome::Interrupted,
        )
        | None => None,
    };
    AnnouncedEnd { ended: RunEnd { outcome, text, problem, usage: None }, unknown_word: odd }
}

/// The outcome, and its name if we do not know it. `None`: the output decides.
fn outcome(
    fields: &LineFields<'_>,
    has_text: bool,
    interrupted: bool,
) -> (Option<Outcome>, Option<SharedId>) {
    let is_error = fields.is_true("is_error");
    let default_outcome =
        if is_error { Some(Outcome::Failed) } else { has_text.then_some(Outcome::Completed) };
    if !is_error && fields.text("stop_reason").as_deref() == Some("refusal") {
        return (Some(Outcome::Refused), None);
    }
    if let Some(reason) = fields.non_empty_text("terminal_reason") {
        return match reason.as_str() {
            "completed" | "tool_deferred" => (default_outcome, None),
            "api_error" => (Some(Outcome::Failed), None),
            reason => match Outcome::from_name(reason) {
                Some(outcome) => (Some(outcome), None),
                None => (default_outcome, Some(reason.into())),
            },
        };
    }
    match fields.text("subtype").as_deref() {
        Some("error_during_execution") if interrupted => (Some(Outcome::Stopped), None),
        Some("success") | None => (default_outcome, None),
        Some(subtype) => match Outcome::from_name(subtype) {
            Some(outcome) => (Some(outcome), None),
            None if subtype.starts_with("error") => (Some(Outcome::Failed), None),
            None => (default_outcome, Some(subtype.into())),
        },
    }
}

fn problem(fields: &LineFields<'_>, text: Option<String>) -> RunProblem {
    let errors: Vec<String> = fields.list("errors").into_iter().filter_map(text_of).collect();
    let errors = Some(errors.join("\n")).filter(|errors| !errors.is_empty());
    let message = errors.or(text).or_else(|| fields.non_empty_text("error"));
    let reason = || fields.id("terminal_reason").or_else(|| fields.id("subtype"));
    RunProblem {
        message: message.unwrap_or_else(|| "the agent reported that the run failed".into()),
        code: error_code(fields).or_else(reason),
        fatal: true,
    }
}
