//! The control channel: the agent asks whether a call may run, its host answers, or calls it off.

use std::collections::BTreeMap;

use crate::{
    Ask, AskKind, Body, Call, Id, Json, Problem, Reply, Stop, Verdict,
    follow::{
        calls::{Asked, Stage},
        claude::{Claude, Host},
        fields::Fields,
        tale::Phase,
    },
};

/// How long tools may go on after an interrupt, in milliseconds. The agent answers for them at
/// once; this is for one that does not.
const GRACE: u64 = 3_000;

/// Tools that are a question to a person.
const QUESTIONS: [&str; 2] = ["AskUserQuestion", "ask_user_question"];

/// What the agent has asked its host.
#[derive(Default)]
pub(super) struct Requests {
    open: BTreeMap<Id, Request>,
}

enum Request {
    /// May this call run?
    Permission { number: usize, kind: AskKind, input: Option<Json> },
    /// A hook that looks at this call.
    Hook { number: usize },
}

impl Claude {
    /// The agent asks its host.
    pub(super) fn request(&mut self, line: &str, fields: &Fields<'_>) {
        let (Some(id), Some(request)) = (fields.id("request_id"), fields.object("request")) else {
            return self.tale.unknown("control_request", line);
        };
        let kind = request.text("subtype").unwrap_or_default();
        match kind.as_str() {
            "can_use_tool" => self.asked(id, &request),
            "hook_callback" => {
                let call = request.id("tool_use_id");
                if let Some(number) = call.and_then(|call| self.tale.calls.find(Some(&call))) {
                    self.requests.open.insert(id, Request::Hook { number });
                }
            }
            // The host's, between the agent's own lines.
            "interrupt" => self.called_off(),
            // Tools of the host: what they are called with and answer is also told in lines.
            "mcp_message" => {}
            _ => self.tale.unknown(format!("control_request:{kind}"), line),
        }
    }

    fn asked(&mut self, id: Id, request: &Fields<'_>) {
        self.under_way();
        let call = request.id("tool_use_id");
        let number = self.tale.calls.mention(call.as_ref(), self.tale.turn);
        let name = request.id("tool_name");
        let input = request.json("input");
        self.announced(number, name.as_ref(), input.as_ref());
        let questions = request.object("input").and_then(|input| input.json("questions"));
        let is_question = name.as_deref().is_some_and(|name| QUESTIONS.contains(&name));
        let (kind, prompt, choices) = match (is_question, questions) {
            (true, questions) => {
                let prompt = questions.as_ref().and_then(texts);
                (AskKind::Question, prompt, questions)
            }
            (false, _) => {
                let words = ["title", "description", "decision_reason"];
                let prompt = words.into_iter().find_map(|name| request.words(name));
                (AskKind::Approval, prompt, request.json("permission_suggestions"))
            }
        };
        if let Some(known) = self.tale.calls.get_mut(number) {
            known.asked = Asked::Open(id.clone());
        }
        let call = self.call(number);
        self.tale.tell(Body::Asked(Ask { call, id: Some(id.clone()), kind, prompt, choices }));
        self.requests.open.insert(id, Request::Permission { number, kind, input });
    }

    /// A call that is asked about before anybody told it.
    fn announced(&mut self, number: usize, name: Option<&Id>, input: Option<&Json>) {
        let Some(known) = self.tale.calls.get_mut(number) else { return };
        if known.stage != Stage::Foretold {
            return;
        }
        known.name = known.name.take().or_else(|| name.cloned());
        let call = Call {
            call: known.call.clone(),
            name: known.name.clone(),
            parent: known.parent.clone(),
            input: input.cloned(),
            ..Call::default()
        };
        self.tale.calls.complete(number, input);
        self.tale.tell(Body::Call(call));
    }

    /// The agent does not want the answer any more.
    pub(super) fn withdrawn(&mut self, fields: &Fields<'_>) {
        let request = fields.id("request_id").and_then(|id| self.requests.open.remove(&id));
        match request {
            Some(Request::Permission { number, .. }) => {
                self.replied(number, Verdict::Cancelled, None);
            }
            Some(Request::Hook { .. }) | None => {}
        }
    }

    /// The agent answers its host. Only a failure is worth telling.
    pub(super) fn response(&mut self, fields: &Fields<'_>) {
        let Some(response) = fields.object("response") else { return };
        if response.text("subtype").as_deref() == Some("error") {
            let message = response.words("error");
            let message = message.unwrap_or_else(|| "the agent refused a request".into());
            let problem = Problem { message, code: Some("control".into()), fatal: false };
            self.tale.tell(Body::Problem(problem));
        }
    }

