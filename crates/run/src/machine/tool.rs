//! One tool call: what is known about it, and the status that follows from it.
//!
//! Facts are only added, so their order does not matter: a call is running if an event reported
//! that it began, no matter when. The first tool result settles a call. After it only two facts
//! count, and both explain the result: that the call was denied, and which tool it is (a denied
//! question is a hand-over). So a settled status moves in one direction only, from `failed` or
//! `interrupted` to `denied` to `handed_over`, and never after the end of its run.
//!
//! The wording of a result decides nothing, since it may be in any language. The only exceptions
//! are Claude Code's error markers, see `is_not_accepted`.

use foxwedge_core::{MissingAnswer, PlaceholderLanguage, classify_open_call, placeholder_text};

use super::approvals::ApprovalState;
use crate::{
    ApprovalVerdict, MachineSettings, RawJson, SharedId, ToolOutcome, ToolRef, ToolResult,
    ToolStatus, ToolStatusReason, UiChange,
};

/// The placeholder result of a question that was handed over to a person. The person's answer goes
/// to the requesting tool only.
const HANDED_OVER: &str = "The question was handed over to the user.";

/// A tool call of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ToolCallState {
    /// Its id; `local-<run>-<n>` if the source gave none.
    pub call: SharedId,
    /// The name of the tool.
    pub name: Option<SharedId>,
    /// The call whose sub-agent made it.
    pub parent: Option<SharedId>,
    /// A title to show to a person.
    pub title: Option<String>,
    /// Its arguments, once they are complete.
    pub input: Option<RawJson>,
    /// Its requests to a person.
    pub approvals: Vec<ApprovalState>,
    /// The reason for its final status, where the status alone does not give it.
    pub reason: Option<ToolStatusReason>,
    /// The content of its result.
    pub content: Option<RawJson>,
    /// Its turn, as the source reports it, or the current turn when it was called.
    pub(super) turn: Option<u32>,
    /// Whether the source reported the turn.
    pub(super) explicit: bool,
    /// Its arguments, as far as they arrived in deltas.
    pub(super) arguments: String,
    /// Whether the call has arrived, and not only its result.
    pub(super) called: bool,
    pub(super) begun: bool,
    pub(super) has_unknown_status: bool,
    /// The final status that follows from the facts.
    pub(super) settled: Option<ToolStatus>,
    /// How it ended, as the source reports it. `None` for a call that the machine closed.
    outcome: Option<ToolOutcome>,
    /// Whether it was denied.
    denied: bool,
    /// A denial that came before the name: its meaning depends on the tool.
    denial: Option<Box<ToolResult>>,
    /// The log positions of the call and of its result.
    pub(crate) call_position: u64,
    pub(crate) answer_position: u64,
    shown: ShownProgress,
}

/// What a user interface already shows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct ShownProgress {
    opened: bool,
    arguments: usize,
    ready: bool,
    status: Option<ToolStatus>,
}

impl ToolCallState {
    /// The current status.
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

    /// Whether the call has arrived. A result that came first waits for its call.
    pub fn was_called(&self) -> bool {
        self.called
    }

    /// Returns the reference that effects use for this call.
    pub fn reference(&self) -> ToolRef {
        ToolRef { call: self.call.clone(), turn: self.turn() }
    }

