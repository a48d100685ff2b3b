//! One call: what is known about it, and the status that follows from it.
//!
//! Facts only grow, so the order in which they come does not matter: a call is running if it was
//! said to have begun, whenever that was said. The first answer settles a call. Behind it only two
//! facts count, and both say what the answer was: that the call was denied, and which tool it is
//! (a denial of a question is a hand-over). So a settled status moves in one direction, from
//! `failed` or `interrupted` to `denied` to `handed_over`, and never behind the end of its run.
//!
//! What a text says decides nothing: it is in whatever language its author speaks.

use foxwedge_core::{Language, Missing, interrupted, words};

use super::asks::Asked;
use crate::{Change, How, Id, Json, Reason, Settings, Status, ToolRef, ToolResult, Verdict};

/// What stands for the answer of a question that went over to a person. What the person said
/// goes to whoever asked, and never in here.
const HANDED_OVER: &str = "The question was handed over to the user.";

/// A call of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tool {
    /// Its id; `local-<run>-<n>` if its source gave none.
    pub call: Id,
    /// The tool.
    pub name: Option<Id>,
    /// The call whose sub-agent makes it.
    pub parent: Option<Id>,
    /// What a person may read about it.
    pub title: Option<String>,
    /// Its arguments, once they are complete.
    pub input: Option<Json>,
    /// What it asked a person.
    pub asks: Vec<Asked>,
    /// Why it came to its end, where the status does not say it.
    pub reason: Option<Reason>,
    /// What it answered.
    pub content: Option<Json>,
    /// Its turn, if anybody said so, or if it was the current one when it was called.
    pub(super) turn: Option<u32>,
    /// Whether somebody said so.
    pub(super) explicit: bool,
    /// The pieces of its arguments.
    pub(super) arguments: String,
    /// Whether it was called, or only answered so far.
    pub(super) called: bool,
    pub(super) begun: bool,
    pub(super) odd: bool,
    /// The final status that follows from the facts.
    pub(super) settled: Option<Status>,
    /// How it ended, as its source says. None for a call that the machine closed.
    how: Option<How>,
    /// Somebody said no.
    denied: bool,
    /// A denial that came before the name: what it means depends on the tool.
    denial: Option<Box<ToolResult>>,
    /// The places in the log where it was called and where it was settled.
    pub(crate) born: u64,
    pub(crate) answered: u64,
    shown: Shown,
}

/// What a user interface knows already.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Shown {
    opened: bool,
    arguments: usize,
    ready: bool,
    status: Option<Status>,
}

impl Tool {
    /// What is known about it, in one word.
    pub fn status(&self) -> Status {
        if let Some(status) = self.settled {
            status
        } else if self.is_asking() {
            Status::AwaitingApproval
        } else if self.begun {
            Status::Running
        } else if self.odd {
            Status::Unknown
        } else {
            Status::Pending
        }
    }

    /// Its turn; 0 before the first.
    pub fn turn(&self) -> u32 {
        self.turn.unwrap_or(0)
    }

    /// Whether it was called. An answer that came first waits for its call.
    pub fn was_called(&self) -> bool {
        self.called
    }

    /// How others call it.
    pub fn reference(&self) -> ToolRef {
        ToolRef { call: self.call.clone(), turn: self.turn() }
    }

    /// What it answered, or the words that stand for it.
    pub fn told(&self) -> Json {
        match (&self.content, self.stand_in()) {
            (Some(content), _) => content.clone(),
            (None, Some(words)) => Json::string(words),
            (None, None) => Json::string(""),
        }
    }

