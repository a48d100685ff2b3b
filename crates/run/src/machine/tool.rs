//! One call: what is known about it, and the status that follows from it.
//!
//! Facts only grow, so the order in which they come does not matter: a call is running if it was
//! said to have begun, whenever that was said. The first answer settles a call. Behind it only two
//! facts count, and both say what the answer was: that the call was denied, and which tool it is
//! (a denial of a question is a hand-over). So a settled status moves in one direction, from
//! `failed` or `interrupted` to `denied` to `handed_over`, and never behind the end of its run.
//!
//! What a text says decides nothing: it is in whatever language its author speaks.

use foxwedge_core::{MissingAnswer, PlaceholderLanguage, classify_open_call, placeholder_text};

use super::approvals::ApprovalState;
use crate::{
    ApprovalVerdict, MachineSettings, RawJson, SharedId, ToolOutcome, ToolRef, ToolResult,
    ToolStatus, ToolStatusReason, UiChange,
};

/// What stands for the answer of a question that went over to a person. What the person said
/// goes to whoever asked, and never in here.
const HANDED_OVER: &str = "The question was handed over to the user.";

/// A call of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ToolCallState {
    /// Its id; `local-<run>-<n>` if its source gave none.
    pub call: SharedId,
    /// The tool.
    pub name: Option<SharedId>,
    /// The call whose sub-agent makes it.
    pub parent: Option<SharedId>,
    /// What a person may read about it.
    pub title: Option<String>,
    /// Its arguments, once they are complete.
    pub input: Option<RawJson>,
    /// What it asked a person.
    pub approvals: Vec<ApprovalState>,
    /// Why it came to its end, where the status does not say it.
    pub reason: Option<ToolStatusReason>,
    /// What it answered.
    pub content: Option<RawJson>,
    /// Its turn, if anybody said so, or if it was the current one when it was called.
    pub(super) turn: Option<u32>,
    /// Whether somebody said so.
    pub(super) explicit: bool,
    /// The pieces of its arguments.
    pub(super) arguments: String,
    /// Whether it was called, or only answered so far.
    pub(super) called: bool,
    pub(super) begun: bool,
    pub(super) has_unknown_status: bool,
    /// The final status that follows from the facts.
    pub(super) settled: Option<ToolStatus>,
    /// How it ended, as its source says. None for a call that the machine closed.
    outcome: Option<ToolOutcome>,
    /// Somebody said no.
    denied: bool,
    /// A denial that came before the name: what it means depends on the tool.
    denial: Option<Box<ToolResult>>,
    /// The places in the log where it was called and where it was settled.
    pub(crate) call_position: u64,
    pub(crate) answer_position: u64,
    shown: ShownProgress,
}

/// What a user interface knows already.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct ShownProgress {
    opened: bool,
    arguments: usize,
    ready: bool,
    status: Option<ToolStatus>,
}

