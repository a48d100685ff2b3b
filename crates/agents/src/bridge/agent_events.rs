//! Applies agent events to the bridge.

use serde_json::Value;

use super::{
    AgentBridge, BridgeNote, BridgedAgentState, CallAssembler, ClientPresence,
    call_assembler::{AssemblerEvent, ToolOwner},
    pending_call::ToolResultRequest,
};
use crate::{AgentEvent, PermissionRequest, TurnFailure};

/// Maximum length of an agent's error text in a reply.
const MAX_ERROR_CHARS: usize = 2000;

impl AgentBridge {
    pub(super) fn apply_agent_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Ready | AgentEvent::Unreadable => {}
            AgentEvent::StreamEvent(stream_event) => {
                self.mark_working();
                self.read_stream_event(stream_event);
            }
            AgentEvent::ToolResultWanted { ticket, call, name, arguments } => {
                self.mark_working();
                self.request_tool_result(ToolResultRequest { ticket, call, name, arguments });
            }
            AgentEvent::Withdrawn { ticket } => self.withdraw_ticket(&ticket),
            AgentEvent::CallClosed { call, error } => self.close_call(call, error),
            AgentEvent::PermissionRequested(request) => {
                self.mark_working();
                self.add_permission_request(request);
            }
            AgentEvent::TurnEnded { failure, text, more } => self.end_turn(failure, text, more),
            AgentEvent::Idle => {
                self.reports_idle = true;
                if self.has_new_events {
                    self.become_idle();
                }
            }
        }
    }

    fn mark_working(&mut self) {
        self.agent = BridgedAgentState::Working;
        self.has_new_events = true;
    }

    fn read_stream_event(&mut self, event: Value) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or("");
        match kind {
            "message_start" => {
                self.end_message();
                // Some agents send one message in several parts. It is still one message, and its
                // usage counts once.
                let id = event.get("message").and_then(|message| message.get("id")?.as_str());
                let is_same_message = id.is_some() && self.message_id.as_deref() == id;
                self.message_id = id.map(str::to_owned);
                if !is_same_message {
                    self.close_abandoned_calls();
                    self.forward_event(event);
                }
                self.message = Some(CallAssembler::default());
            }
            "message_stop" => {
                self.end_message();
                self.hand_out_calls();
            }
            "content_block_start" | "content_block_delta" | "content_block_stop" => {
                let assembler_event = self.message.get_or_insert_default().push_event(event);
                self.apply_assembler_event(assembler_event);
            }
            _ => self.forward_event(event),
        }
    }

    fn apply_assembler_event(&mut self, assembler_event: AssemblerEvent) {
        match assembler_event {
            AssemblerEvent::CallPart | AssemblerEvent::Dropped => {}
            AssemblerEvent::Other(event) => self.forward_event(event),
            AssemblerEvent::CallEnded { owner: ToolOwner::Client, call, text } => {
                self.calls.add_call(call, text)
            }
            AssemblerEvent::CallEnded { owner: ToolOwner::Agent, call, text: _ } => {
                self.agent_calls.push(call.id.clone());
                self.push_note(BridgeNote::AgentToolStarted(call));
            }
        }
    }

    /// Forwards an event that is not part of a call.
    fn forward_event(&mut self, event: Value) {
        let block = event.get("content_block").and_then(|block| block.get("type"));
        self.has_text |= block.and_then(Value::as_str) == Some("text");
        let is_content =
            block.is_some() || event.get("delta").is_some_and(|it| it.get("type").is_some());
        if is_content && self.client == ClientPresence::Absent && self.buffer.is_full() {
            return;
        }
        let mut events = Vec::new();
        self.merger.push_event(event, &mut events);
        self.send_events(events);
    }

    /// Ends the current message, complete or not.
    fn end_message(&mut self) {
        self.message = None;
        self.calls.release_held_requests();
        let mut events = Vec::new();
        self.merger.end_agent_message(&mut events);
        self.send_events(events);
    }

    /// Closes calls whose results the agent has not requested, because it has continued.
    fn close_abandoned_calls(&mut self) -> bool {
        let (late, abandoned) = self.calls.close_unrequested();
        self.note_ignored("late", late);
        self.send_to_agent();
        abandoned
    }

    fn request_tool_result(&mut self, request: ToolResultRequest) {
        let Some(request) = self.calls.match_request(request) else { return self.send_to_agent() };
        if self.message.is_some() {
            return self.calls.hold_request(request);
        }
        self.calls.add_requested_call(request);
        self.hand_out_calls();
    }

    /// Ends the reply if calls wait for the client.
    fn hand_out_calls(&mut self) {
        if self.client == ClientPresence::Waiting && self.calls.has_unanswered() {
            self.end_reply();
        }
    }

    fn withdraw_ticket(&mut self, ticket: &str) {
        if let Some(at) =
            self.permission_requests.iter().position(|request| request.ticket == ticket)
        {
            self.permission_requests.remove(at);
            return self.push_note(BridgeNote::PermissionClosed {
                ticket: ticket.to_owned(),
                decision: None,
            });
        }
        let late = self.calls.withdraw(ticket);
        self.note_ignored("late", late);
        self.send_to_agent();
    }

    fn close_call(&mut self, call: String, error: bool) {
        if let Some(at) = self.agent_calls.iter().position(|id| *id == call) {
            self.agent_calls.remove(at);
            return self.push_note(BridgeNote::AgentToolEnded { call, error });
        }
        if self.message.as_mut().is_some_and(|message| message.close(&call)) {
            return;
        }
        let late = self.calls.close(&call);
        self.note_ignored("late", late);
        self.send_to_agent();
    }

    fn add_permission_request(&mut self, request: PermissionRequest) {
        self.permission_requests.retain(|known| known.ticket != request.ticket);
        self.permission_requests.push(request.clone());
        self.push_note(BridgeNote::PermissionRequested(request));
    }

    /// Ends a turn. An agent that reports idle may continue by itself.
    fn end_turn(&mut self, failure: Option<TurnFailure>, text: Option<String>, more: bool) {
        self.has_new_events = true;
        if let Some(failure) = failure.filter(|failure| !failure.stopped) {
            let status = failure.status.filter(|status| (400..600).contains(status));
            let message = failure.message.chars().take(MAX_ERROR_CHARS).collect();
            self.fail(status.unwrap_or(502), "agent_failed", message);
            // The agent's history now differs from the client's.
            return self.kill_agent();
        }
        self.end_message();
        let text = text.filter(|text| !text.is_empty() && !self.has_text);
        if let Some(text) =
            text.filter(|_| self.client == ClientPresence::Waiting || !self.buffer.is_full())
        {
            let mut events = Vec::new();
            self.merger.push_text(&text, &mut events);
            self.send_events(events);
        }
        self.has_text = false;
        self.abandoned |= self.close_abandoned_calls();
        if !more && !self.reports_idle {
            return self.become_idle();
        }
        self.hand_out_calls();
    }

    /// The agent is idle.
    fn become_idle(&mut self) {
        self.agent = BridgedAgentState::Idle;
        self.has_new_events = false;
        self.agent_calls.clear();
        self.end_message();
        self.abandoned |= self.close_abandoned_calls();
        match (self.agent, self.client) {
            (BridgedAgentState::Idle, ClientPresence::Waiting) => self.end_reply(),
            // The client will send results that the agent no longer waits for. Its history can
            // continue, but this agent cannot.
            (BridgedAgentState::Idle, ClientPresence::Absent)
                if self.abandoned && !self.calls.has_unanswered() =>
            {
                self.kill_agent();
            }
            (BridgedAgentState::Idle, ClientPresence::Absent)
            | (BridgedAgentState::Working | BridgedAgentState::Gone, _) => {}
        }
    }
}
