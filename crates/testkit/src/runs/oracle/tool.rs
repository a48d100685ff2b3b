//! One call: the facts about it, and what follows from them.

use foxwedge_run::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, MachineSettings, RawJson,
    SharedId, ToolCallUpdate, ToolOutcome, ToolStatus, ToolStatusReason,
};
use serde_json::{Map, Value};

use super::asks::CallQuestions;

/// A fact about a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallFact<'a> {
    Called(&'a ToolCallUpdate),
    Arguments(&'a str),
    Progress,
    Answered(CallResultFact<'a>),
    CalledOff,
    Asked(&'a ApprovalRequest),
    Replied(&'a ApprovalReply),
    /// Its parent or the run is over.
    Gone(ToolStatusReason),
}

/// A tool result.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallResultFact<'a> {
    pub(super) how: ToolOutcome,
    pub(super) name: Option<&'a SharedId>,
    pub(super) reason: Option<ToolStatusReason>,
    pub(super) content: Option<&'a RawJson>,
}

/// The state of a call after its facts, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct CallHistory<'a> {
    pub(super) called: bool,
    pub(super) name: Option<&'a SharedId>,
    pub(super) parent: Option<&'a SharedId>,
    title: Option<&'a String>,
    pub(super) input: Option<RawJson>,
    pieces: String,
    begun: bool,
    odd: bool,
    asks: CallQuestions,
    /// The meaning of a denial depends on the tool, so it waits for the name.
    denial: Option<CallResultFact<'a>>,
    /// The first result, unless the call was closed.
    answer: Option<CallResultFact<'a>>,
    /// Whether it was denied, before or after that.
    denied: bool,
    end: Option<(ToolStatus, Option<ToolStatusReason>, Option<RawJson>)>,
}

impl<'a> CallHistory<'a> {
    pub(super) fn of(
        id: &SharedId,
        facts: &[CallFact<'a>],
        settings: &MachineSettings,
    ) -> CallHistory<'a> {
        let mut life = CallHistory::default();
        for fact in facts {
            life.take(id, fact, settings);
            if life.end.is_some() {
                life.asks.nobody_answers();
                if life.input.is_none() {
                    life.input = RawJson::parse(&life.pieces);
                }
                if let CallFact::Called(call) = fact {
                    life.input = life.input.take().or(call.input.clone());
                }
            }
        }
        life
    }

    pub(super) fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Whether it waits for a result.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_open() && self.denial.is_none()
    }

    pub(super) fn status(&self) -> ToolStatus {
        match &self.end {
            Some((status, _, _)) => *status,
            None if self.asks.are_open() => ToolStatus::AwaitingApproval,
            None if self.begun => ToolStatus::Running,
            None if self.odd => ToolStatus::Unknown,
            None => ToolStatus::Pending,
        }
    }

    /// Whether its child calls are closed with it. At the end of the run each call is closed
    /// individually.
    pub(super) fn was_called_off(&self) -> bool {
        self.end.as_ref().is_some_and(|(status, reason, _)| {
            let called_off = [ToolStatus::Cancelled, ToolStatus::Interrupted, ToolStatus::Denied];
            called_off.contains(status) && *reason != Some(ToolStatusReason::RunEnded)
        })
    }

    fn take(&mut self, id: &SharedId, fact: &CallFact<'a>, settings: &MachineSettings) {
        match fact {
            CallFact::Called(call) => self.called(id, call, settings),
            // After its end only late calls and late denials are accepted.
            CallFact::Answered(CallResultFact { how: ToolOutcome::Denied, .. })
                if self.end.is_some() =>
            {
                self.denied = true;
                self.read_again(settings);
            }
            CallFact::Answered(CallResultFact { how: ToolOutcome::HandedOver, .. })
                if self.is_explained() =>
            {
                self.end = Some((ToolStatus::HandedOver, None, None));
                self.answer = None;
            }
            CallFact::Replied(ApprovalReply { verdict: ApprovalVerdict::Denied, .. })
                if self.end.is_some() =>
            {
                self.denied = true;
                self.read_again(settings);
            }
            _ if self.end.is_some() => {}
            CallFact::Arguments(delta) if self.input.is_none() => self.pieces.push_str(delta),
            CallFact::Arguments(_) => {}
            CallFact::Progress => self.begun = true,
            CallFact::Answered(answer) => self.answered(*answer, settings),
            CallFact::CalledOff => self.gone(ToolStatusReason::CallCancelled),
            CallFact::Gone(reason) => self.gone(*reason),
            CallFact::Asked(ask) => self.asks.ask(ask.id.as_ref().unwrap_or(id), ask.kind),
            CallFact::Replied(reply) => {
                let id_of_call = id;
                if !self.asks.reply(reply, id_of_call) {
                    return;
                }
                match reply.verdict {
                    ApprovalVerdict::Answered => self.begun = true,
                    ApprovalVerdict::Denied => self.answered(DENIED, settings),
                    ApprovalVerdict::Allowed | ApprovalVerdict::Cancelled => {}
                }
            }
        }
    }

    fn called(&mut self, id: &SharedId, call: &'a ToolCallUpdate, settings: &MachineSettings) {
        self.called = true;
        self.named(call.name.as_ref(), settings);
        self.title = self.title.or(call.title.as_ref());
        self.parent = self.parent.or(call.parent.as_ref());
        self.begun |= call.status == Some(ToolStatus::Running);
        self.odd |= call.status == Some(ToolStatus::Unknown);
        if self.end.is_some() {
            return;
        }
        self.input = self.input.take().or(call.input.clone());
        let waits = call.status == Some(ToolStatus::AwaitingApproval);
        if self.asks_people(settings) && (waits || self.input.is_some()) {
            self.asks.conclude(id, ApprovalKind::Question);
        } else if waits {
            self.asks.conclude(id, ApprovalKind::Approval);
        }
    }

    fn named(&mut self, name: Option<&'a SharedId>, settings: &MachineSettings) {
        self.name = self.name.or(name);
        if self.name.is_some()
            && let Some(denial) = self.denial.take()
        {
            self.answered(denial, settings);
        }
        self.read_again(settings);
    }

    fn answered(&mut self, answer: CallResultFact<'a>, settings: &MachineSettings) {
        if self.denial.is_some() {
            // The event that closed the call states the reason.
            if let Some(reason) = answer.reason {
                self.gone(reason);
            }
            return;
        }
        self.name = self.name.or(answer.name);
        if answer.how == ToolOutcome::Denied && self.name.is_none() {
            self.denial = Some(answer);
            return;
        }
        let reason = match answer.how {
            ToolOutcome::TimedOut => Some(ToolStatusReason::TimedOut),
            ToolOutcome::Skipped => Some(ToolStatusReason::Skipped),
            _ => answer.reason,
        };
        let content = answer.content.cloned().filter(|_| answer.how != ToolOutcome::HandedOver);
        self.end = Some((status(answer.how), reason, content));
        if reason.is_none() {
            self.answer = Some(answer);
            self.denied |= answer.how == ToolOutcome::Denied;
            self.read_again(settings);
        }
    }

    /// Whether the result can become more specific.
    fn is_explained(&self) -> bool {
        let later = [ToolOutcome::Error, ToolOutcome::Interrupted, ToolOutcome::Denied];
        self.answer.is_some_and(|answer| later.contains(&answer.how))
    }

    /// Evaluates the result again with everything that is known now.
    fn read_again(&mut self, settings: &MachineSettings) {
        let Some(answer) = self.answer.filter(|_| self.is_explained()) else { return };
        let refused = answer.content.is_some_and(is_marked) || self.asks.have_a_yes();
        let took_over = self.denied || answer.how == ToolOutcome::Error && !refused;
        if self.asks_people(settings) && took_over {
            // The answer of the user stays private.
            self.end = Some((ToolStatus::HandedOver, None, None));
        } else if self.denied {
            self.end = Some((ToolStatus::Denied, None, answer.content.cloned()));
        }
    }

    /// The call is removed: its status claims only what is known.
    fn gone(&mut self, reason: ToolStatusReason) {
        if let Some(denial) = self.denial.take() {
            let reason = if self.called { reason } else { ToolStatusReason::NeverCalled };
            self.end = Some((status(denial.how), Some(reason), denial.content.cloned()));
            return;
        }
        let status = if self.asks.have_an_answer() {
            ToolStatus::HandedOver
        } else if self.asks.are_open() {
            ToolStatus::Cancelled
        } else if self.begun || self.odd {
            ToolStatus::Interrupted
        } else {
            ToolStatus::Cancelled
        };
        self.end = Some((status, Some(reason), None));
    }

    /// The run is over.
    pub(super) fn swept(mut self) -> CallHistory<'a> {
        if self.is_open() {
            self.gone(ToolStatusReason::RunEnded);
            self.asks.nobody_answers();
            self.input = self.input.take().or_else(|| RawJson::parse(&self.pieces));
        } else if let (false, Some((_, reason, _))) = (self.called, &mut self.end) {
            reason.get_or_insert(ToolStatusReason::NeverCalled);
        }
        self
    }

    fn asks_people(&self, settings: &MachineSettings) -> bool {
        self.name.is_some_and(|name| settings.interactive.contains(name))
    }

    pub(super) fn truth(&self, id: &SharedId, turn: u32) -> Value {
        let (_, reason, content) = self.end.clone().unwrap_or((ToolStatus::Unknown, None, None));
        let fields = [
            ("call", Some((**id).into())),
            ("turn", Some(turn.into())),
            ("name", self.name.map(|name| (**name).into())),
            ("parent", self.parent.map(|parent| (**parent).into())),
            ("title", self.title.cloned().map(Value::from)),
            ("called", Some(self.called.into())),
            ("status", Some(self.status().name().into())),
            ("reason", reason.map(|reason| reason.name().into())),
            ("input", self.input.as_ref().map(RawJson::value)),
            ("content", content.as_ref().map(RawJson::value)),
            ("asks", self.asks.truth()),
        ];
        let known = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Value::Object(known.collect::<Map<_, _>>())
    }
}

/// The result of a denied call.
const DENIED: CallResultFact<'_> =
    CallResultFact { how: ToolOutcome::Denied, name: None, reason: None, content: None };

fn status(how: ToolOutcome) -> ToolStatus {
    match how {
        ToolOutcome::Ok => ToolStatus::Succeeded,
        ToolOutcome::Error | ToolOutcome::TimedOut => ToolStatus::Failed,
        ToolOutcome::Denied => ToolStatus::Denied,
        ToolOutcome::Cancelled | ToolOutcome::Skipped => ToolStatus::Cancelled,
        ToolOutcome::Interrupted => ToolStatus::Interrupted,
        ToolOutcome::HandedOver => ToolStatus::HandedOver,
    }
}

/// Whether the agent marks the call as not accepted.
fn is_marked(content: &RawJson) -> bool {
    let text = content.plain();
    let text = text.trim_start();
    let bare = text.strip_prefix("Error:").unwrap_or(text).trim_start();
    bare.starts_with("<tool_use_error>") || bare.starts_with("InputValidationError")
}