impl ToolCallState {
    /// What is known about it, in one word.
    pub fn status(&self) -> ToolStatus {
        if let Some(status) = self.settled {
            status
        } else if self.awaits_person() {
            ToolStatus::AwaitingApproval
        } else if self.begun {
            ToolStatus::Running
        } else if self.has_unknown_status {
            ToolStatus::Unknown
        } else {
            ToolStatus::Pending
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
    pub fn result_content(&self) -> RawJson {
        match (&self.content, self.placeholder_text()) {
            (Some(content), _) => content.clone(),
            (None, Some(words)) => RawJson::string(words),
            (None, None) => RawJson::string(""),
        }
    }

    fn placeholder_text(&self) -> Option<&'static str> {
        let missing = match (self.status(), self.reason) {
            (ToolStatus::HandedOver, _) => return Some(HANDED_OVER),
            (_, Some(ToolStatusReason::TimedOut)) => MissingAnswer::TimedOut,
            (_, Some(ToolStatusReason::Skipped)) => MissingAnswer::Skipped,
            (ToolStatus::Cancelled, _) => MissingAnswer::NotStarted,
            (ToolStatus::Denied, _) => MissingAnswer::Denied,
            (ToolStatus::Interrupted, _) => classify_open_call(self.name.as_deref()),
            _ => return None,
        };
        Some(placeholder_text(missing, PlaceholderLanguage::English))
    }

    pub(super) fn new(call: SharedId, turn: Option<u32>, explicit: bool) -> ToolCallState {
        ToolCallState { call, turn, explicit, ..ToolCallState::default() }
    }

    /// Takes the arguments, once.
    pub(super) fn set_input(&mut self, input: &RawJson) {
        if self.input.is_none() {
            self.input = Some(input.clone());
        }
    }

    pub(super) fn set_name(&mut self, name: Option<&SharedId>, settings: &MachineSettings) {
        if self.name.is_some() || name.is_none() {
            return;
        }
        self.name = name.cloned();
        match self.denial.take() {
            Some(denial) => {
                self.apply_result(&denial, self.answer_position, settings);
            }
            None => self.update_status(settings),
        }
    }

    /// Takes an answer, the first one, or a later one that says that the call was denied or handed
    /// over. Tells whether it says anything new.
    pub(super) fn apply_result(
        &mut self,
        result: &ToolResult,
        place: u64,
        settings: &MachineSettings,
    ) -> bool {
        if self.settled.is_some() {
            return match result.outcome {
                ToolOutcome::Denied => self.deny(settings),
                ToolOutcome::HandedOver => self.hand_over(),
                ToolOutcome::Ok
                | ToolOutcome::Error
                | ToolOutcome::TimedOut
                | ToolOutcome::Cancelled
                | ToolOutcome::Interrupted
                | ToolOutcome::Skipped => false,
            };
        }
        if self.denial.is_some() {
            // Only whoever closed the call says more about it by now.
            let Some(reason) = result.reason else { return false };
            self.close(result.outcome.status(), reason, place);
            return true;
        }
        self.set_name(result.name.as_ref(), settings);
        if result.outcome == ToolOutcome::Denied && self.name.is_none() {
            self.denial = Some(Box::new(result.clone()));
            self.answer_position = place;
            return true;
        }
        let (status, reason) = (result.outcome.status(), result.outcome.reason().or(result.reason));
        let content = result.content.clone().filter(|_| status != ToolStatus::HandedOver);
        self.settle(status, reason, content, place);
        if reason.is_none() {
            self.outcome = Some(result.outcome);
            self.denied = result.outcome == ToolOutcome::Denied;
        }
        self.update_status(settings);
        true
    }

    /// Somebody said no to a call that has its answer: that is what the answer was about. Tells
    /// whether this changes anything.
    pub(super) fn deny(&mut self, settings: &MachineSettings) -> bool {
        let before = self.settled;
        self.denied = true;
        self.update_status(settings);
        self.settled != before
    }

    /// A person took the question over: so it stays, and what the person said is nobody else's
    /// business. Tells whether this changes anything.
    fn hand_over(&mut self) -> bool {
        let fits = matches!(
            self.outcome,
            Some(ToolOutcome::Error | ToolOutcome::Interrupted | ToolOutcome::Denied)
        );
        if fits {
            self.outcome = Some(ToolOutcome::HandedOver);
            self.settled = Some(ToolStatus::HandedOver);
            self.content = None;
        }
        fits
    }

    /// The status of a call that was answered, by everything that is known by now.
    fn update_status(&mut self, settings: &MachineSettings) {
        match self.outcome {
            Some(ToolOutcome::Error | ToolOutcome::Interrupted | ToolOutcome::Denied)
                if self.is_handed_over(settings) =>
            {
                self.hand_over();
            }
            Some(ToolOutcome::Error | ToolOutcome::Interrupted) if self.denied => {
                self.settled = Some(ToolStatus::Denied);
            }
            Some(
                ToolOutcome::Ok
                | ToolOutcome::Error
                | ToolOutcome::Denied
                | ToolOutcome::TimedOut
                | ToolOutcome::Cancelled
                | ToolOutcome::Interrupted
                | ToolOutcome::Skipped
                | ToolOutcome::HandedOver,
            )
            | None => {}
        }
    }

    /// Whether a person took the question over. The agent hears of that as an error, in words of
    /// its host's own. Its own errors are those of a call that was not accepted, and of one that
    /// somebody had allowed to run.
    fn is_handed_over(&self, settings: &MachineSettings) -> bool {
        if !self.is_interactive(settings) {
            return false;
        }
        let allowed =
            || self.approvals.iter().any(|asked| asked.verdict == Some(ApprovalVerdict::Allowed));
        let is_own = || self.content.as_ref().is_some_and(is_not_accepted) || allowed();
        self.denied || self.outcome == Some(ToolOutcome::Error) && !is_own()
    }

    /// The end of it, as [`Tool::closed`] said before anybody was sent away. A denial whose tool
    /// never got a name is what it says it is by now.
    pub(super) fn close(&mut self, status: ToolStatus, reason: ToolStatusReason, place: u64) {
        match self.denial.take() {
            Some(denial) => {
                let (status, place) = (denial.outcome.status(), self.answer_position);
                let reason = if self.called { reason } else { ToolStatusReason::NeverCalled };
                self.settle(status, Some(reason), denial.content, place);
            }
            None => self.settle(status, Some(reason), None, place),
        }
    }

    /// What it becomes if everything ends now. It never claims more than is known.
    pub(super) fn status_when_closed(&self) -> ToolStatus {
        if self.approvals.iter().any(ApprovalState::is_answered) {
            ToolStatus::HandedOver
        } else if self.awaits_person() {
            ToolStatus::Cancelled
        } else if self.begun || self.has_unknown_status {
            ToolStatus::Interrupted
        } else {
            ToolStatus::Cancelled
        }
    }

    fn settle(
        &mut self,
        status: ToolStatus,
        reason: Option<ToolStatusReason>,
        content: Option<RawJson>,
        place: u64,
    ) {
        if self.settled.is_some() {
            return;
        }
        self.settled = Some(status);
        self.reason = reason;
        self.content = content;
        self.answer_position = place;
        if self.input.is_none() {
            self.input = RawJson::parse(&self.arguments);
        }
    }

    /// Whether an answer came, whatever it means.
    pub(super) fn has_answer(&self) -> bool {
        self.settled.is_some() || self.denial.is_some()
    }

    pub(super) fn is_open(&self) -> bool {
        self.settled.is_none()
    }

    pub(super) fn is_interactive(&self, settings: &MachineSettings) -> bool {
        self.name.as_ref().is_some_and(|name| settings.interactive.contains(name))
    }

    /// Tells what a user interface does not know yet, in the order it needs. An answer without
    /// its call is not shown before the end (`last`).
    pub(super) fn show(&mut self, last: bool, mut tell: impl FnMut(UiChange)) {
        if !self.shown.opened {
            if !self.called && !last {
                return;
            }
            self.shown.opened = true;
            self.shown.status = Some(ToolStatus::Pending);
            tell(UiChange::ToolOpened {
                tool: self.reference(),
                name: self.name.clone().unwrap_or_else(|| SharedId::from("unknown")),
                parent: self.parent.clone(),
                title: self.title.clone(),
            });
        }
        if self.shown.status.is_some_and(ToolStatus::is_final) {
            return self.show_correction(tell);
        }
        let rest = self.arguments.get(self.shown.arguments..).unwrap_or("");
        if !rest.is_empty() && !self.shown.ready {
            tell(UiChange::ToolArguments { tool: self.reference(), delta: rest.to_owned() });
            self.shown.arguments = self.arguments.len();
        }
        if let (Some(input), false) = (&self.input, self.shown.ready) {
            self.shown.ready = true;
            tell(UiChange::ToolReady { tool: self.reference(), input: input.clone() });
        }
        self.show_requests(&mut tell);
        let status = self.status();
        if self.shown.status == Some(status) {
            return;
        }
        self.shown.status = Some(status);
        let tool = self.reference();
        if status.is_final() {
            tell(UiChange::ToolSettled {
                tool,
                status,
                reason: self.reason,
                content: self.result_content(),
            });
        } else {
            tell(UiChange::ToolStatus { tool, status });
        }
    }

    /// Tells that a call turned out to have ended otherwise than it was told.
    fn show_correction(&mut self, mut tell: impl FnMut(UiChange)) {
        let status = self.status();
        if self.shown.status != Some(status) {
            self.shown.status = Some(status);
            let (tool, reason, content) = (self.reference(), self.reason, self.result_content());
            tell(UiChange::ToolCorrected { tool, status, reason, content });
        }
    }
}

/// Whether the agent itself refused the call before anybody was asked: Claude Code marks what it
/// says then, and names the kind of error where its arguments are wrong.
fn is_not_accepted(content: &RawJson) -> bool {
    const MARKS: [&str; 2] = ["<tool_use_error>", "InputValidationError"];
    let text = content.plain();
    let text = text.trim_start();
    let text = text.strip_prefix("Error:").map_or(text, str::trim_start);
    MARKS.iter().any(|mark| text.starts_with(mark))
}
