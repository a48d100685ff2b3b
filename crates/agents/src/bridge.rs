//! The state machine between one client conversation and one agent.

mod pending_call;
mod calls;
mod call_assembler;
mod reply_buffer;
mod request;
mod agent_events;

use serde_json::Value;

use crate::{
    AgentCommand, AgentEvent, ClientToolCall, PermissionDecision, PermissionRequest, RequestTail,
    message_merger::MessageMerger,
};
use call_assembler::CallAssembler;
use calls::PendingCalls;
use reply_buffer::{EventBuffer, LastReply};

/// An input of the bridge.
#[derive(Clone, PartialEq, Debug)]
pub enum BridgeInput {
    /// The client sends a request and waits for a reply. If it already waits for one, the new
    /// request gets a [`BridgeError`] `agent_busy`, and the earlier reply goes on.
    Request(RequestTail),
    /// An event of the agent.
    AgentEvent(AgentEvent),
    /// A person decides a permission request or question, by its ticket.
    Decided {
        /// The ticket of the question.
        ticket: String,
        /// The decision.
        decision: PermissionDecision,
    },
    /// The calls handed to the client have waited too long. Each of them gets an error as its
    /// result, and the agent goes on; its output is buffered for the next request. Ignored while
    /// a client waits for a reply.
    TimedOut,
    /// The client disconnected before its reply ended, or the run was stopped.
    Stop,
    /// The agent process has ended; the text describes how.
    Died(String),
}

/// An output of the bridge.
#[derive(Clone, PartialEq, Debug)]
pub enum BridgeOutput {
    /// Send this to the agent.
    Command(AgentCommand),
    /// Send this event of an Anthropic stream to the client.
    StreamEvent(Value),
    /// The reply is complete. The client receives nothing more until its next request.
    End,
    /// There is no reply, or it cannot go on. The client receives nothing more until its next
    /// request.
    Fail(BridgeError),
    /// A note for the record of the run.
    Note(BridgeNote),
    /// The agent cannot be used any more: end its process.
    Kill,
}

/// Why a request has no reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BridgeError {
    /// HTTP status of the reply.
    pub status: u16,
    /// Error code: `agent_died`, `agent_failed`, `unknown_call`, `nothing_new`, `agent_busy`,
    /// `stopped`.
    pub code: &'static str,
    /// Readable message.
    pub message: String,
}

/// A note for the record of the run.
#[derive(Clone, PartialEq, Debug)]
pub enum BridgeNote {
    /// The agent started one of its own tools. The client does not see it.
    AgentToolStarted(ClientToolCall),
    /// The tool ended.
    AgentToolEnded {
        /// The id of the call.
        call: String,
        /// Whether it failed.
        error: bool,
    },
    /// The agent asks a person.
    PermissionRequested(PermissionRequest),
    /// The question was decided or withdrawn.
    PermissionClosed {
        /// The ticket of the question.
        ticket: String,
        /// `None`: it was withdrawn.
        decision: Option<PermissionDecision>,
    },
    /// An unused tool result: `unknown`, `duplicate` or `late`, and the id of its call.
    Ignored(&'static str, String),
    /// The client sent no result for this call in time.
    TimedOut(String),
}

/// The predicted outcome of a request: [`AgentBridge::check`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestCheck {
    /// Why it would be rejected.
    pub fault: Option<BridgeError>,
    /// Results that would be ignored: the reason (`unknown`, `duplicate` or `late`) and the id.
    pub ignored: Vec<(&'static str, String)>,
}

/// The phase of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BridgePhase {
    /// The agent is idle.
    Idle,
    /// The client waits for a reply.
    Replying,
    /// The agent waits for tool results, and no client is connected.
    Waiting,
    /// The agent works, and no client is connected.
    Unattended,
    /// The agent has exited.
    Dead,
}