    /// The host speaks to the model. A result that it sends this way is thrown away by the agent.
    pub(super) fn host_message(&mut self, fields: &Fields<'_>) {
        let Some(message) = fields.object("message") else { return };
        let is_result = |raw: &&serde_json::value::RawValue| {
            let kind = Fields::read(raw.get()).and_then(|block| block.text("type"));
            kind.as_deref() == Some("tool_result")
        };
        let blocks = message.list("content");
        if blocks.is_empty() || !blocks.iter().all(is_result) {
            self.prompt();
        }
    }

    /// The host wants something of the agent.
    pub(super) fn host_request(&mut self, fields: &Fields<'_>) {
        let request = fields.object("request").and_then(|request| request.text("subtype"));
        if request.as_deref() == Some("interrupt") {
            self.called_off();
        }
    }

    /// Whether a response is the host's: the agent has asked under its id.
    pub(super) fn answers_agent(&self, fields: &Fields<'_>) -> bool {
        let request = fields.object("response").and_then(|response| response.id("request_id"));
        request.is_some_and(|id| self.requests.open.contains_key(&id))
    }

    /// The host answers the agent.
    pub(super) fn host_response(&mut self, fields: &Fields<'_>) {
        let Some(response) = fields.object("response") else { return };
        let request = response.id("request_id").and_then(|id| self.requests.open.remove(&id));
        let said = response.object("response");
        match request {
            None => {}
            Some(Request::Hook { number }) => self.hook_said(number, said.as_ref()),
            Some(Request::Permission { number, kind, input }) => {
                let Some(said) = said else {
                    // A host that fails to answer has not allowed anything.
                    let error = response.words("error").map(|error| Json::string(&error));
                    return self.replied(number, Verdict::Denied, error);
                };
                self.decided(number, kind, input.as_ref(), &said);
            }
        }
    }

    fn decided(&mut self, number: usize, kind: AskKind, input: Option<&Json>, said: &Fields<'_>) {
        if said.text("behavior").as_deref() != Some("allow") {
            let words = said.words("message").map(|message| Json::string(&message));
            self.replied(number, Verdict::Denied, words);
            if said.is_true("interrupt") {
                self.called_off();
            }
            return;
        }
        let updated = said.object("updatedInput");
        let answers = updated.and_then(|updated| updated.json("answers"));
        match (kind, answers) {
            (AskKind::Question, Some(answers)) => {
                self.replied(number, Verdict::Answered, Some(answers));
            }
            (AskKind::Question | AskKind::Approval, _) => {
                // A person may have changed what the call is about to do.
                let updated = said.json("updatedInput");
                let same =
                    |updated: &Json| input.is_some_and(|input| input.value() == updated.value());
                let changed = updated.filter(|updated| !same(updated));
                self.replied(number, Verdict::Allowed, changed);
            }
        }
    }

    fn hook_said(&mut self, number: usize, said: Option<&Fields<'_>>) {
        let Some(said) = said else { return };
        let output = said.object("hookSpecificOutput");
        let decision = output.and_then(|output| output.text("permissionDecision"));
        let decision = decision.or_else(|| said.text("decision")).unwrap_or_default();
        if let ("deny" | "block", Some(known)) =
            (decision.as_str(), self.tale.calls.get_mut(number))
        {
            known.refused = true;
        }
    }

    fn replied(&mut self, number: usize, verdict: Verdict, answer: Option<Json>) {
        let Some(known) = self.tale.calls.get_mut(number) else { return };
        let Asked::Open(request) = known.asked.clone() else { return };
        known.asked = Asked::Replied(verdict);
        let reply = Reply { call: known.call.clone(), id: Some(request), verdict, answer };
        self.tale.tell(Body::Replied(reply));
    }

    /// Somebody calls the agent off. It stops by itself; that it should is told at once.
    fn called_off(&mut self) {
        let at_work = match (self.tale.phase(), self.host) {
            (Phase::Ahead, Host::Prompted) => true,
            (Phase::UnderWay, _) => !self.ending.is_announced(),
            (Phase::Ahead, Host::Unheard | Host::Silent) | (Phase::Over, _) => false,
        };
        if at_work && !self.interrupted {
            self.tale.begin();
            self.interrupted = true;
            self.tale.tell(Body::Stop(Stop { grace: GRACE }));
        }
    }
}

/// What a person reads of a list of questions.
fn texts(questions: &Json) -> Option<String> {
    let list: Vec<&serde_json::value::RawValue> = serde_json::from_str(questions.raw()).ok()?;
    let questions = list.into_iter().filter_map(|raw| Fields::read(raw.get())?.words("question"));
    let texts: Vec<String> = questions.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
