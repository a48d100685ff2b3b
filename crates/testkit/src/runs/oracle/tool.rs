//! One call: what was said about it, and what follows from that.

use foxwedge_run::{Ask, AskKind, Call, How, Id, Json, Reason, Reply, Settings, Status, Verdict};
use serde_json::{Map, Value};

use super::asks::Asks;

/// Something that was said about a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fact<'a> {
    Called(&'a Call),
    Arguments(&'a str),
    Progress,
    Answered(Answer<'a>),
    CalledOff,
    Asked(&'a Ask),
    Replied(&'a Reply),
    /// What it worked for is over, or the run is.
    Gone(Reason),
}

/// What came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) how: How,
    pub(super) name: Option<&'a Id>,
    pub(super) reason: Option<Reason>,
    pub(super) content: Option<&'a Json>,
}

/// What follows from the facts about a call, taken one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Life<'a> {
    pub(super) called: bool,
    pub(super) name: Option<&'a Id>,
    pub(super) parent: Option<&'a Id>,
    title: Option<&'a String>,
    pub(super) input: Option<Json>,
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
    end: Option<(Status, Option<Reason>, Option<Json>)>,
}

impl<'a> Life<'a> {
    pub(super) fn of(id: &Id, facts: &[Fact<'a>], settings: &Settings) -> Life<'a> {
        let mut life = Life::default();
        for fact in facts {
            life.take(id, fact, settings);
            if life.end.is_some() {
                life.asks.nobody_answers();
                if life.input.is_none() {
                    life.input = Json::parse(&life.pieces);
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

    pub(super) fn status(&self) -> Status {
        match &self.end {
            Some((status, _, _)) => *status,
            None if self.asks.are_open() => Status::AwaitingApproval,
            None if self.begun => Status::Running,
            None if self.odd => Status::Unknown,
            None => Status::Pending,
        }
    }

    /// Whether what works for it goes with it. At the end of the run everybody goes alone.
    pub(super) fn was_called_off(&self) -> bool {
        self.end.as_ref().is_some_and(|(status, reason, _)| {
            let called_off = [Status::Cancelled, Status::Interrupted, Status::Denied];
            called_off.contains(status) && *reason != Some(Reason::RunEnded)
        })
    }

    fn take(&mut self, id: &Id, fact: &Fact<'a>, settings: &Settings) {
        match fact {
            Fact::Called(call) => self.called(id, call, settings),
            // Behind the end there is nothing but belated calls, and a no that came late.
            Fact::Answered(Answer { how: How::Denied, .. }) if self.end.is_some() => {
                self.denied = true;
                self.read_again(settings);
            }
            Fact::Answered(Answer { how: How::HandedOver, .. }) if self.is_explained() => {
                self.end = Some((Status::HandedOver, None, None));
                self.answer = None;
            }
            Fact::Replied(Reply { verdict: Verdict::Denied, .. }) if self.end.is_some() => {
                self.denied = true;
                self.read_again(settings);
            }
            _ if self.end.is_some() => {}
            Fact::Arguments(piece) if self.input.is_none() => self.pieces.push_str(piece),
            Fact::Arguments(_) => {}
            Fact::Progress => self.begun = true,
            Fact::Answered(answer) => self.answered(*answer, settings),
            Fact::CalledOff => self.gone(Reason::CalledOff),
            Fact::Gone(reason) => self.gone(*reason),
            Fact::Asked(ask) => self.asks.ask(ask.id.as_ref().unwrap_or(id), ask.kind),
            Fact::Replied(reply) => {
                let id_of_call = id;
                if !self.asks.reply(reply, id_of_call) {
                    return;
                }
                match reply.verdict {
                    Verdict::Answered => self.begun = true,
                    Verdict::Denied => self.answered(DENIED, settings),
                    Verdict::Allowed | Verdict::Cancelled => {}
                }
            }
        }
    }

    fn called(&mut self, id: &Id, call: &'a Call, settings: &Settings) {
        self.called = true;
        self.named(call.name.as_ref(), settings);
        self.title = self.title.or(call.title.as_ref());
        self.parent = self.parent.or(call.parent.as_ref());
        self.begun |= call.status == Some(Status::Running);
        self.odd |= call.status == Some(Status::Unknown);
        if self.end.is_some() {
            return;
        }
        self.input = self.input.take().or(call.input.clone());
        let waits = call.status == Some(Status::AwaitingApproval);
        if self.asks_people(settings) && (waits || self.input.is_some()) {
            self.asks.conclude(id, AskKind::Question);
        } else if waits {
            self.asks.conclude(id, AskKind::Approval);
        }
    }

    fn named(&mut self, name: Option<&'a Id>, settings: &Settings) {
        self.name = self.name.or(name);
        if self.name.is_some()
            && let Some(denial) = self.denial.take()
        {
            self.answered(denial, settings);
        }
        self.read_again(settings);
    }

    fn answered(&mut self, answer: Answer<'a>, settings: &Settings) {
        if self.denial.is_some() {
            // Whoever closed the call wrote down why.
            if let Some(reason) = answer.reason {
                self.gone(reason);
            }
            return;
        }
        self.name = self.name.or(answer.name);
        if answer.how == How::Denied && self.name.is_none() {
            self.denial = Some(answer);
            return;
        }
        let reason = match answer.how {
            How::TimedOut => Some(Reason::TimedOut),
            How::Skipped => Some(Reason::Skipped),
            _ => answer.reason,
        };
        let content = answer.content.cloned().filter(|_| answer.how != How::HandedOver);
        self.end = Some((status(answer.how), reason, content));
        if reason.is_none() {
            self.answer = Some(answer);
            self.denied |= answer.how == How::Denied;
            self.read_again(settings);
        }
    }

    /// Whether more can be said about what came back.
    fn is_explained(&self) -> bool {
        let later = [How::Error, How::Interrupted, How::Denied];
        self.answer.is_some_and(|answer| later.contains(&answer.how))
    }

    /// What the answer was about, with all that is known now.
    fn read_again(&mut self, settings: &Settings) {
        let Some(answer) = self.answer.filter(|_| self.is_explained()) else { return };
        let refused = answer.content.is_some_and(is_marked) || self.asks.have_a_yes();
        let took_over = self.denied || answer.how == How::Error && !refused;
        if self.asks_people(settings) && took_over {
            // What the user said is nobody else's business.
            self.end = Some((Status::HandedOver, None, None));
        } else if self.denied {
            self.end = Some((Status::Denied, None, answer.content.cloned()));
        }
    }

    /// It is taken away: nothing more is claimed than is known.
    fn gone(&mut self, reason: Reason) {
        if let Some(denial) = self.denial.take() {
            let reason = if self.called { reason } else { Reason::NeverCalled };
            self.end = Some((status(denial.how), Some(reason), denial.content.cloned()));
            return;
        }
        let status = if self.asks.have_an_answer() {
            Status::HandedOver
        } else if self.asks.are_open() {
            Status::Cancelled
        } else if self.begun || self.odd {
            Status::Interrupted
        } else {
            Status::Cancelled
        };
        self.end = Some((status, Some(reason), None));
    }

    /// The run is over.
    pub(super) fn swept(mut self) -> Life<'a> {
        if self.is_open() {
            self.gone(Reason::RunEnded);
            self.asks.nobody_answers();
            self.input = self.input.take().or_else(|| Json::parse(&self.pieces));
        } else if let (false, Some((_, reason, _))) = (self.called, &mut self.end) {
            reason.get_or_insert(Reason::NeverCalled);
        }
        self
    }

    fn asks_people(&self, settings: &Settings) -> bool {
        self.name.is_some_and(|name| settings.interactive.contains(name))
    }

    pub(super) fn truth(&self, id: &Id, turn: u32) -> Value {
        let (_, reason, content) = self.end.clone().unwrap_or((Status::Unknown, None, None));
        let fields = [
            ("call", Some((**id).into())),
            ("turn", Some(turn.into())),
            ("name", self.name.map(|name| (**name).into())),
            ("parent", self.parent.map(|parent| (**parent).into())),
            ("title", self.title.cloned().map(Value::from)),
            ("called", Some(self.called.into())),
            ("status", Some(self.status().name().into())),
            ("reason", reason.map(|reason| reason.name().into())),
            ("input", self.input.as_ref().map(Json::value)),
            ("content", content.as_ref().map(Json::value)),
            ("asks", self.asks.truth()),
        ];
        let known = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Value::Object(known.collect::<Map<_, _>>())
    }
}

/// What a person's no says about a call.
const DENIED: Answer<'_> = Answer { how: How::Denied, name: None, reason: None, content: None };

fn status(how: How) -> Status {
    match how {
        How::Ok => Status::Succeeded,
        How::Error | How::TimedOut => Status::Failed,
        How::Denied => Status::Denied,
        How::Cancelled | How::Skipped => Status::Cancelled,
        How::Interrupted => Status::Interrupted,
        How::HandedOver => Status::HandedOver,
    }
}

/// Whether an agent says that it did not accept the call.
fn is_marked(content: &Json) -> bool {
    let text = content.plain();
    let text = text.trim_start();
    let bare = text.strip_prefix("Error:").unwrap_or(text).trim_start();
    bare.starts_with("<tool_use_error>") || bare.starts_with("InputValidationError")
}