/// The state machine. Every input is allowed in every phase.
///
/// Its memory is limited to the open calls and about a megabyte of buffered output.
#[derive(Debug, Default)]
pub struct AgentBridge {
    agent: BridgedAgentState,
    client: ClientPresence,
    /// The agent continues by itself: the first request has nothing new for it.
    resumed: bool,
    /// The agent reports when it is idle, so the end of a turn means nothing.
    reports_idle: bool,
    /// An event arrived since the last prompt. Before that, an end belongs to an earlier turn.
    has_new_events: bool,
    /// The model wrote text in this turn.
    has_text: bool,
    /// Maximum number of calls in a reply.
    call_limit: usize,
    /// The agent ended its turn, but the client still owes it tool results.
    abandoned: bool,
    /// Calls timed out, and the client has not seen how the agent continued.
    has_unseen_timeout: bool,
    /// The message that is being streamed.
    message: Option<CallAssembler>,
    /// The id of the last message.
    message_id: Option<String>,
    calls: PendingCalls,
    /// Running calls of the agent's own tools.
    agent_calls: Vec<String>,
    permission_requests: Vec<PermissionRequest>,
    /// User content that must wait for tool results the agent has not requested yet.
    prompt: Vec<Value>,
    merger: MessageMerger,
    /// Output that arrived while no client was connected.
    buffer: EventBuffer,
    last_reply: LastReply,
    out: Vec<BridgeOutput>,
}

/// State of the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum BridgedAgentState {
    #[default]
    Idle,
    Working,
    Gone,
}

/// Whether a client waits for a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ClientPresence {
    #[default]
    Absent,
    Waiting,
}

impl AgentBridge {
    /// Creates the bridge to a new agent. `resumed`: the agent continues by itself from its session
    /// file, and the first request has nothing new for it.
    pub fn new(resumed: bool) -> AgentBridge {
        let agent = if resumed { BridgedAgentState::Working } else { BridgedAgentState::Idle };
        AgentBridge { agent, resumed, call_limit: usize::MAX, ..AgentBridge::default() }
    }

    /// Applies an input and returns the outputs in order.
    pub fn step(&mut self, input: BridgeInput) -> Vec<BridgeOutput> {
        match input {
            BridgeInput::Request(tail) => self.take_request(tail),
            BridgeInput::AgentEvent(event) => match self.agent {
                BridgedAgentState::Gone => {}
                BridgedAgentState::Idle | BridgedAgentState::Working => {
                    self.apply_agent_event(event)
                }
            },
            BridgeInput::Decided { ticket, decision } => self.apply_decision(&ticket, decision),
            BridgeInput::TimedOut => self.time_out_calls(),
            BridgeInput::Stop => match self.phase() {
                BridgePhase::Idle | BridgePhase::Dead => {}
                BridgePhase::Replying | BridgePhase::Waiting | BridgePhase::Unattended => {
                    self.push_command(AgentCommand::Interrupt);
                    self.withdraw_requests();
                    self.fail(499, "stopped", "the run was stopped".to_owned());
                    self.kill_agent();
                }
            },
            BridgeInput::Died(how) => {
                if self.agent != BridgedAgentState::Gone {
                    self.fail(502, "agent_died", format!("the agent process ended: {how}"));
                    self.reset();
                }
            }
        }
        std::mem::take(&mut self.out)
    }