    /// Returns the content of its result, or a placeholder.
    pub fn result_content(&self) -> RawJson {
        match (&self.content, self.placeholder_text()) {
            (Some(content), _) => content.clone(),
            (None, Some(text)) => RawJson::string(text),
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

    /// Sets the arguments, once.
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

    /// Applies a result: the first one, or a later one that reports a denial or a hand-over.
    /// Returns whether it changed anything.
    pub(super) fn apply_result(
        &mut self,
        result: &ToolResult,
        position: u64,
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
            // Only a result from the machine that closed the call still counts.
            let Some(reason) = result.reason else { return false };
            self.close(result.outcome.status(), reason, position);
            return true;
        }
        self.set_name(result.name.as_ref(), settings);
        if result.outcome == ToolOutcome::Denied && self.name.is_none() {
            self.denial = Some(Box::new(result.clone()));
            self.answer_position = position;
            return true;
        }
        let (status, reason) = (result.outcome.status(), result.outcome.reason().or(result.reason));
        let content = result.content.clone().filter(|_| status != ToolStatus::HandedOver);
        self.settle(status, reason, content, position);
        if reason.is_none() {
            self.outcome = Some(result.outcome);
            self.denied = result.outcome == ToolOutcome::Denied;
        }
        self.update_status(settings);
        true
    }

    /// Records that the call was denied, which explains the result it already has. Returns whether
    /// this changed anything.
    pub(super) fn deny(&mut self, settings: &MachineSettings) -> bool {
        let before = self.settled;
        self.denied = true;
        self.update_status(settings);
        self.settled != before
    }

    /// Marks the question as handed over. The status stays final, and the content is removed,
    /// because the person's answer is private. Returns whether this changed anything.
    fn hand_over(&mut self) -> bool {
        let may_hand_over = matches!(
            self.outcome,
            Some(ToolOutcome::Error | ToolOutcome::Interrupted | ToolOutcome::Denied)
        );
        if may_hand_over {
            self.outcome = Some(ToolOutcome::HandedOver);
            self.settled = Some(ToolStatus::HandedOver);
            self.content = None;
        }
        may_hand_over
    }

    /// Updates the status of a call with a result from everything known so far.
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

    /// Whether a person took the question over. The agent receives that as an error, in the host's
    /// own wording. Errors of the tool itself are those of a call that was not accepted, and of one
    /// that a person allowed to run.
    fn is_handed_over(&self, settings: &MachineSettings) -> bool {
        if !self.is_interactive(settings) {
            return false;
        }
        let was_allowed = || {
            self.approvals.iter().any(|approval| approval.verdict == Some(ApprovalVerdict::Allowed))
        };
        let is_tool_error = || self.content.as_ref().is_some_and(is_not_accepted) || was_allowed();
        self.denied || self.outcome == Some(ToolOutcome::Error) && !is_tool_error()
    }

    /// Closes the call with the status from [`ToolCallState::status_when_closed`], determined
    /// before its requests were cancelled. A denial whose tool name never came counts as a denial.
    pub(super) fn close(&mut self, status: ToolStatus, reason: ToolStatusReason, position: u64) {
        match self.denial.take() {
            Some(denial) => {
                let (status, position) = (denial.outcome.status(), self.answer_position);
                let reason = if self.called { reason } else { ToolStatusReason::NeverCalled };
                self.settle(status, Some(reason), denial.content, position);
            }
            None => self.settle(status, Some(reason), None, position),
        }
    }

    /// Returns the status that the call gets if it is closed now. It never claims more than is
    /// known.
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
        position: u64,
    ) {
        if self.settled.is_some() {
            return;
        }
        self.settled = Some(status);
        self.reason = reason;
        self.content = content;
        self.answer_position = position;
        if self.input.is_none() {
            self.input = RawJson::parse(&self.arguments);
        }
    }

    /// Whether a result has arrived, even if its meaning is still open.
    pub(super) fn has_answer(&self) -> bool {
        self.settled.is_some() || self.denial.is_some()
    }

    pub(super) fn is_open(&self) -> bool {
        self.settled.is_none()
    }

    pub(super) fn is_interactive(&self, settings: &MachineSettings) -> bool {
        self.name.as_ref().is_some_and(|name| settings.interactive.contains(name))
    }

    /// Emits what a user interface does not show yet, in the required order. A result without its
    /// call is shown only at the end (`last`).
    pub(super) fn show(&mut self, last: bool, mut emit: impl FnMut(UiChange)) {
        if !self.shown.opened {
            if !self.called && !last {
                return;
            }
            self.shown.opened = true;
            self.shown.status = Some(ToolStatus::Pending);
            emit(UiChange::ToolOpened {
                tool: self.reference(),
                name: self.name.clone().unwrap_or_else(|| SharedId::from("unknown")),
                parent: self.parent.clone(),
                title: self.title.clone(),
            });
        }
        if self.shown.status.is_some_and(ToolStatus::is_final) {
            return self.show_correction(emit);
        }
        let rest = self.arguments.get(self.shown.arguments..).unwrap_or("");
        if !rest.is_empty() && !self.shown.ready {
            emit(UiChange::ToolArguments { tool: self.reference(), delta: rest.to_owned() });
            self.shown.arguments = self.arguments.len();
        }
        if let (Some(input), false) = (&self.input, self.shown.ready) {
            self.shown.ready = true;
            emit(UiChange::ToolReady { tool: self.reference(), input: input.clone() });
        }
        self.show_requests(&mut emit);
        let status = self.status();
        if self.shown.status == Some(status) {
            return;
        }
        self.shown.status = Some(status);
        let tool = self.reference();
        if status.is_final() {
            emit(UiChange::ToolSettled {
                tool,
                status,
                reason: self.reason,
                content: self.result_content(),
            });
        } else {
            emit(UiChange::ToolStatus { tool, status });
        }
    }

    /// Emits a correction if the call ended with another status than the one shown.
    fn show_correction(&mut self, mut emit: impl FnMut(UiChange)) {
        let status = self.status();
        if self.shown.status != Some(status) {
            self.shown.status = Some(status);
            let (tool, reason, content) = (self.reference(), self.reason, self.result_content());
            emit(UiChange::ToolCorrected { tool, status, reason, content });
        }
    }
}

/// Whether the agent itself rejected the call before a person was asked. Claude Code marks such
/// errors, and names the kind of error where the arguments are invalid.
fn is_not_accepted(content: &RawJson) -> bool {
    const MARKS: [&str; 2] = ["<tool_use_error>", "InputValidationError"];
    let text = content.plain();
    let text = text.trim_start();
    let text = text.strip_prefix("Error:").map_or(text, str::trim_start);
    MARKS.iter().any(|mark| text.starts_with(mark))
}
