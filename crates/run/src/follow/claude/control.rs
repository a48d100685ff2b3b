//! The control channel: the agent asks whether a call may run, its host answers, or calls it off.

use std::collections::BTreeMap;

use crate::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, EventPayload, RawJson,
    RunProblem, SharedId, StopRequest, ToolCallUpdate,
    follow::{
        calls::{CallApproval, CallStage},
        claude::{ClaudeCodeReader, HostState},
        emitter::EmitterPhase,
        fields::LineFields,
    },
};

/// How long tools may go on after an interrupt, in milliseconds. The agent answers for them at
/// once; this is for one that does not.
const STOP_GRACE: u64 = 3_000;

/// Tools that are a question to a person.
const QUESTIONS: [&str; 2] = ["AskUserQuestion", "ask_user_question"];

/// What the agent has asked its host.
#[derive(Default)]
pub(super) struct ControlRequests {
    open: BTreeMap<SharedId, ControlRequest>,
}

enum ControlRequest {
    /// May this call run?
    Permission { number: usize, kind: ApprovalKind, input: Option<RawJson> },
    /// A hook that looks at this call.
    Hook { number: usize },
}

impl ClaudeCodeReader {
    /// The agent asks its host.
    pub(super) fn read_control_request(&mut self, line: &str, fields: &LineFields<'_>) {
        let (Some(id), Some(request)) = (fields.id("request_id"), fields.object("request")) else {
            return self.emitter.emit_unknown("control_request", line);
        };
        let kind = request.text("subtype").unwrap_or_default();
        match kind.as_str() {
            "can_use_tool" => self.read_permission_request(id, &request),
            "hook_callback" => {
                let call = request.id("tool_use_id");
                if let Some(number) = call.and_then(|call| self.emitter.calls.find(Some(&call))) {
                    self.requests.open.insert(id, ControlRequest::Hook { number });
                }
            }
            // The host's, between the agent's own lines.
            "interrupt" => self.emit_stop(),
            // Tools of the host: what they are called with and answer is also told in lines.
            "mcp_message" => {}
            _ => self.emitter.emit_unknown(format!("control_request:{kind}"), line),
        }
    }

    fn read_permission_request(&mut self, id: SharedId, request: &LineFields<'_>) {
        self.ensure_run();
        let call = request.id("tool_use_id");
        let number = self.emitter.calls.mention(call.as_ref(), self.emitter.turn);
        let name = request.id("tool_name");
        let input = request.json("input");
        self.announce_call(number, name.as_ref(), input.as_ref());
        let questions = request.object("input").and_then(|input| input.json("questions"));
        let is_question = name.as_deref().is_some_and(|name| QUESTIONS.contains(&name));
        let (kind, prompt, choices) = match (is_question, questions) {
            (true, questions) => {
                let prompt = questions.as_ref().and_then(question_texts);
                (ApprovalKind::Question, prompt, questions)
            }
            (false, _) => {
                let words = ["title", "description", "decision_reason"];
                let prompt = words.into_iter().find_map(|name| request.non_empty_text(name));
                (ApprovalKind::Approval, prompt, request.json("permission_suggestions"))
            }
        };
        if let Some(known) = self.emitter.calls.get_mut(number) {
            known.approval = CallApproval::Open(id.clone());
        }
        let call = self.call_ref(number);
        self.emitter.emit(EventPayload::ApprovalRequested(ApprovalRequest {
            call,
            id: Some(id.clone()),
            kind,
            prompt,
            choices,
        }));
        self.requests.open.insert(id, ControlRequest::Permission { number, kind, input });
    }

    /// A call that is asked about before anybody told it.
    fn announce_call(&mut self, number: usize, name: Option<&SharedId>, input: Option<&RawJson>) {
        let Some(known) = self.emitter.calls.get_mut(number) else { return };
        if known.stage != CallStage::Mentioned {
            return;
        }
        known.name = known.name.take().or_else(|| name.cloned());
        let call = ToolCallUpdate {
            call: known.call.clone(),
            name: known.name.clone(),
            parent: known.parent.clone(),
            input: input.cloned(),
            ..ToolCallUpdate::default()
        };
        self.emitter.calls.complete(number, input);
        self.emitter.emit(EventPayload::ToolCall(call));
    }

    /// The agent does not want the answer any more.
    pub(super) fn cancel_request(&mut self, fields: &LineFields<'_>) {
        let request = fields.id("request_id").and_then(|id| self.requests.open.remove(&id));
        match request {
            Some(ControlRequest::Permission { number, .. }) => {
                self.emit_reply(number, ApprovalVerdict::Cancelled, None);
            }
            Some(ControlRequest::Hook { .. }) | None => {}
        }
    }

    /// The agent answers its host. Only a failure is worth telling.
    pub(super) fn read_control_response(&mut self, fields: &LineFields<'_>) {
        let Some(response) = fields.object("response") else { return };
        if response.text("subtype").as_deref() == Some("error") {
            let message = response.non_empty_text("error");
            let message = message.unwrap_or_else(|| "the agent refused a request".into());
            let problem = RunProblem { message, code: Some("control".into()), fatal: false };
            self.emitter.emit(EventPayload::Problem(problem));
        }
    }

