//! One call: what was said about it, and what follows from that.

use foxwedge_run::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, MachineSettings, RawJson,
    SharedId, ToolCallUpdate, ToolOutcome, ToolStatus, ToolStatusReason,
};
use serde_json::{Map, Value};

use super::asks::Asks;

/// Something that was said about a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fact<'a> {
    Called(&'a ToolCallUpdate),
    Arguments(&'a str),
    Progress,
    Answered(Answer<'a>),
    CalledOff,
    Asked(&'a ApprovalRequest),
    Replied(&'a ApprovalReply),
    /// What it worked for is over, or the run is.
    Gone(ToolStatusReason),
}

/// What came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) how: ToolOutcome,
    pub(super) name: Option<&'a SharedId>,
    pub(super) reason: Option<ToolStatusReason>,
    pub(super) content: Option<&'a RawJson>,
}

/// What follows from the facts about a call, taken one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Life<'a> {
    pub(super) called: bool,
    pub(super) name: Option<&'a SharedId>,
    pub(super) parent: Option<&'a SharedId>,
    title: Option<&'a String>,
    pub(super) input: Option<RawJson>,
    pieces: String,
    begun: bool,
    odd: bool,
    asks: Asks,
    /// What a denial means depends on the tool, so it waits for the name.
    denial: Option<Answer<'a>>,
    /// The first thing that came back, unless somebody closed the call.
    answer: Option<Answer<'a>>,
    /// Somebody said no, before or behind that.
    denied: bool,
    end: Option<(ToolStatus, Option<ToolStatusReason>, Option<RawJson>)>,
}

impl<'a> Life<'a> {
    pub(super) fn of(id: &SharedId, facts: &[Fact<'a>], settings: &MachineSettings) -> Life<'a> {
        let mut life = Life::default();
        for fact in facts {
            life.take(id, fact, settings);
            if life.end.is_some() {
                life.asks.nobody_answers();
                if life.input.is_none() {
                    life.input = RawJson::parse(&life.pieces);
                }
                if let Fact::Called(call) = fact {
                    life.input = life.input.take().or(call.input.clone());
                }
            }
        }
        life
    }

    pub(super) fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Whether it waits for an answer.
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

    /// Whether what works for it goes with it. At the end of the run everybody goes alone.
    pub(super) fn was_called_off(&self) -> bool {
        self.end.as_ref().is_some_and(|(status, reason, _)| {
            let called_off = [ToolStatus::Cancelled, ToolStatus::Interrupted, ToolStatus::Denied];
            called_off.contains(status) && *reason != Some(ToolStatusReason::RunEnded)
        })
    }

    fn take(&mut self, id: &SharedId, fact: &Fact<'a>, settings: &MachineSettings) {
        match fact {
            Fact::Called(call) => self.called(id, call, settings),
            // Behind the end there is nothing but belated calls, and a no that came late.
            Fact::Answered(Answer { how: ToolOutcome::Denied, .. }) if self.end.is_some() => {
                self.denied = true;
                self.read_again(settings);
            }
            Fact::Answered(Answer { how: ToolOutcome::HandedOver, .. }) if self.is_explained() => {
                self.end = Some((ToolStatus::HandedOver, None, None));
                self.answer = None;
            }
            Fact::Replied(ApprovalReply { verdict: ApprovalVerdict::Denied, .. })
                if self.end.is_some() =>
            {
                self.denied = true;
                self.read_again(settings);
            }
            _ if self.end.is_some() => {}
            Fact::Arguments(piece) if self.input.is_none() => self.pieces.push_str(piece),
            Fact::Arguments(_) => {}
            Fact::Progress => self.begun = true,
            Fact::Answered(answer) => self.answered(*answer, settings),
            Fact::CalledOff => self.gone(ToolStatusReason::CallCancelled),
            Fact::Gone(reason) => self.gone(*reason),
            Fact::Asked(ask) => self.asks.ask(ask.id.as_ref().unwrap_or(id), ask.kind),
            Fact::Replied(reply) => {
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

    fn answered(&mut self, answer: Answer<'a>, settings: &MachineSettings) {
        if self.denial.is_some() {
            // Whoever closed the call wrote down why.
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

    /// Whether more can be said about what came back.
    fn is_explained(&self) -> bool {
        let later = [ToolOutcome::Error, ToolOutcome::Interrupted, ToolOutcome::Denied];
        self.answer.is_some_and(|answer| later.contains(&answer.how))
    }

    /// What the answer was about, with all that is known now.
    fn read_again(&mut self, settings: &MachineSettings) {
        let Some(answer) = self.answer.filter(|_| self.is_explained()) else { return };
        let refused = answer.content.is_some_and(is_marked) || self.asks.have_a_yes();
        let took_over = self.denied || answer.how == ToolOutcome::Error && !refused;
        if self.asks_people(settings) && took_over {
            // What the user said is nobody else's business.
            self.end = Some((ToolStatus::HandedOver, None, None));
        } else if self.denied {
            self.end = Some((ToolStatus::Denied, None, answer.content.cloned()));
        }
    }

    /// It is taken away: nothing more is claimed than is known.
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
    pub(super) fn swept(mut self) -> Life<'a> {
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

/// What a person's no says about a call.
const DENIED: Answer<'_> =
    Answer { how: ToolOutcome::Denied, name: None, reason: None, content: None };

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

/// Whether an agent says that it did not accept the call.
fn is_marked(content: &RawJson) -> bool {
    let text = content.plain();
    let text = text.trim_start();
    let bare = text.strip_prefix("Error:").unwrap_or(text).trim_start();
    bare.starts_with("<tool_use_error>") || bare.starts_with("InputValidationError")
}
