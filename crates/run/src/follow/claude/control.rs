//! The control channel: approval requests of the agent, responses of its host, and interrupts.

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

/// How long tools may run after an interrupt, in milliseconds. The agent normally closes them at
/// once; this is for one that does not.
const STOP_GRACE: u64 = 3_000;

/// Tools that ask a person questions.
const QUESTIONS: [&str; 2] = ["AskUserQuestion", "ask_user_question"];

/// Open requests of the agent to its host.
#[derive(Default)]
pub(super) struct ControlRequests {
    open: BTreeMap<SharedId, ControlRequest>,
}

enum ControlRequest {
    /// Asks whether this call may run.
    Permission { number: usize, kind: ApprovalKind, input: Option<RawJson> },
    /// A hook for this call.
    Hook { number: usize },
}

impl ClaudeCodeReader {
    /// Reads a request of the agent to its host.
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
            // A request of the host, between the agent's own lines.
            "interrupt" => self.emit_stop(),
            // Tools of the host: their calls and results are also printed as lines.
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
                let fields = ["title", "description", "decision_reason"];
                let prompt = fields.into_iter().find_map(|name| request.non_empty_text(name));
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

    /// Emits a call whose approval is requested before the call itself was printed.
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

    /// The agent withdraws a request.
    pub(super) fn cancel_request(&mut self, fields: &LineFields<'_>) {
        let request = fields.id("request_id").and_then(|id| self.requests.open.remove(&id));
        match request {
            Some(ControlRequest::Permission { number, .. }) => {
                self.emit_reply(number, ApprovalVerdict::Cancelled, None);
            }
            Some(ControlRequest::Hook { .. }) | None => {}
        }
    }

    /// Reads a response of the agent to its host. Only errors are emitted.
    pub(super) fn read_control_response(&mut self, fields: &LineFields<'_>) {
        let Some(response) = fields.object("response") else { return };
        if response.text("subtype").as_deref() == Some("error") {
            let message = response.non_empty_text("error");
            let message = message.unwrap_or_else(|| "the agent refused a request".into());
            let problem = RunProblem { message, code: Some("control".into()), fatal: false };
            self.emitter.emit(EventPayload::Problem(problem));
        }
    }

    /// Reads a message of the host. The agent drops tool results that are sent this way.
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

    /// Reads a request of the host.
    pub(super) fn read_host_request(&mut self, fields: &LineFields<'_>) {
        let request = fields.object("request").and_then(|request| request.text("subtype"));
        if request.as_deref() == Some("interrupt") {
            self.emit_stop();
        }
    }

    /// Whether a response answers an open request of the agent.
    pub(super) fn answers_agent(&self, fields: &LineFields<'_>) -> bool {
        let request = fields.object("response").and_then(|response| response.id("request_id"));
        request.is_some_and(|id| self.requests.open.contains_key(&id))
    }

    /// Reads a response of the host.
    pub(super) fn read_host_response(&mut self, fields: &LineFields<'_>) {
        let Some(response) = fields.object("response") else { return };
        let request = response.id("request_id").and_then(|id| self.requests.open.remove(&id));
        let decision = response.object("response");
        match request {
            None => {}
            Some(ControlRequest::Hook { number }) => {
                self.apply_hook_response(number, decision.as_ref())
            }
            Some(ControlRequest::Permission { number, kind, input }) => {
                let Some(decision) = decision else {
                    // An error response allows nothing.
                    let error =
                        response.non_empty_text("error").map(|error| RawJson::string(&error));
                    return self.emit_reply(number, ApprovalVerdict::Denied, error);
                };
                self.apply_decision(number, kind, input.as_ref(), &decision);
            }
        }
    }

    fn apply_decision(
        &mut self,
        number: usize,
        kind: ApprovalKind,
        input: Option<&RawJson>,
        decision: &LineFields<'_>,
    ) {
        if decision.text("behavior").as_deref() != Some("allow") {
            let message =
                decision.non_empty_text("message").map(|message| RawJson::string(&message));
            self.emit_reply(number, ApprovalVerdict::Denied, message);
            if decision.is_true("interrupt") {
                self.emit_stop();
            }
            return;
        }
        let updated = decision.object("updatedInput");
        let answers = updated.and_then(|updated| updated.json("answers"));
        match (kind, answers) {
            (ApprovalKind::Question, Some(answers)) => {
                self.emit_reply(number, ApprovalVerdict::Answered, Some(answers));
            }
            (ApprovalKind::Question | ApprovalKind::Approval, _) => {
                // A person may have changed the input of the call.
                let updated = decision.json("updatedInput");
                let same =
                    |updated: &RawJson| input.is_some_and(|input| input.value() == updated.value());
                let changed = updated.filter(|updated| !same(updated));
                self.emit_reply(number, ApprovalVerdict::Allowed, changed);
            }
        }
    }

    fn apply_hook_response(&mut self, number: usize, hook_response: Option<&LineFields<'_>>) {
        let Some(hook_response) = hook_response else { return };
        let output = hook_response.object("hookSpecificOutput");
        let decision = output.and_then(|output| output.text("permissionDecision"));
        let decision = decision.or_else(|| hook_response.text("decision")).unwrap_or_default();
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

    /// Emits a stop request at once; the agent stops by itself later.
    fn emit_stop(&mut self) {
        let is_running = match (self.emitter.phase(), self.host) {
            (EmitterPhase::NotStarted, HostState::Prompted) => true,
            (EmitterPhase::Running, _) => !self.ending.is_announced(),
            (EmitterPhase::NotStarted, HostState::Unknown | HostState::Silent)
            | (EmitterPhase::Ended, _) => false,
        };
        if is_running && !self.interrupted {
            self.emitter.begin();
            self.interrupted = true;
            self.emitter.emit(EventPayload::Stop(StopRequest { grace: STOP_GRACE }));
        }
    }
}

/// The texts of a list of questions.
fn question_texts(questions: &RawJson) -> Option<String> {
    let list: Vec<&serde_json::value::RawValue> = serde_json::from_str(questions.raw()).ok()?;
    let questions =
        list.into_iter().filter_map(|raw| LineFields::read(raw.get())?.non_empty_text("question"));
    let texts: Vec<String> = questions.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