    fn stand_in(&self) -> Option<&'static str> {
        let missing = match (self.status(), self.reason) {
            (Status::HandedOver, _) => return Some(HANDED_OVER),
            (_, Some(Reason::TimedOut)) => Missing::TimedOut,
            (_, Some(Reason::Skipped)) => Missing::Skipped,
            (Status::Cancelled, _) => Missing::NotStarted,
            (Status::Denied, _) => Missing::Denied,
            (Status::Interrupted, _) => interrupted(self.name.as_deref()),
            _ => return None,
        };
        Some(words(missing, Language::English))
    }

    pub(super) fn new(call: Id, turn: Option<u32>, explicit: bool) -> Tool {
        Tool { call, turn, explicit, ..Tool::default() }
    }

    /// Takes the arguments, once.
    pub(super) fn ready(&mut self, input: &Json) {
        if self.input.is_none() {
            self.input = Some(input.clone());
        }
    }

    pub(super) fn named(&mut self, name: Option<&Id>, settings: &Settings) {
        if self.name.is_some() || name.is_none() {
            return;
        }
        self.name = name.cloned();
        match self.denial.take() {
            Some(denial) => {
                self.answer(&denial, self.answered, settings);
            }
            None => self.judge(settings),
        }
    }

    /// Takes an answer, the first one, or a later one that says that the call was denied or handed
    /// over. Tells whether it says anything new.
    pub(super) fn answer(&mut self, result: &ToolResult, place: u64, settings: &Settings) -> bool {
        if self.settled.is_some() {
            return match result.how {
                How::Denied => self.deny(settings),
                How::HandedOver => self.hand_over(),
                How::Ok
                | How::Error
                | How::TimedOut
                | How::Cancelled
                | How::Interrupted
                | How::Skipped => false,
            };
        }
        if self.denial.is_some() {
            // Only whoever closed the call says more about it by now.
            let Some(reason) = result.reason else { return false };
            self.close(result.how.status(), reason, place);
            return true;
        }
        self.named(result.name.as_ref(), settings);
        if result.how == How::Denied && self.name.is_none() {
            self.denial = Some(Box::new(result.clone()));
            self.answered = place;
            return true;
        }
        let (status, reason) = (result.how.status(), result.how.reason().or(result.reason));
        let content = result.content.clone().filter(|_| status != Status::HandedOver);
        self.settle(status, reason, content, place);
        if reason.is_none() {
            self.how = Some(result.how);
            self.denied = result.how == How::Denied;
        }
        self.judge(settings);
        true
    }

    /// Somebody said no to a call that has its answer: that is what the answer was about. Tells
    /// whether this changes anything.
    pub(super) fn deny(&mut self, settings: &Settings) -> bool {
        let before = self.settled;
        self.denied = true;
        self.judge(settings);
        self.settled != before
    }

    /// A person took the question over: so it stays, and what the person said is nobody else's
    /// business. Tells whether this changes anything.
    fn hand_over(&mut self) -> bool {
        let fits = matches!(self.how, Some(How::Error | How::Interrupted | How::Denied));
        if fits {
            self.how = Some(How::HandedOver);
            self.settled = Some(Status::HandedOver);
            self.content = None;
        }
        fits
    }

    /// The status of a call that was answered, by everything that is known by now.
    fn judge(&mut self, settings: &Settings) {
        match self.how {
            Some(How::Error | How::Interrupted | How::Denied) if self.is_handed_over(settings) => {
                self.hand_over();
            }
            Some(How::Error | How::Interrupted) if self.denied => {
                self.settled = Some(Status::Denied);
            }
            Some(
                How::Ok
                | How::Error
                | How::Denied
                | How::TimedOut
                | How::Cancelled
                | How::Interrupted
                | How::Skipped
                | How::HandedOver,
            )
            | None => {}
        }
    }

    /// Whether a person took the question over. The agent hears of that as an error, in words of
    /// its host's own. Its own errors are those of a call that was not accepted, and of one that
    /// somebody had allowed to run.
    fn is_handed_over(&self, settings: &Settings) -> bool {
        if !self.is_interactive(settings) {
            return false;
        }
        let allowed = || self.asks.iter().any(|asked| asked.verdict == Some(Verdict::Allowed));
        let is_own = || self.content.as_ref().is_some_and(is_not_accepted) || allowed();
        self.denied || self.how == Some(How::Error) && !is_own()
    }

    /// The end of it, as [`Tool::closed`] said before anybody was sent away. A denial whose tool
    /// never got a name is what it says it is by now.
    pub(super) fn close(&mut self, status: Status, reason: Reason, place: u64) {
        match self.denial.take() {
            Some(denial) => {
                let (status, place) = (denial.how.status(), self.answered);
                let reason = if self.called { reason } else { Reason::NeverCalled };
                self.settle(status, Some(reason), denial.content, place);
            }
            None => self.settle(status, Some(reason), None, place),
        }
    }

    /// What it becomes if everything ends now. It never claims more than is known.
    pub(super) fn closed(&self) -> Status {
        if self.asks.iter().any(Asked::is_answered) {
            Status::HandedOver
        } else if self.is_asking() {
            Status::Cancelled
        } else if self.begun || self.odd {
            Status::Interrupted
        } else {
            Status::Cancelled
        }
    }

    fn settle(
        &mut self,
        status: Status,
        reason: Option<Reason>,
        content: Option<Json>,
        place: u64,
    ) {
        if self.settled.is_some() {
            return;
        }
        self.settled = Some(status);
        self.reason = reason;
        self.content = content;
        self.answered = place;
        if self.input.is_none() {
            self.input = Json::parse(&self.arguments);
        }
    }

    /// Whether an answer came, whatever it means.
    pub(super) fn has_answer(&self) -> bool {
        self.settled.is_some() || self.denial.is_some()
    }

    pub(super) fn is_open(&self) -> bool {
        self.settled.is_none()
    }

    pub(super) fn is_interactive(&self, settings: &Settings) -> bool {
        self.name.as_ref().is_some_and(|name| settings.interactive.contains(name))
    }

    /// Tells what a user interface does not know yet, in the order it needs. An answer without
    /// its call is not shown before the end (`last`).
    pub(super) fn show(&mut self, last: bool, mut tell: impl FnMut(Change)) {
        if !self.shown.opened {
            if !self.called && !last {
                return;
            }
            self.shown.opened = true;
            self.shown.status = Some(Status::Pending);
            tell(Change::ToolOpened {
                tool: self.reference(),
                name: self.name.clone().unwrap_or_else(|| Id::from("unknown")),
                parent: self.parent.clone(),
                title: self.title.clone(),
            });
        }
        if self.shown.status.is_some_and(Status::is_final) {
            return self.show_correction(tell);
        }
        let rest = self.arguments.get(self.shown.arguments..).unwrap_or("");
        if !rest.is_empty() && !self.shown.ready {
            tell(Change::ToolArguments { tool: self.reference(), delta: rest.to_owned() });
            self.shown.arguments = self.arguments.len();
        }
        if let (Some(input), false) = (&self.input, self.shown.ready) {
            self.shown.ready = true;
            tell(Change::ToolReady { tool: self.reference(), input: input.clone() });
        }
        self.show_asks(&mut tell);
        let status = self.status();
        if self.shown.status == Some(status) {
            return;
        }
        self.shown.status = Some(status);
        let tool = self.reference();
        if status.is_final() {
            tell(Change::ToolSettled { tool, status, reason: self.reason, content: self.told() });
        } else {
            tell(Change::ToolStatus { tool, status });
        }
    }

    /// Tells that a call turned out to have ended otherwise than it was told.
    fn show_correction(&mut self, mut tell: impl FnMut(Change)) {
        let status = self.status();
        if self.shown.status != Some(status) {
            self.shown.status = Some(status);
            let (tool, reason, content) = (self.reference(), self.reason, self.told());
            tell(Change::ToolCorrected { tool, status, reason, content });
        }
    }
}

/// Whether the agent itself refused the call before anybody was asked: Claude Code marks what it
/// says then, and names the kind of error where its arguments are wrong.
fn is_not_accepted(content: &Json) -> bool {
    const MARKS: [&str; 2] = ["<tool_use_error>", "InputValidationError"];
    let text = content.plain();
    let text = text.trim_start();
    let text = text.strip_prefix("Error:").map_or(text, str::trim_start);
    MARKS.iter().any(|mark| text.starts_with(mark))
}