    /// The host speaks to the model. A result that it sends this way is thrown away by the agent.
    pub(super) fn read_host_message(&mut self, fields: &LineFields<'_>) {
        let Some(message) = fields.object("message") else { return };
        let is_result = |raw: &&serde_json::value::RawValue| {
            let kind = LineFields::read(raw.get()).and_then(|block| block.text("type"));
            kind.as_deref() == Some("tool_result")
        };
        let blocks = message.list("content");
        if blocks.is_empty() || !blocks.iter().all(is_result) {
            self.prompt();
        }
    }

    /// The host wants something of the agent.
    pub(super) fn read_host_request(&mut self, fields: &LineFields<'_>) {
        let request = fields.object("request").and_then(|request| request.text("subtype"));
        if request.as_deref() == Some("interrupt") {
            self.emit_stop();
        }
    }

    /// Whether a response is the host's: the agent has asked under its id.
    pub(super) fn answers_agent(&self, fields: &LineFields<'_>) -> bool {
        let request = fields.object("response").and_then(|response| response.id("request_id"));
        request.is_some_and(|id| self.requests.open.contains_key(&id))
    }

    /// The host answers the agent.
    pub(super) fn read_host_response(&mut self, fields: &LineFields<'_>) {
        let Some(response) = fields.object("response") else { return };
        let request = response.id("request_id").and_then(|id| self.requests.open.remove(&id));
        let said = response.object("response");
        match request {
            None => {}
            Some(ControlRequest::Hook { number }) => {
                self.apply_hook_response(number, said.as_ref())
            }
            Some(ControlRequest::Permission { number, kind, input }) => {
                let Some(said) = said else {
                    // A host that fails to answer has not allowed anything.
                    let error =
                        response.non_empty_text("error").map(|error| RawJson::string(&error));
                    return self.emit_reply(number, ApprovalVerdict::Denied, error);
                };
                self.apply_decision(number, kind, input.as_ref(), &said);
            }
        }
    }

    fn apply_decision(
        &mut self,
        number: usize,
        kind: ApprovalKind,
        input: Option<&RawJson>,
        said: &LineFields<'_>,
    ) {
        if said.text("behavior").as_deref() != Some("allow") {
            let words = said.non_empty_text("message").map(|message| RawJson::string(&message));
            self.emit_reply(number, ApprovalVerdict::Denied, words);
            if said.is_true("interrupt") {
                self.emit_stop();
            }
            return;
        }
        let updated = said.object("updatedInput");
        let answers = updated.and_then(|updated| updated.json("answers"));
        match (kind, answers) {
            (ApprovalKind::Question, Some(answers)) => {
                self.emit_reply(number, ApprovalVerdict::Answered, Some(answers));
            }
            (ApprovalKind::Question | ApprovalKind::Approval, _) => {
                // A person may have changed what the call is about to do.
                let updated = said.json("updatedInput");
                let same =
                    |updated: &RawJson| input.is_some_and(|input| input.value() == updated.value());
                let changed = updated.filter(|updated| !same(updated));
                self.emit_reply(number, ApprovalVerdict::Allowed, changed);
            }
        }
    }

    fn apply_hook_response(&mut self, number: usize, said: Option<&LineFields<'_>>) {
        let Some(said) = said else { return };
        let output = said.object("hookSpecificOutput");
        let decision = output.and_then(|output| output.text("permissionDecision"));
        let decision = decision.or_else(|| said.text("decision")).unwrap_or_default();
        if let ("deny" | "block", Some(known)) =
            (decision.as_str(), self.emitter.calls.get_mut(number))
        {
            known.refused = true;
        }
    }

    fn emit_reply(&mut self, number: usize, verdict: ApprovalVerdict, answer: Option<RawJson>) {
        let Some(known) = self.emitter.calls.get_mut(number) else { return };
        let CallApproval::Open(request) = known.approval.clone() else { return };
        known.approval = CallApproval::Replied(verdict);
        let reply = ApprovalReply { call: known.call.clone(), id: Some(request), verdict, answer };
        self.emitter.emit(EventPayload::ApprovalReplied(reply));
    }

    /// Somebody calls the agent off. It stops by itself; that it should is told at once.
    fn emit_stop(&mut self) {
        let at_work = match (self.emitter.phase(), self.host) {
            (EmitterPhase::NotStarted, HostState::Prompted) => true,
            (EmitterPhase::Running, _) => !self.ending.is_announced(),
            (EmitterPhase::NotStarted, HostState::Unknown | HostState::Silent)
            | (EmitterPhase::Ended, _) => false,
        };
        if at_work && !self.interrupted {
            self.emitter.begin();
            self.interrupted = true;
            self.emitter.emit(EventPayload::Stop(StopRequest { grace: STOP_GRACE }));
        }
    }
}

/// What a person reads of a list of questions.
fn question_texts(questions: &RawJson) -> Option<String> {
    let list: Vec<&serde_json::value::RawValue> = serde_json::from_str(questions.raw()).ok()?;
    let questions =
        list.into_iter().filter_map(|raw| LineFields::read(raw.get())?.non_empty_text("question"));
    let texts: Vec<String> = questions.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
