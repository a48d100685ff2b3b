//! When a run is over, and how it ended.
//!
//! A `result` is not the end: background work and prompts that wait bring more frames and another
//! `result` for the same prompt. So the last one is kept, and told when the agent says that it is
//! idle, when the next prompt is sent, or when the stream is over.

use crate::{
    Body, Ended, How, Id, Outcome, Problem, ToolResult, Usage,
    follow::{
        Exit,
        calls::Stage,
        claude::{Claude, reply::error_code},
        fields::{Fields, text_of},
        tale::{Phase, cut_short},
    },
};

/// What has been said about the end.
#[derive(Default)]
pub(super) struct Ending {
    /// The agent says itself when it is idle.
    pub(super) state_events: bool,
    announced: Option<Announced>,
    /// Something came behind the `result`.
    since: bool,
    /// Prompts that wait inside the agent.
    queued: u64,
}

#[derive(Default)]
struct Announced {
    ended: Ended,
    odd: Option<Id>,
}

impl Ending {
    /// Whether a `result` was the last thing that happened, and no prompt waits.
    pub(super) fn is_announced(&self) -> bool {
        self.announced.is_some() && !self.since && self.queued == 0
    }

    /// A new run begins; the agent is the same.
    pub(super) fn renew(&mut self) {
        *self = Ending { state_events: self.state_events, ..Ending::default() };
    }

    /// The run does something.
    pub(super) fn goes_on(&mut self) {
        self.since = self.announced.is_some();
    }
}

impl Claude {
    pub(super) fn result(&mut self, line: &str, fields: &Fields<'_>) {
        if self.tale.phase() == Phase::Over {
            return self.tale.unknown("result", line);
        }
        self.tale.begin();
        self.messages.close_nameless();
        self.messages.stop(None);
        self.close_denied(fields);
        if fields.text("terminal_reason").as_deref() == Some("tool_deferred") {
            self.close_deferred(fields);
        }
        self.metered_by_result(fields);
        let new = announced(fields, self.interrupted);
        let before = self.ending.announced.take();
        self.ending.announced = Some(match before {
            Some(before) if says_nothing(fields) => before,
            Some(before) => {
                let text = new.ended.text.or(before.ended.text);
                Announced { ended: Ended { text, ..new.ended }, odd: new.odd }
            }
            None => new,
        });
        self.ending.since = false;
        self.ending.queued = fields.number("queued_turn_count").unwrap_or(0);
    }

    /// Calls that were not allowed. Those that have a result have one in the host's own words, which
    /// say nothing to anybody else; this says what it was about.
    fn close_denied(&mut self, fields: &Fields<'_>) {
        let denials = fields.list("permission_denials").into_iter();
        let denied = denials.filter_map(|raw| Fields::read(raw.get())?.id("tool_use_id"));
        for id in denied.collect::<Vec<Id>>() {
            let number = self.tale.calls.find(Some(&id));
            let known = number.and_then(|number| self.tale.calls.get(number));
            let tells = known.is_some_and(|known| match known.stage {
                Stage::Complete => true,
                Stage::Settled => known.failed,
                Stage::Foretold | Stage::Writing => false,
            });
            if let Some(number) = number.filter(|_| tells) {
                self.close(number, How::Denied);
            }
        }
    }

    /// The host runs one call later, when the session goes on; those beside it are gone.
    fn close_deferred(&mut self, fields: &Fields<'_>) {
        let kept = fields.object("deferred_tool_use").and_then(|call| call.id("id"));
        let kept = kept.and_then(|id| self.tale.calls.find(Some(&id)));
        let open: Vec<usize> = self.tale.calls.open().map(|(number, _)| number).collect();
        for number in open {
            let how = if Some(number) == kept { How::HandedOver } else { How::Cancelled };
            self.close(number, how);
        }
    }

    fn close(&mut self, number: usize, how: How) {
        let Some(known) = self.tale.calls.get(number) else { return };
        let (call, name) = (known.call.clone(), known.name.clone());
        let result = ToolResult { call, name, how, reason: None, content: None };
        self.tale.tell(Body::Result(result));
        self.tale.calls.settle(number);
        if let Some(known) = self.tale.calls.get_mut(number) {
            known.failed = false;
        }
    }

    /// The agent says that it does nothing any more.
    pub(super) fn idle(&mut self) {
        if self.tale.phase() == Phase::UnderWay {
            self.end();
        }
    }