    /// The current phase.
    pub fn phase(&self) -> BridgePhase {
        match (self.agent, self.client) {
            (BridgedAgentState::Gone, ClientPresence::Absent | ClientPresence::Waiting) => {
                BridgePhase::Dead
            }
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Waiting) => {
                BridgePhase::Replying
            }
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Absent)
                if self.calls.has_unanswered() =>
            {
                BridgePhase::Waiting
            }
            (BridgedAgentState::Working, ClientPresence::Absent) => BridgePhase::Unattended,
            (BridgedAgentState::Idle, ClientPresence::Absent) => BridgePhase::Idle,
        }
    }

    /// Calls that the client has received and not answered, in call order. The agent may have
    /// stopped waiting for some of them without the client's knowledge.
    pub fn open_calls(&self) -> Vec<&ClientToolCall> {
        self.calls.open().collect()
    }

    /// Predicts the outcome of a request. Changes nothing.
    pub fn check(&self, tail: &RequestTail) -> RequestCheck {
        self.predict_request(tail)
    }

    /// Whether the agent continued after a timeout that the client has not seen yet.
    pub fn has_unseen_timeout(&self) -> bool {
        self.has_unseen_timeout
    }

    /// Open permission requests and questions.
    pub fn permission_requests(&self) -> Vec<&PermissionRequest> {
        self.permission_requests.iter().collect()
    }

    fn push_command(&mut self, command: AgentCommand) {
        self.out.push(BridgeOutput::Command(command));
    }

    fn push_note(&mut self, note: BridgeNote) {
        self.out.push(BridgeOutput::Note(note));
    }

    fn note_ignored(&mut self, why: &'static str, calls: Vec<String>) {
        for call in calls {
            self.push_note(BridgeNote::Ignored(why, call));
        }
    }

    /// Sends events to the client, or buffers them until there is one.
    fn send_events(&mut self, events: Vec<Value>) {
        for event in events {
            match self.client {
                ClientPresence::Waiting => {
                    self.last_reply.push(&event);
                    self.out.push(BridgeOutput::StreamEvent(event));
                }
                ClientPresence::Absent => self.buffer.push(event),
            }
        }
    }

    /// Ends the reply: with calls, if any wait for the client.
    fn end_reply(&mut self) {
        let calls = self.calls.hand_out(self.call_limit);
        let mut events = Vec::new();
        for (call, text) in &calls {
            self.merger.push_call(call, text, &mut events);
        }
        self.merger.finish(!calls.is_empty(), &mut events);
        self.has_unseen_timeout = false;
        self.finish_reply(events);
    }

    fn finish_reply(&mut self, events: Vec<Value>) {
        self.send_events(events);
        self.last_reply.end();
        self.out.push(BridgeOutput::End);
        self.client = ClientPresence::Absent;
    }

    /// Closes the calls that the client did not answer in time.
    fn time_out_calls(&mut self) {
        if self.client == ClientPresence::Waiting || self.agent == BridgedAgentState::Gone {
            return;
        }
        let calls = self.calls.time_out();
        if calls.is_empty() {
            return;
        }
        self.has_unseen_timeout = true;
        for call in calls {
            self.push_note(BridgeNote::TimedOut(call));
        }
        self.send_to_agent();
    }

    /// Ends the reply with an error, if a client waits.
    fn fail(&mut self, status: u16, code: &'static str, message: String) {
        if self.client == ClientPresence::Waiting {
            self.out.push(BridgeOutput::Fail(BridgeError { status, code, message }));
            self.client = ClientPresence::Absent;
            self.merger.discard();
            self.last_reply = LastReply::default();
        }
    }

    /// Ends the agent. The next request starts from the client's history.
    fn kill_agent(&mut self) {
        self.out.push(BridgeOutput::Kill);
        self.reset();
    }

    fn reset(&mut self) {
        self.withdraw_requests();
        *self = AgentBridge {
            agent: BridgedAgentState::Gone,
            out: std::mem::take(&mut self.out),
            ..AgentBridge::default()
        };
    }

    fn apply_decision(&mut self, ticket: &str, decision: PermissionDecision) {
        let Some(at) = self.permission_requests.iter().position(|request| request.ticket == ticket)
        else {
            return;
        };
        let request = self.permission_requests.remove(at);
        self.push_command(AgentCommand::Decide { request, decision: decision.clone() });
        self.push_note(BridgeNote::PermissionClosed {
            ticket: ticket.to_owned(),
            decision: Some(decision),
        });
    }

    fn withdraw_requests(&mut self) {
        for request in std::mem::take(&mut self.permission_requests) {
            self.push_note(BridgeNote::PermissionClosed { ticket: request.ticket, decision: None });
        }
    }
}
