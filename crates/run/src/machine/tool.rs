//! One call: what is known about it, and the status that follows from it.
//!
//! Facts only grow, so the order in which they come does not matter: a call is running if it was
//! said to have begun, whenever that was said. What is settled stays settled.

use foxwedge_core::{Language, Missing, interrupted, words};

use super::asks::Asked;
use crate::{Change, How, Id, Json, Reason, Settings, Status, ToolRef, ToolResult};

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
    pub(super) settled: Option<Status>,
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
        if let Some(denial) = self.denial.take() {
            self.answer(&denial, self.answered, settings);
        }
    }

    /// Takes an answer, the first one. Tells whether it was the first.
    pub(super) fn answer(&mut self, result: &ToolResult, place: u64, settings: &Settings) -> bool {
        if self.settled.is_some() {
            return false;
        }
        if self.denial.is_some() {
            // Only whoever closed the call says more about it by now.
            let Some(reason) = result.reason else { return false };
            self.close(result.how.status(), reason, place);
            return true;
        }
        self.named(result.name.as_ref(), settings);
        let denied = result.how == How::Denied
            || result.how == How::Error && self.sounds_denied(result.content.as_ref());
        if denied && self.name.is_none() {
            // What a denial means depends on the tool.
            self.denial = Some(Box::new(result.clone()));
            self.answered = place;
            return true;
        }
        let handed_over = denied && self.is_interactive(settings);
        let (status, content) = match result.how.status() {
            Status::HandedOver => (Status::HandedOver, None),
            _ if handed_over => (Status::HandedOver, None),
            status => (status, result.content.clone()),
        };
        let reason = result.how.reason().or(result.reason);
        self.settle(status, reason, content, place);
        true
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

    pub(super) fn settle(
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

    /// Whether an error is a denial in disguise. Only asked where it matters: for a tool that
    /// asks a person, or for one whose name we do not know yet.
    fn sounds_denied(&self, content: Option<&Json>) -> bool {
        const PHRASES: [&str; 8] = [
            "denied",
            "declined",
            "rejected",
            "handed over",
            "handled by",
            "doesn't want to proceed",
            "user answered",
            "waiting for the user",
        ];
        const LONGEST: usize = 600;
        let Some(content) = content.filter(|content| content.raw().len() <= LONGEST) else {
            return false;
        };
        let text = content.plain().to_lowercase();
        PHRASES.iter().any(|phrase| text.contains(phrase))
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
            return;
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
}