    /// Tells the end.
    pub(super) fn end(&mut self) {
        let Announced { ended, odd } = self.ending.announced.take().unwrap_or_else(|| {
            let outcome = self.interrupted.then_some(Outcome::Stopped);
            Announced { ended: Ended { outcome, ..Ended::default() }, odd: None }
        });
        self.end_as(ended, odd);
    }

    /// Without the host's lines: a turn begins, and nothing but a prompt can have caused it.
    pub(super) fn settle_unheard(&mut self) {
        if self.tale.phase() == Phase::UnderWay && self.ending.is_announced() {
            self.end();
        }
    }

    /// The stream is over.
    pub(super) fn end_at_exit(&mut self, exit: Exit) {
        let died = !matches!(exit, Exit::Eof | Exit::Code(0));
        let busy = self.ending.queued > 0 || self.background.is_busy();
        let cut = self.ending.since || (died && busy);
        match self.ending.announced.take() {
            Some(Announced { ended, odd }) => match ended.outcome {
                None | Some(Outcome::Completed) if cut => {
                    self.end_as(Ended { text: ended.text, ..cut_short(exit) }, odd);
                }
                _ => self.end_as(ended, odd),
            },
            None if self.interrupted => {
                self.end_as(Ended { outcome: Some(Outcome::Stopped), ..Ended::default() }, None);
            }
            None => self.end_as(cut_short(exit), None),
        }
    }

    fn end_as(&mut self, ended: Ended, odd: Option<Id>) {
        let total = self.meter.total();
        let usage = (total != Usage::default()).then_some(total);
        self.tale.end(Ended { usage, ..ended }, odd);
    }
}

/// A `result` that the agent prints when there was nothing to do.
fn says_nothing(fields: &Fields<'_>) -> bool {
    let silent = fields.words("result").is_none() && fields.words("terminal_reason").is_none();
    silent && !fields.is_true("is_error") && fields.text("subtype").as_deref() == Some("success")
}

fn announced(fields: &Fields<'_>, interrupted: bool) -> Announced {
    let is_error = fields.is_true("is_error");
    let words = fields
        .words("result")
        .or_else(|| fields.json("structured_output").map(|output| output.raw().to_owned()));
    let text = words.clone().filter(|_| !is_error);
    let (outcome, odd) = outcome(fields, text.is_some(), interrupted);
    let problem = match outcome {
        Some(Outcome::Failed | Outcome::MaxTurns) => Some(problem(fields, words)),
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
    Announced { ended: Ended { outcome, text, problem, usage: None }, odd }
}

/// How it ended; none means that what was said decides. With the word that nobody knows.
fn outcome(
    fields: &Fields<'_>,
    has_text: bool,
    interrupted: bool,
) -> (Option<Outcome>, Option<Id>) {
    let is_error = fields.is_true("is_error");
    let ended =
        if is_error { Some(Outcome::Failed) } else { has_text.then_some(Outcome::Completed) };
    if !is_error && fields.text("stop_reason").as_deref() == Some("refusal") {
        return (Some(Outcome::Refused), None);
    }
    if let Some(reason) = fields.words("terminal_reason") {
        return match reason.as_str() {
            "completed" | "tool_deferred" => (ended, None),
            "api_error" => (Some(Outcome::Failed), None),
            reason => match Outcome::from_name(reason) {
                Some(outcome) => (Some(outcome), None),
                None => (ended, Some(reason.into())),
            },
        };
    }
    match fields.text("subtype").as_deref() {
        Some("error_during_execution") if interrupted => (Some(Outcome::Stopped), None),
        Some("success") | None => (ended, None),
        Some(subtype) => match Outcome::from_name(subtype) {
            Some(outcome) => (Some(outcome), None),
            None if subtype.starts_with("error") => (Some(Outcome::Failed), None),
            None => (ended, Some(subtype.into())),
        },
    }
}

fn problem(fields: &Fields<'_>, words: Option<String>) -> Problem {
    let errors: Vec<String> = fields.list("errors").into_iter().filter_map(text_of).collect();
    let errors = Some(errors.join("\n")).filter(|errors| !errors.is_empty());
    let message = errors.or(words).or_else(|| fields.words("error"));
    let reason = || fields.id("terminal_reason").or_else(|| fields.id("subtype"));
    Problem {
        message: message.unwrap_or_else(|| "the agent says that the run failed".into()),
        code: error_code(fields).or_else(reason),
        fatal: true,
    }
}
